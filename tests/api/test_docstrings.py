"""Every public function has NumPy's signature, a numpydoc docstring, and an example that runs."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import speedcube as sc

# What some of NumPy's functions take, and ours do not: matrices have their products later.
LACKING: Final = {
    "matmul": ["out", "axes", "axis", "keepdims", "casting", "order", "dtype", "subok"],
    "vecdot": ["out", "axes", "keepdims", "casting", "order", "dtype", "subok"],
}
# The keywords of clip's minimum and maximum, which NumPy hands on without a name.
OF_UFUNCS: Final = ["where", "casting", "order", "dtype", "subok"]
# Names that are no functions of ours: NumPy's own classes and numbers, modules, objects.
NO_FUNCTIONS: Final = (type, np.dtype, float, type(None), type(np))


def functions() -> Iterator[tuple[str, Any]]:
    for name in sc.__all__:
        value = getattr(sc, name)
        ours = inspect.isfunction(value) and value.__module__.startswith("speedcube")
        if ours:
            yield name, value


def documented() -> Iterator[tuple[str, Any]]:
    yield from functions()
    yield from ((name, getattr(sc, name)) for name in ("finfo", "iinfo"))
    for name, value in vars(sc.Array).items():
        if inspect.isfunction(value) and not name.startswith("_"):
            yield f"Array.{name}", value


DOCUMENTED: Final = dict(documented())


def has_sections(value: Any) -> bool:
    return "Examples\n" in inspect.getdoc(value) and ">>> " in value.__doc__


@pytest.mark.parametrize("name", [n for n, v in DOCUMENTED.items() if has_sections(v)])
def test_an_example_is_true(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (test,) = doctest.DocTestFinder(recurse=False).find(
        DOCUMENTED[name], name, globs={"sc": sc, "np": np}
    )
    result = doctest.DocTestRunner(optionflags=doctest.REPORT_ONLY_FIRST_FAILURE).run(test)
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize("name", [name for name, _ in functions()])
def test_a_docstring_has_numpydocs_sections(name: str) -> None:
    text = inspect.getdoc(getattr(sc, name)) or ""
    first, blank, *_ = text.splitlines()
    assert first.endswith((".", ":"))
    assert not blank
    wanted = ["Parameters", "Returns", "Examples"]
    signature = inspect.signature(getattr(sc, name))
    if not signature.parameters:
        wanted.remove("Parameters")
    if signature.return_annotation in (None, "None"):  # what is assigned to changes
        wanted.remove("Returns")
    for section in wanted:
        assert f"\n{section}\n{'-' * len(section)}\n" in text, section
    for parameter in inspect.signature(getattr(sc, name)).parameters:
        assert parameter in text


@pytest.mark.parametrize("name", [n for n, _ in functions() if hasattr(np, n)])
def test_a_signature_is_numpys(name: str) -> None:
    """NumPy's parameters in NumPy's order, by place and by name; ours besides are by name only.

    The Array API has some by place alone that NumPy has by name, too; ufuncs choose their kernel by
    ``signature``, and ours have one.
    """
    ours = inspect.signature(getattr(sc, name)).parameters
    numpys = inspect.signature(getattr(np, name)).parameters
    lacking = {"signature", *LACKING.get(name, ())}
    if name == "clip":
        lacking.add("kwargs")
        assert set(OF_UFUNCS) <= set(ours)
    assert set(numpys) - set(ours) <= lacking
    by_place = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    placed, theirs = (
        [one.name for one in known.values() if one.kind in by_place and one.name not in lacking]
        for known in (ours, numpys)
    )
    assert placed == theirs
    for one in numpys.values():
        if one.name in ours:
            assert ours[one.name].kind == one.kind
            required = one.default is inspect.Parameter.empty
            assert not required or ours[one.name].default is inspect.Parameter.empty
