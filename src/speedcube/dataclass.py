"""`dataclass` and `cached_property` of the standard library, made sooner and read sooner.

In the library each of a dataclass's methods is a text that is compiled: for hundreds of classes
that are made when the package is imported, a quarter of the import. Here `__eq__`, `__hash__` and
`__repr__` are closures, of the same results; the texts of `__init__` and of what freezes an
instance are left.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
    from functools import cached_property as cached_property
else:

    class cached_property:
        """`functools.cached_property` without a lock, as it is from Python 3.12 on.

        Taking it costs more than most of what is remembered. Two threads may both find a value;
        the first one's stays, and both get that: nodes are known by their identity.
        """

        def __init__(self, function: Callable[[Any], Any]) -> None:
            self.function, self.name = function, function.__name__
            self.__doc__ = function.__doc__

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            return instance.__dict__.setdefault(self.name, self.function(instance))

    def dataclass(
        cls: type | None = None,
        /,
        *,
        frozen: bool = False,
        eq: bool = True,
        repr: bool = True,
        slots: bool = False,
    ) -> Any:
        """`dataclasses.dataclass`, with those of its options that are used here."""

        def made(cls: type) -> type:
            cls = dataclasses.dataclass(cls, frozen=frozen, eq=False, repr=False, slots=slots)
            if repr:
                _add(cls, "__repr__", _repr_of(cls))
            if eq:
                _compare_by_fields(cls, frozen)
            return cls

        return made if cls is None else made(cls)


def _compare_by_fields(cls: type, frozen: bool) -> None:
    """Equal fields are equal instances; with a hash where they cannot change."""
    compared = _values_of([f.name for f in dataclasses.fields(cls) if f.compare])
    explicit = cls.__dict__.get("__hash__") is not None
    _add(cls, "__eq__", _eq_of(compared))
    if explicit:
        return
    if not frozen:
        cls.__hash__ = None  # type: ignore[assignment]
        return
    names = [f.name for f in dataclasses.fields(cls) if (f.compare if f.hash is None else f.hash)]
    hashed = _values_of(names)

    def __hash__(self: Any) -> int:
        return hash(hashed(self))

    _add(cls, "__hash__", __hash__)


def _add(cls: type, name: str, method: Callable[..., Any]) -> None:
    """Give ``cls`` a method, unless it has one of its own."""
    if cls.__dict__.get(name) is None:
        method.__qualname__ = f"{cls.__qualname__}.{name}"
        setattr(cls, name, method)


def _values_of(names: list[str]) -> Callable[[Any], Any]:
    """The fields of an instance that have these names, as something to compare."""
    if len(names) > 1:
        return attrgetter(*names)
    alone = [attrgetter(name) for name in names]
    return lambda one: tuple(get(one) for get in alone)  # tuples are equal where NaN is the same


def _eq_of(compared: Callable[[Any], Any]) -> Callable[[Any, object], Any]:
    def __eq__(self: Any, other: object) -> Any:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return compared(self) == compared(other)

    return __eq__


def _repr_of(cls: type) -> Callable[[Any], str]:
    names = [f.name for f in dataclasses.fields(cls) if f.repr]

    @recursive_repr()
    def __repr__(self: Any) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{self.__class__.__qualname__}({shown})"

    return __repr__
