"""Dask's settings, changed for a block: as `dask.config.set` does it, in a quarter of its time."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from dask import config as dask_config

_MISSING: Final = object()


class Changed:
    """``settings`` are Dask's from now on, until `undo` puts back what they were."""

    __slots__ = ("_before",)

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._before: list[tuple[dict[str, Any], str, Any]] = []
        with dask_config.config_lock:
            for key, value in settings.items():
                section, name = _place(key)
                self._before.append((section, name, section.get(name, _MISSING)))
                section[name] = value

    def undo(self) -> None:
        """Put back what was there; what was changed in between goes with it."""
        for section, name, value in reversed(self._before):
            if value is _MISSING:
                section.pop(name, None)
            else:
                section[name] = value


def setting(key: str) -> Any:
    """Dask's setting ``key``, None where there is none."""
    section, name = _place(key)
    return section.get(name)


def _place(key: str) -> tuple[dict[str, Any], str]:
    """The section of Dask's settings that ``key`` is in, and its name there."""
    section: dict[str, Any] = dask_config.config
    *outer, last = _names(key)
    for name in outer:
        section = section.setdefault(_written(name, section), {})
    return section, _written(last, section)


@cache
def _names(key: str) -> tuple[str, ...]:
    return tuple(key.split("."))


def _written(name: str, section: Mapping[str, Any]) -> str:
    """``name`` as ``section`` has it: Dask takes hyphens and underscores for the same."""
    if name in section:
        return name
    other = name.replace("_", "-") if "_" in name else name.replace("-", "_")
    return other if other in section else name
