"""Every public function and method has NumPy's signature, a numpydoc docstring, and an example."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import speedcube as sc

# What some of NumPy's functions take, and ours do not.
LACKING: Final[dict[str, Any]] = {
    "einsum": ["kwargs"],
    "einsum_path": ["einsum_call"],
    **dict.fromkeys(
        ["matmul", "matvec", "vecmat"],
        ("axes", "axis", "keepdims", "casting", "order", "dtype", "subok", "out"),
    ),
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


def methods(kind: type) -> Iterator[tuple[str, Any]]:
    for name in dir(kind):
        value = inspect.getattr_static(kind, name)
        if inspect.isfunction(value) and not name.startswith("_"):
            yield f"{kind.__name__}.{name}", value


def of_random() -> Iterator[tuple[str, Any]]:
    for name in sc.random.__all__:
        value = getattr(sc.random, name)
        if inspect.isfunction(value):
            yield f"random.{name}", value


DOCUMENTED: Final = dict(
    (
        *functions(),
        *methods(sc.Array),
        *of_random(),
        *methods(sc.random.Generator),
        *methods(sc.random.RandomState),
    )
)
CLASSES: Final = {"finfo": sc.finfo, "iinfo": sc.iinfo, "vectorize": sc.vectorize}


@pytest.mark.parametrize("name", [*DOCUMENTED, *CLASSES])
def test_an_example_is_true(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (test,) = doctest.DocTestFinder(recurse=False).find(
        {**DOCUMENTED, **CLASSES}[name], name, globs={"sc": sc, "np": np}
    )
    result = doctest.DocTestRunner(optionflags=doctest.REPORT_ONLY_FIRST_FAILURE).run(test)
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize("name", DOCUMENTED)
def test_a_docstring_has_numpydocs_sections(name: str) -> None:
    text = inspect.getdoc(DOCUMENTED[name]) or ""
    first, blank, *_ = text.splitlines()
    assert first.endswith((".", ":"))
    assert not blank
    wanted = ["Parameters", "Returns", "Examples"]
    signature = inspect.signature(DOCUMENTED[name])
    parameters = [one for one in signature.parameters if one != "self"]
    if not parameters:
        wanted.remove("Parameters")
    if signature.return_annotation in (None, "None"):  # what is assigned to changes
        wanted.remove("Returns")
    for section in wanted:
        assert f"\n{section}\n{'-' * len(section)}\n" in text, section
    for parameter in parameters:
        assert parameter in text


def test_properties_are_described() -> None:
    for kind in (sc.Array, sc.random.Generator, sc.random.RandomState):
        for name in dir(kind):
            value = inspect.getattr_static(kind, name)
            if isinstance(value, property) and not name.startswith("_"):
                assert inspect.getdoc(value), name


@pytest.mark.parametrize("name", [n for n, _ in methods(sc.Array) if hasattr(np.ndarray, n[6:])])
def test_a_methods_parameters_are_those_of_numpys(name: str) -> None:
    """In NumPy's order where NumPy names them; where it says ``*args`` ours may be named."""
    ours = inspect.signature(DOCUMENTED[name]).parameters
    numpys = inspect.signature(getattr(np.ndarray, name[6:])).parameters
    starred = [one.name for one in numpys.values() if one.kind == one.VAR_POSITIONAL]
    named = [one for one in numpys if one not in ("self", "kwargs", *starred)]
    placed = [one for one in ours if one not in ("self", "shape")]
    assert placed[: len(named)] == named or starred
    given = [one.name for one in ours.values() if one.kind == one.VAR_POSITIONAL]
    assert not given or name[6:] in ("item", "transpose", "reshape", "resize")


@pytest.mark.parametrize(
    "name", [n for n, _ in methods(sc.random.Generator) if hasattr(np.random.Generator, n[10:])]
)
def test_a_distributions_parameters_are_those_of_numpys(name: str) -> None:
    """NumPy's in NumPy's order; ``chunks``, and ``dtype`` of more of them, are ours."""
    ours = list(inspect.signature(DOCUMENTED[name]).parameters)
    numpys = list(inspect.signature(getattr(np.random.Generator, name[10:])).parameters)
    kept = [one for one in ours if one in numpys]
    assert kept == [one for one in numpys if one != "out" or "out" in ours]
    assert set(ours) - set(numpys) <= {"dtype", "chunks"}


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
