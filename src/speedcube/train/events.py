"""Messages to the driver as events of Dask, and back: what arrives is checked before it is used."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from enum import Enum
from typing import Any, Final, get_args

from ..dataclass import dataclass
from ..errors import TrainError
from .messages import Cause, FromAgent, ToDriver


@dataclass(frozen=True)
class JobEvent:
    """What the driver hears of a rank; ``time`` is when it was said, in unix seconds."""

    rank: int
    attempt: int
    time: float
    message: ToDriver


def to_event(event: JobEvent) -> dict[str, Any]:
    """``event`` as Dask carries it: dicts with names, texts, bytes and numbers."""
    return {
        "kind": type(event.message).__name__,
        "rank": event.rank,
        "attempt": event.attempt,
        "time": event.time,
        "fields": _plain(vars(event.message)),
    }


def _plain(value: Any) -> Any:
    """``value`` with enums as their texts.

    What UTF-8 cannot write is escaped: it would end the worker's connection.
    """
    if isinstance(value, dict):
        return {_plain(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, str):
        return value.encode(errors="backslashreplace").decode()
    return value.value if isinstance(value, Enum) else value


_EVENTS: Final = {kind.__name__: kind for kind in get_args(FromAgent)}
_ENVELOPE: Final = {
    "kind": str,
    "rank": int,
    "attempt": int,
    "time": float,
    "fields": dict,
    "worker": str,  # the address, which Dask's scheduler adds
}
_ROW: Final = {
    "step": int,
    "rank": int,
    "attempt": int,
    "time": float,
    "seconds": float,
    "metrics": dict,
}
_CAUSES: Final = frozenset(cause.value for cause in Cause)
# Whether a value that travelled can be a field with this annotation.
_FITS: Final[dict[str, Callable[[Any], bool]]] = {
    "int": lambda value: type(value) is int,
    "float": lambda value: type(value) is float,
    "bool": lambda value: type(value) is bool,
    "str": lambda value: type(value) is str,
    "bytes": lambda value: type(value) is bytes,
    "bytes | None": lambda value: value is None or type(value) is bytes,
    "dict[str, Any]": lambda value: _has_types(value, _ROW),
    "Cause": lambda value: type(value) is str and value in _CAUSES,
}


def from_event(event: Any) -> JobEvent:
    """What `to_event` made a dict of.

    Raises
    ------
    TrainError
        Its kind is unknown, a field is missing or too many, or holds a value of another type.
    """
    if not _has_types(event, _ENVELOPE):
        raise _unreadable(f"{event!r:.200} is not a message")
    kind, values = _EVENTS.get(event["kind"]), event["fields"]
    if kind is None:
        raise _unreadable(f"{event['kind']!r:.80} is not a kind of message")
    types = {field.name: str(field.type) for field in dataclasses.fields(kind)}
    if values.keys() != types.keys():
        raise _unreadable(f"{kind.__name__} has the fields {[*types]}, not {[*values]!r:.200}")
    for name, type_name in types.items():
        if not _FITS[type_name](values[name]):
            raise _unreadable(f"{kind.__name__} has {name}={values[name]!r:.80}")
    if "cause" in values:
        values = values | {"cause": Cause(values["cause"])}
    return JobEvent(event["rank"], event["attempt"], event["time"], kind(**values))


def _has_types(value: Any, types: dict[str, type]) -> bool:
    """Whether ``value`` is a dict with these keys alone, and values of these types."""
    return (
        type(value) is dict
        and value.keys() == types.keys()
        and all(type(value[name]) is kind for name, kind in types.items())
    )


def _unreadable(what: str) -> TrainError:
    return TrainError(
        f"a worker sent an event that cannot be read: {what}; the driver and all workers need "
        "the same version of speedcube"
    )
