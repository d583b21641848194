"""What is loaded at its first use."""

from __future__ import annotations

import subprocess
import sys
import types

import dask
import pytest
from dask.callbacks import Callback

import speedcube as sc
from speedcube import late

FIRST = """
import sys, speedcube as sc
from speedcube import late
assert not hasattr(late.dask, "__wrapped__") and "dask" not in sys.modules
assert not late.watched() and "dask" not in sys.modules
print(float(sc.arange(4.0).sum().compute(on="core")))
import dask
print(late.dask.config is dask.config, isinstance(dask.delayed(1), late.delayed.Delayed))
"""


def test_modules_come_with_their_first_attribute() -> None:
    run = subprocess.run([sys.executable, "-c", FIRST], capture_output=True, text=True, check=True)
    first, second = run.stdout.splitlines()
    assert first == "6.0"
    assert second == "True True"


def test_attributes_are_those_that_the_module_has_now(monkeypatch: pytest.MonkeyPatch) -> None:
    assert late.dask.config is dask.config
    monkeypatch.setattr(dask, "config", "another")
    assert late.dask.config == "another"
    with pytest.raises(AttributeError, match="module 'dask' has no attribute 'nothing'"):
        late.dask.nothing  # noqa: B018


def test_callbacks_see_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not late.watched()
    seen = []
    with Callback(pretask=lambda key, *_: seen.append(key)):
        assert late.watched()
        sc.arange(10.0).sum().compute(on="cores:2")
    assert seen
    assert not late.watched()
    monkeypatch.setitem(sys.modules, "dask.callbacks", types.ModuleType("dask.callbacks"))
    assert not late.watched()  # it is being loaded by another thread
