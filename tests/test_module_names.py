"""Modules that are named in strings exist: the compiler of imports does not see these names.

A worker preloads one, ``python -m`` starts one, a fork server imports one. After a move such a
string would fail on a worker, minutes later.
"""

from __future__ import annotations

import ast
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[1]
DOTTED: Final = re.compile(r"speedcube(\.\w+)+")
PATH: Final = re.compile(r"(src/)?speedcube/[\w/]+\.py")
# They look like modules and are none, each with what it is.
NO_MODULES: Final = {
    "speedcube.Array": "the class, in a message about its attributes",
    "speedcube.checkpoint": "the format in a checkpoint's manifest",
    "speedcube.cu": "what NVRTC calls a kernel's source",
    "speedcube.copies": "a setting of Dask's",
    "speedcube.progress": "a setting of Dask's",
}


def missing(text: str) -> list[str]:
    """The modules that whole strings of a source text name, and that do not exist."""
    strings = {
        node.value
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    return sorted(name for name in strings - NO_MODULES.keys() if _is_missing(name))


def _is_missing(name: str) -> bool:
    if PATH.fullmatch(name):
        return not (ROOT / "src" / name.removeprefix("src/")).is_file()
    if not DOTTED.fullmatch(name):
        return False
    try:
        return find_spec(name) is None
    except ModuleNotFoundError:  # of its parent
        return True


@pytest.mark.parametrize("folder", ["src", "bench", "tools"])
def test_every_module_that_a_string_names_exists(folder: str) -> None:
    paths = sorted((ROOT / folder).rglob("*.py"))
    assert paths
    lost = {str(path): missing(path.read_text(encoding="utf-8")) for path in paths}
    assert {path: names for path, names in lost.items() if names} == {}


def test_the_strings_of_workers_and_ranks_are_seen() -> None:
    """A checker that sees nothing cannot pass: each of these is named in a string today."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    for name in (
        "engine.clusters.ignore_terminal",
        "train.worker.fork_server",
        "train.ranks.process",
    ):
        assert f'"speedcube.{name}"' in text


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('x = "speedcube.train.worker.zygote"', ["speedcube.train.worker.zygote"]),
        ('run(["-m", "speedcube.gone.a"], ["speedcube.train"])', ["speedcube.gone.a"]),
        ('{"speedcube/train/carry.py": 1}', ["speedcube/train/carry.py"]),
        ('"src/speedcube/train/pickling.py"', []),
        ('"speedcube.train.run has no such option"', []),
        ('"speedcube.checkpoint"', []),
    ],
)
def test_a_module_that_is_gone_is_found(text: str, names: list[str]) -> None:
    assert missing(text) == names
