"""Dask's settings, changed for a block: as `dask.config.set` does it, in a fifth of its time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any, Final

from dask import config as dask_config

_MISSING: Final = object()


class Changed:
    """``settings``, by section, are Dask's from now on, until `undo`."""

    __slots__ = ("_before",)

    def __init__(self, settings: Iterable[Mapping[str, Any]]) -> None:
        self._before: list[tuple[dict[str, Any], str, Any]] = []
        with dask_config.config_lock:
            for one in settings:
                self._put(dask_config.config, one)

    def _put(self, section: dict[str, Any], settings: Mapping[str, Any]) -> None:
        for key, value in settings.items():
            name = key if key in section else _written(key, section)
            before = section.get(name, _MISSING)
            if type(value) is dict and type(before) is dict:
                self._put(before, value)
            else:
                self._before.append((section, name, before))
                section[name] = deepcopy(value) if type(value) is dict else value

    def undo(self) -> None:
        """Put back what was there; what was changed in between goes with it."""
        for section, name, value in reversed(self._before):
            if value is _MISSING:
                section.pop(name, None)
            else:
                section[name] = value


def setting(name: str) -> Any:
    """Dask's setting ``name``, one outside of sections; None where there is none."""
    return dask_config.config.get(_written(name, dask_config.config))


def _written(name: str, section: Mapping[str, Any]) -> str:
    """``name`` as ``section`` has it: Dask takes hyphens and underscores for the same."""
    other = _OTHER.get(name)
    return name if other is None or name in section or other not in section else other


_OTHER: Final = {"array_plugins": "array-plugins", "num_workers": "num-workers"}
