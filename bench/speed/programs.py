"""The programs of bench/programs/: NumPy's text, and the same with its import changed."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Final

FOLDER: Final = Path(__file__).parents[1] / "programs"
IMPORT: Final = "import numpy as np\n"
GPU_SCALE: Final = 8  # times the data


def names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.py"))


def loaded(name: str, library: str) -> ModuleType:
    """The program with ``library`` in place of NumPy, and nothing else changed."""
    text = (FOLDER / f"{name}.py").read_text()
    if text.count(IMPORT) != 1:
        raise ValueError(f"{name}.py must import NumPy once, by {IMPORT!r}")
    module = ModuleType(name)
    module.__file__ = str(FOLDER / f"{name}.py")
    changed = text.replace(IMPORT, f"import {library} as np\n")
    exec(compile(changed, module.__file__, "exec"), vars(module))
    return module
