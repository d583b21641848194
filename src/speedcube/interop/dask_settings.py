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
                outer, _, last = key.rpartition(".")
                section = _section(outer)
                name = last if last in section else _written(last, section)
                self._before.append((section, name, section.get(name, _MISSING)))
                section[name] = value

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


def _section(path: str) -> dict[str, Any]:
    """The section ``path`` of Dask's settings; it is made where there is none."""
    section: dict[str, Any] = dask_config.config
    for name in path.split(".") if path else ():
        section = section.setdefault(_written(name, section), {})
    return section


def _written(name: str, section: Mapping[str, Any]) -> str:
    """``name`` as ``section`` has it: Dask takes hyphens and underscores for the same."""
    if name in section:
        return name
    other = _other(name)
    return other if other in section else name


@cache
def _other(name: str) -> str:
    return name.replace("_", "-") if "_" in name else name.replace("-", "_")
