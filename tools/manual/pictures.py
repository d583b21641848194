"""The gallery's pictures for GitHub, made by the programs of its pages.

PYTHONPATH=tools python -m manual.pictures [NAME ...]
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from .staging import DOCS

GALLERY: Final = DOCS / "gallery"
PICTURES: Final = GALLERY / "pictures"
ENDING: Final = """
if __name__ == "__main__":
    import matplotlib.pyplot as plt
    plt.savefig({path!r}, dpi=80)
"""


def pages() -> list[str]:
    """The pages that show a picture."""
    shown = [page for page in sorted(GALLERY.glob("*.md")) if "](pictures/" in page.read_text()]
    return [page.name for page in shown]


def main() -> None:
    for name in pages():
        if sys.argv[1:] and name.removesuffix(".md") not in sys.argv[1:]:
            continue
        blocks = re.findall(r"^```python\n(.*?)^```", (GALLERY / name).read_text(), re.M | re.S)
        path = PICTURES / f"{name.removesuffix('.md')}.png"
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "program.py"
            program.write_text("\n".join(blocks) + ENDING.format(path=str(path)))
            command = [sys.executable, "-W", "ignore", str(program)]
            subprocess.run(command, check=True, cwd=folder)


if __name__ == "__main__":
    main()
