"""Builds the manual, and checks it: `make docs`.

    PYTHONPATH=tools python -m manual [FOLDER]

The pages are put together in FOLDER/source, built into FOLDER/html (``build/manual`` unless it is
given), and read again: a link that leads nowhere, and whatever a page would load from another site,
ends this with 1. Links to other sites are listed in FOLDER/external-links.txt.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from . import checks, notebooks, reference
from .staging import DOCS, ROOT, stage


def main() -> int:
    begun = time.monotonic()
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "manual"
    source, html = folder / "source", folder / "html"
    made = reference.pages()
    stage(source, made, reference.listed(made))
    notebooks.offer(source)
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-W", "--keep-going", "-q", "-E"]
    built = subprocess.run(
        [
            *command,
            "-j",
            "2",
            "-c",
            str(DOCS / "_sphinx"),
            "-d",
            str(folder / "trees"),
            source,
            html,
        ]
    )
    if built.returncode:
        return built.returncode
    faults = [f"leads nowhere: {link}" for link in checks.broken(html)]
    faults += [f"loaded from elsewhere: {address}" for address in checks.from_elsewhere(html)]
    print(
        "\n".join(faults) or "Every link inside leads somewhere; nothing is loaded from elsewhere."
    )
    others = checks.outward(html)
    (folder / "external-links.txt").write_text("\n".join(others) + "\n")
    pages = len(list(html.rglob("*.html")))
    print(f"{pages} pages in {time.monotonic() - begun:.0f} s: {html / 'index.html'}")
    print(f"{len(others)} links to other sites: {folder / 'external-links.txt'}")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
