"""Dask's settings in a block: changed by section, and put back as they were."""

from __future__ import annotations

import sys
from copy import deepcopy

import dask
import pytest

import speedcube as sc
from speedcube import late
from speedcube.interop.dask_settings import Changed, Plain, is_usual, setting


def test_settings_are_changed_and_put_back() -> None:
    before = deepcopy(dask.config.config)
    changed = Changed([{"scheduler": "sync", "array": {"backend": "other"}}, {"num_workers": 3}])
    assert dask.config.get("scheduler") == "sync"
    assert dask.config.get("array.backend") == "other"
    assert dask.config.get("array.rechunk.threshold") == before["array"]["rechunk"]["threshold"]
    assert dask.config.get("num_workers") == 3
    changed.undo()
    assert dask.config.config == before


def test_a_section_that_is_not_there() -> None:
    sections = {"speedcube-test": {"one": {"two": 2}}}
    changed = Changed([sections])
    dask.config.set({"speedcube-test.one.two": 3})
    assert sections == {"speedcube-test": {"one": {"two": 2}}}  # Dask has its own
    changed.undo()
    assert "speedcube-test" not in dask.config.config


def test_plain_settings_are_the_same_in_fewer_steps() -> None:
    before = deepcopy(dask.config.config)
    plain = Plain({"scheduler": "sync", "array": {"backend": "other"}})
    changed = Changed(plain)
    assert dask.config.get("scheduler") == "sync"
    assert dask.config.get("array.backend") == "other"
    changed.undo()
    assert dask.config.config == before


def test_plain_settings_of_a_section_that_is_not_there() -> None:
    plain = Plain({"scheduler": "sync", "speedcube-test": {"one": "two"}})
    before = deepcopy(dask.config.config)
    changed = Changed(plain)
    assert dask.config.get("speedcube-test.one") == "two"
    changed.undo()
    assert dask.config.config == before


def test_names_with_hyphens() -> None:
    with dask.config.set({"array-plugins": ["mine"]}):
        assert setting("array_plugins") == ["mine"]
        with sc.on("core"):
            assert dask.config.get("array_plugins") == ("mine",)
            assert "array_plugins" not in dask.config.config
        assert dask.config.get("array-plugins") == ["mine"]


def _changes_settings_and_fails() -> None:
    block = sc.on("cores:2")
    with block, sc.on("core"), block:
        assert dask.config.get("num_workers") == 2
        dask.config.set(scheduler="processes", **{"array.backend": "another"})
        raise ZeroDivisionError


def test_a_block_puts_back_what_was_changed_in_it_and_after_errors() -> None:
    before = deepcopy(dask.config.config)
    with pytest.raises(ZeroDivisionError):
        _changes_settings_and_fails()
    assert dask.config.config == before


def test_a_block_asks_for_dask_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is loaded late is a slow attribute: a block took twice as long by it."""
    with sc.on("core"):
        pass
    asked = []
    find = late.Late.__getattr__
    monkeypatch.setattr(late.Late, "__getattr__", lambda *a: asked.append(a[1]) or find(*a))
    with sc.on("core"):
        pass
    assert asked == []


@pytest.mark.parametrize("name", ["array_plugins", "array-plugins"])
def test_plugins_are_no_usual_settings(name: str) -> None:
    assert is_usual() == ("distributed" not in sys.modules)
    with dask.config.set({name: ["mine"]}):
        assert not is_usual()
