"""einops with our arrays: ``einops.rearrange(x, "a b -> b a")`` builds an expression.

einops asks the backends that it knows of, by classes that derive from its own. Ours is added when
einops is imported, before speedcube or after it; speedcube itself never imports it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any, Final

import numpy as np

from .array import Array

_BACKENDS: Final = "einops._backends"


def _prepare() -> None:
    """Add our backend to einops, now or as soon as it is imported."""
    loaded = sys.modules.get(_BACKENDS)
    if loaded is not None:
        _add(loaded)
    elif not any(isinstance(one, _WhenImported) for one in sys.meta_path):
        sys.meta_path.insert(0, _WhenImported())


def _add(backends: ModuleType) -> None:
    base: Any = getattr(backends, "AbstractBackend", None)
    if base is None:  # of another version: einops.array_api takes our arrays in each
        return

    class Backend(base):  # type: ignore[misc]
        framework_name = "speedcube"

        def is_appropriate_type(self, tensor: Any) -> bool:
            return isinstance(tensor, Array)

        def from_numpy(self, x: Any) -> Array:
            return _ours().asarray(x)  # type: ignore[no-any-return]

        def to_numpy(self, x: Array) -> Any:
            return np.asarray(x)

        def arange(self, start: int, stop: int) -> Array:
            return _ours().arange(start, stop)  # type: ignore[no-any-return]

        def stack_on_zeroth_dimension(self, tensors: list[Array]) -> Array:
            return _ours().stack(tensors)  # type: ignore[no-any-return]

        def add_axis(self, x: Array, new_position: int) -> Array:
            return _ours().expand_dims(x, new_position)  # type: ignore[no-any-return]

        def tile(self, x: Array, repeats: tuple[int, ...]) -> Array:
            return _ours().tile(x, repeats)  # type: ignore[no-any-return]

        def concat(self, tensors: list[Array], axis: int) -> Array:
            return _ours().concatenate(tensors, axis=axis)  # type: ignore[no-any-return]

        def is_float_type(self, x: Array) -> bool:
            return x.dtype.kind == "f"

        def einsum(self, pattern: str, *x: Array) -> Any:
            return np.einsum(pattern, *x)

    backends.SpeedcubeBackend = Backend  # type: ignore[attr-defined]  # einops knows it while it lives


def _ours() -> Any:
    return sys.modules["speedcube"]


class _WhenImported:
    """Finds what the others find; of einops it sees to it that our backend is added."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != _BACKENDS:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _ThenAdd(spec.loader)  # type: ignore[assignment]  # it has all that is used
        return spec


class _ThenAdd:
    """Loads as ``loader`` does."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)  # type: ignore[no-any-return]

    def exec_module(self, module: ModuleType) -> None:
        self.loader.exec_module(module)
        _add(module)


_prepare()
