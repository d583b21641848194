"""The constants of functions and samplers: a bit of one changes results that were promised."""

from __future__ import annotations

import hashlib
import json
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import pytest

FOLDERS = ("elementary", "elementary.near", "elementary.pairs", "samplers")
MODULES = [
    f"{folder}.{module.name}"
    for folder in FOLDERS
    for module in iter_modules(import_module(f"speedcube.kernel.math.{folder}").__path__)
]


def plain(value: Any) -> bool:
    """Whether a constant is numbers."""
    return all(map(plain, value)) if isinstance(value, tuple) else type(value) in (int, float)


def digests(module: str) -> dict[str, str]:
    """SHA-256 of each table and constant of a module, by its name."""
    names: dict[str, Any] = vars(import_module(f"speedcube.kernel.math.{module}"))
    constants = {n: v for n, v in names.items() if n.isupper() and plain(v)}
    return {n: hashlib.sha256(repr(v).encode()).hexdigest() for n, v in constants.items()}


def test_the_great_tables_are_among_them() -> None:
    assert {"elementary.erfcx", "elementary.tables", "elementary.tables32"} < set(MODULES)
    assert len(digests("elementary.tables")) > 20


@pytest.mark.parametrize("module", MODULES)
def test_tables_are_those_of_stream_v1(module: str, golden: Path, update_golden: bool) -> None:
    """Tests of accuracy do not notice a last bit; results do, somewhere."""
    file = golden / "tables.json"
    known = json.loads(file.read_text()) if file.exists() else {}
    if update_golden:
        known[module] = digests(module)
        file.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
    assert digests(module) == known[module]
