"""What Sphinx is given, what is checked of what it makes, and the figures on pages."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import figures
import pytest
from manual import checks, reference, staging

import speedcube as sc

ROOT: Final = Path(__file__).parents[2]
DOCS: Final = ROOT / "docs"
LINK: Final = re.compile(r"\]\(([^)\s]+)\)")


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("manual") / "source"
    staging.stage(folder, {"reference/array.md": "# The array\n"}, "\n* [The array](array.md)\n")
    return folder


def test_every_link_of_what_sphinx_reads_leads_to_a_page_or_a_file_of_it(staged: Path) -> None:
    pages = list(staged.rglob("*.md"))
    assert len(pages) > 70
    for page in pages:
        text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
        for link in LINK.findall(text):
            path = link.partition("#")[0]
            if path and "://" not in path:
                assert (page.parent / path).resolve().is_relative_to(staged.resolve()), link
                assert (page.parent / path).is_file(), f"{page.name}: {link}"


def test_every_page_is_in_one_table_of_contents(staged: Path) -> None:
    listed = [
        os.path.normpath(page.parent.relative_to(staged) / line)
        for page in staged.rglob("*.md")
        for table in re.findall(r"^```\{toctree\}\n(.*?)^```", page.read_text(), re.M | re.S)
        for line in table.splitlines()
        if line and not line.startswith(":")
    ]
    assert len(listed) == len(set(listed))
    pages = {str(page.relative_to(staged).with_suffix("")) for page in staged.rglob("*.md")}
    assert set(listed) == pages - {"index"}
    first = staging.linked((DOCS / "index.md").read_text(), "index.md")[:9]
    assert first[:2] == ["start.md", "tutorial/index.md"]
    assert "reference/index.md" in first


def test_links_in_programs_are_left_alone(tmp_path: Path) -> None:
    made = staging.Stage(tmp_path, {"docs/a.md": "a.md", "README.md": "readme.md"})
    text = "[x](../README.md#b) [y](https://x.org)\n```\n[x](../README.md)\n```\n"
    changed = staging.with_links(made, "docs/a.md", text)
    assert changed == text.replace("../README.md#b", "readme.md#b")


def test_every_public_name_has_a_page_of_the_reference() -> None:
    homes = {name: reference.home(name) for name in sc.__all__}
    assert homes["exp"] == "elementwise"
    assert homes["matmul"] == "products"
    assert homes["float64"] == homes["pi"] == homes["linalg"] == reference.CONSTANTS
    assert set(homes.values()) == {page.name for page in reference.PAGES} | {reference.CONSTANTS}
    assert reference.documented("speedcube", "exp", sc.exp) == ".. autofunction:: speedcube.exp"


def test_what_a_page_loads_from_elsewhere_and_links_to_nothing_is_seen(tmp_path: Path) -> None:
    (tmp_path / "good.html").write_text(
        '<a href="https://x.org">x</a><a href="#here">y</a><p id="here"></p>'
        '<img src="data:image/png;base64,AA"><script src="a.js"></script><a href="a.js">z</a>'
    )
    (tmp_path / "a.js").write_text("")
    assert checks.from_elsewhere(tmp_path) == []
    assert checks.broken(tmp_path) == []
    assert checks.outward(tmp_path) == ["https://x.org"]
    (tmp_path / "bad.html").write_text(
        '<script src="https://cdn.org/a.js"></script><link rel="stylesheet" href="//fonts.org/b">'
        '<a href="good.html#absent">x</a><a href="absent.html">y</a><a href="#nowhere">z</a>'
    )
    (tmp_path / "style.css").write_text("@import url('https://fonts.org/c.css');")
    assert checks.from_elsewhere(tmp_path) == [
        "bad.html: https://cdn.org/a.js",
        "bad.html: //fonts.org/b",
        "style.css: https://fonts.org/c.css",
    ]
    assert checks.broken(tmp_path) == [
        "bad.html: good.html#absent",
        "bad.html: absent.html",
        "bad.html: #nowhere",
    ]


def test_the_tables_of_figures_are_what_the_files_say() -> None:
    command = [sys.executable, str(ROOT / "tools" / "figures.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.stdout == "equal\n", "run tools/figures.py"
    sums = figures.Number("h200-sums", ("figures", "stored float64", "ours, GB/s"), "{:.0f} GB/s")
    assert figures.value(sums) == "4280 GB/s"
    assert figures.machine(figures.Row("", (sums,))) == "one NVIDIA H200"


def test_a_table_that_was_edited_by_hand_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    row = figures.README[2]
    other = row._replace(numbers=(row.numbers[0]._replace(form="{:.3f}"),))
    text = figures.written("README.md", (*figures.README[:2], other, *figures.README[3:]), "")
    assert text != (ROOT / "README.md").read_text()
    with pytest.raises(ValueError, match="0 places for figures"):
        figures.written("CONTRIBUTING.md", figures.README, "")


def links(page: Path) -> set[str]:
    found = (link.partition("#")[0] for link in LINK.findall(page.read_text()) if ":" not in link)
    return {os.path.relpath((page.parent / path).resolve(), ROOT) for path in found if path}


def test_twenty_questions_are_answered_within_two_clicks_of_the_start_page() -> None:
    """Each link of a path stands on the page before it; tests/test_docs.py checks the headings."""
    rows = re.findall(r"^\| (.+\?.*) \| (\[.*) \|$", (DOCS / "questions.md").read_text(), re.M)
    assert len(rows) == 20
    for question, path in rows:
        clicks = LINK.findall(path)
        assert 1 <= len(clicks) <= 2, question
        page = DOCS / "index.md"
        for click in clicks:
            target = DOCS / click.partition("#")[0]
            assert str(target.relative_to(ROOT)) in links(page), f"{question} {click}"
            page = target


def test_the_readme_names_the_articles_and_where_to_begin() -> None:
    text = (ROOT / "README.md").read_text()
    for link in (
        "https://blog.dask.org/2019/01/03/dask-array-gpus-first-steps",
        "https://towardsdatascience.com/speed-cubing-for-machine-learning-4bf90170e2ee",
        "https://www.kdnuggets.com/2021/09/speeding-neural-network-training-multiple-gpus-dask.html",
        "docs/start.md",
        "docs/gallery/then-and-now.md",
    ):
        assert f"]({link})" in text
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert headings == [
        "Sixty seconds",
        "What makes it different",
        "Figures",
        "When not to use it",
        "Two commands",
        "Where to go on",
    ]
