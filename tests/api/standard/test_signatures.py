"""Signatures of the Array API: what is given by place, and what by name, as `array-api-strict`."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import speedcube as sc

from .calls import LATER

strict = pytest.importorskip("array_api_strict")  # on a machine for GPU tests alone

FUNCTIONS = sorted(
    name
    for name in strict.__all__
    if inspect.isfunction(getattr(strict, name))
    and "flags" not in name
    and not name.startswith("__")
    and name not in LATER
)
BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
# NumPy's own spellings come first in these: what the standard's mean is the same.
OTHERWISE = {("clip", "min"), ("clip", "max"), ("eye", "dtype")}


def parameters(function: Any) -> list[inspect.Parameter]:
    return list(inspect.signature(function).parameters.values())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_signatures(name: str) -> None:
    ours = parameters(getattr(sc, name))
    named = {one.name: one for one in ours}
    for place, wanted in enumerate(parameters(getattr(strict, name))):
        if (name, wanted.name) in OTHERWISE:
            assert wanted.name in named
        elif wanted.kind is inspect.Parameter.POSITIONAL_ONLY:
            assert ours[place].kind in (*BY_PLACE, inspect.Parameter.VAR_POSITIONAL)
        elif wanted.kind is inspect.Parameter.VAR_POSITIONAL:
            assert wanted.kind in {one.kind for one in ours}
        else:
            assert wanted.name in named, wanted
            assert named[wanted.name].kind is not inspect.Parameter.POSITIONAL_ONLY
            if wanted.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD:
                assert [one.name for one in ours].index(wanted.name) == place


def test_methods_and_attributes() -> None:
    """All of the standard's."""
    wanted = {
        name
        for name in dir(strict.asarray([1]))
        if not name.startswith("_") or (name.startswith("__") and name not in dir(object))
    }
    private = {"__module__", "__dict__", "__weakref__", "__slots__", "__buffer__", "__array__"}
    assert {n for n in wanted - private if not hasattr(sc.Array, n)} == set()
