"""What Sphinx reads: a copy of the pages, in which links and contents are Sphinx's.

The pages under ``docs/`` are written for GitHub. Here the links that leave ``docs/`` get a page or
a file of the manual, and a list of links becomes a table of contents.
"""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
DOCS: Final = ROOT / "docs"
# Pages that lie outside docs/, and what they are called in the manual.
OUTSIDE: Final[dict[str, str]] = {
    "README.md": "readme.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "reporting.md",
    "CODE_OF_CONDUCT.md": "conduct.md",
}
SHOWN_AS_TEXT: Final = {"docs/from-scratch.py": "from-scratch.md"}
FILES: Final = "_files"  # the folder of what readers may download
FENCE: Final = re.compile(r"^```.*?^```[ ]*$", re.MULTILINE | re.DOTALL)
LINK: Final = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")


@dataclass
class Stage:
    """A folder for Sphinx, and what has been put there: paths below it."""

    folder: Path
    pages: dict[str, str] = field(default_factory=dict)  # path in the repository -> page

    def write(self, page: str, text: str) -> None:
        path = self.folder / page
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def sources() -> dict[str, str]:
    """Each page of the repository that is one of the manual, and its name there."""
    pages = {
        f"docs/{path.relative_to(DOCS)}": str(path.relative_to(DOCS))
        for path in sorted(DOCS.rglob("*.md"))
        if "_sphinx" not in path.parts
    }
    pages |= {path: page for path, page in OUTSIDE.items() if (ROOT / path).exists()}
    return pages | SHOWN_AS_TEXT


def outside_fences(text: str, change: re.Pattern[str], to: object) -> str:
    """``text`` with what matches replaced, but not in programs and their output."""
    parts, end = [], 0
    for fence in FENCE.finditer(text):
        parts += [change.sub(to, text[end : fence.start()]), fence[0]]  # type: ignore[call-overload]
        end = fence.end()
    return "".join([*parts, change.sub(to, text[end:])])  # type: ignore[call-overload]


def with_links(stage: Stage, source: str, text: str) -> str:
    """The page at ``source`` with links to pages and files of the manual."""
    here = Path(stage.pages[source]).parent

    def changed(link: re.Match[str]) -> str:
        image, words, target = link.groups()
        path, _, anchor = target.partition("#")
        if "://" in path or target.startswith("mailto:") or not path:
            return link[0]
        end = os.path.normpath(os.path.join(os.path.dirname(source), path))
        if end in stage.pages:
            page = os.path.relpath(stage.pages[end], here)
            return f"[{words}]({page}{'#' + anchor if anchor else ''})"
        if (ROOT / end).is_dir():
            return words
        kept = end if image else f"{FILES}/{end}"
        (stage.folder / kept).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / end, stage.folder / kept)
        return f"{image}[{words}]({os.path.relpath(kept, here)})"

    return outside_fences(text, LINK, changed)


def linked(text: str, page: str) -> list[str]:
    """The pages that a page's lists link to, in their order."""
    found = []
    for item in re.findall(r"^[*|] *(?:\*\*)?\[[^\]]*\]\(([^)#\s]+)\)", text, re.MULTILINE):
        if item.endswith(".md") and "://" not in item:
            found.append(os.path.normpath(os.path.join(os.path.dirname(page), item)))
    return list(dict.fromkeys(found))


def contents(pages: list[str], page: str, caption: str = "") -> str:
    """A table of contents that is not shown on the page itself."""
    here = os.path.dirname(page)
    lines = [os.path.relpath(other, here or ".").removesuffix(".md") for other in pages]
    head = f":caption: {caption}\n" if caption else ""
    return "\n\n```{toctree}\n:hidden:\n" + head + "\n" + "\n".join(lines) + "\n```\n"


def with_contents(texts: dict[str, str]) -> dict[str, str]:
    """Each page below the first section that lists it; what no section lists, below the start."""
    root = "index.md"
    sections = [page for page in linked(texts[root], root) if page in texts]
    placed = {root}
    below: dict[str, list[str]] = {root: []}
    tops = [page for page in sections if page.endswith("/index.md")]
    for section in tops:
        placed.add(section)
        below[section] = []
    for section in tops:
        for page in linked(texts[section], section):
            if page in texts and page not in placed:
                placed.add(page)
                below[section].append(page)
    first = texts[root].partition("\n## All pages")[0]
    heads = [page for page in linked(first, root) if page in tops or page not in placed]
    placed.update(heads)
    below[root] = heads
    left = [page for page in sections if page not in placed]
    left += [page for page in sorted(texts) if page not in placed and page not in left]
    done = dict(texts)
    for page, pages in below.items():
        done[page] += contents(pages, page) if pages else ""
    if left:
        done["more.md"] = "# More\n\nPages that no section above lists.\n" + contents(
            left, "more.md"
        )
        done[root] += contents(["more.md"], root)
    return done


def stage(folder: Path, generated: dict[str, str], listed: str = "") -> Stage:
    """Write what Sphinx reads into ``folder``, with the pages that programs have made.

    ``listed`` goes to the end of the reference's own page.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    made = Stage(folder, sources())
    texts: dict[str, str] = {}
    for source, page in made.pages.items():
        text = (ROOT / source).read_text()
        if source in SHOWN_AS_TEXT:
            text = f"# {Path(source).name}\n\n```python\n{text}```\n"
        text = with_links(made, source, text)
        texts[page] = text
    texts |= generated
    if "reference/index.md" in texts:
        texts["reference/index.md"] += listed
    for page, text in with_contents(texts).items():
        made.write(page, text)
    (folder / "_static").mkdir(exist_ok=True)
    if (DOCS / "_static").is_dir():
        shutil.copytree(DOCS / "_static", folder / "_static", dirs_exist_ok=True)
    return made
