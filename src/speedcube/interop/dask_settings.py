"""Dask's settings, changed for a block: as `dask.config.set` does it, in a fifth of its time."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from copy import deepcopy
from functools import cache
from typing import Any, Final

from ..late import dask

_MISSING: Final = object()


@cache
def _dask_config() -> Any:
    """Dask's module of settings: to ask for it as an attribute takes half as long as a block."""
    return dask.config


class Plain:
    """Settings that are texts, at the top or in sections, taken apart once."""

    __slots__ = ("paths", "settings")

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.settings = settings
        self.paths: list[tuple[str | None, str, str]] = []
        for key, value in settings.items():
            inner = value if type(value) is dict else None
            self.paths += [(None, key, value)] if inner is None else [
                (key, name, text) for name, text in inner.items()
            ]  # fmt: skip


class Changed:
    """``settings``, by section, are Dask's from now on, until `undo`."""

    __slots__ = ("_before",)

    def __init__(self, settings: Iterable[Mapping[str, Any]] | Plain) -> None:
        self._before: list[tuple[dict[str, Any], str, Any]] = []
        dasks = _dask_config()
        with dasks.config_lock:
            if type(settings) is Plain:
                self._put_plain(dasks.config, settings)
                return
            for one in settings:  # type: ignore[union-attr]
                self._put(dasks.config, one)

    def _put_plain(self, config: dict[str, Any], settings: Plain) -> None:
        note = self._before.append
        for within, name, value in settings.paths:
            section = config if within is None else config.get(within)
            if type(section) is not dict:
                self.undo()
                self._before.clear()
                self._put(config, settings.settings)
                return
            note((section, name, section.get(name, _MISSING)))
            section[name] = value

    def _put(self, section: dict[str, Any], settings: Mapping[str, Any]) -> None:
        note = self._before.append
        for key, value in settings.items():
            name = key if key in section or key not in _OTHER else _written(key, section)
            before = section.get(name, _MISSING)
            if type(value) is not dict:  # as nearly always
                note((section, name, before))
                section[name] = value
            elif type(before) is dict:
                self._put(before, value)
            else:
                note((section, name, before))
                section[name] = deepcopy(value)

    def undo(self) -> None:
        """Put back what was there; what was changed in between goes with it."""
        for section, name, value in self._before[::-1]:
            if value is _MISSING:
                section.pop(name, None)
            else:
                section[name] = value


def is_usual() -> bool:
    """Whether there are neither plugins for arrays nor a scheduler's client to look at."""
    config = _dask_config().config
    plugins = config.get("array_plugins") or config.get("array-plugins")
    return not plugins and "distributed" not in sys.modules


def setting(name: str) -> Any:
    """Dask's setting ``name``, one outside of sections; None where there is none."""
    config = _dask_config().config
    return config.get(name if name in config else _written(name, config))


def _written(name: str, section: Mapping[str, Any]) -> str:
    """``name`` as ``section`` has it: Dask takes hyphens and underscores for the same."""
    other = _OTHER.get(name)
    return name if other is None or name in section or other not in section else other


_OTHER: Final = {"array_plugins": "array-plugins", "num_workers": "num-workers"}
