"""Rows of a job: what report() was given, as JSON scalars, and the JSON lines file that keeps it.

A row says where and when a rank reported what::

    {"step": 12, "rank": 0, "attempt": 0, "time": 1763741234.1, "seconds": 3.2,
     "metrics": {"loss": 0.5}}

Other lines are events: ``{"event": "restart", "time": 1763741240.0, ...}``.
JSON has no NaN and no infinities: in the file they are the strings "NaN", "Infinity", "-Infinity".
"""

from __future__ import annotations

import json
import math
import numbers
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

from ... import strict_json
from ...errors import DataFileError, TrainError
from ...files import OWN_FILE, check_regular, open_regular
from ...shown import line as shown

Scalar: TypeAlias = bool | int | float | str | None
Row: TypeAlias = dict[str, Any]

_INT64: Final = range(-(2**63), 2**64)  # the integers that messages between processes can hold
_MOST_LINE: Final = 1 << 26  # bytes
_BLOCK: Final = 1 << 16
_WORDS: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def row(metrics: Mapping[str, Any], *, step: int, rank: int, attempt: int, seconds: float) -> Row:
    """Return the row of one report, stamped with the present time.

    Parameters
    ----------
    metrics
        What `scalars` takes.
    step, rank, attempt
        The number of the report (from 1), who made it, how often the job was restarted before.
    seconds
        Seconds since the first line of the rank's function.

    Raises
    ------
    TrainError
        As `scalars`.
    """
    values = scalars(metrics)
    return {
        "step": step,
        "rank": rank,
        "attempt": attempt,
        "time": time.time(),
        "seconds": seconds,
        "metrics": values,
    }


def event(kind: str, **facts: Any) -> Row:
    """Return the line of an event ("start", "restart" ...); ``facts`` are JSON values."""
    return {"event": kind, "time": time.time(), **facts}


def scalars(metrics: Mapping[str, Any]) -> dict[str, Scalar]:
    """Return ``metrics`` with every value a Python number, bool, string or None.

    Tensors and arrays without dimensions and NumPy's scalars become Python numbers.

    Raises
    ------
    TrainError
        Names the key whose value is no scalar, and says what to give instead.
    """
    if not isinstance(metrics, Mapping):
        raise TrainError(
            f'report() takes a dict of metrics, such as {{"loss": 0.5}}, not {_a(metrics)}'
        )
    for key in metrics:
        if not isinstance(key, str) or not key:
            raise TrainError(f"the name of a metric is a string, such as 'loss', not {key!r}")
    return {str(key): _scalar(key, value) for key, value in metrics.items()}


def _scalar(key: str, value: Any) -> Scalar:
    shape = getattr(value, "shape", None)
    if shape is not None and callable(getattr(value, "item", None)):
        if tuple(shape):
            raise TrainError(
                f"{key} is {_a(value)} of shape {tuple(shape)}: "
                f"give one number, as {_attribute(key)}.mean().item()"
            )
        value = _item(key, value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, numbers.Integral):
        if int(value) not in _INT64:
            raise TrainError(f"{key} is an integer beyond 64 bits: give it as a float or a string")
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    raise TrainError(_refusal(key, value))


def _item(key: str, value: Any) -> Any:
    try:
        return value.item()
    except Exception as err:  # a tensor on the meta device, a lazy array that cannot be computed
        raise TrainError(
            f"{key} is {_a(value)} whose value cannot be read ({err}): give a number"
        ) from err


def _refusal(key: str, value: Any) -> str:
    if isinstance(value, Mapping):
        inner = next((str(name) for name in value), "loss")
        return f"{key} is {_a(value)}: give each value a name of its own, as '{key}/{inner}'"
    if isinstance(value, numbers.Complex):
        return f"{key} is a complex number: give its parts, as '{key}/real' and '{key}/imag'"
    if hasattr(value, "__len__"):
        return (
            f"{key} is {_a(value)} of {len(value)} values: "
            f"give one number, or each value under a name of its own, as '{key}/0'"
        )
    return f"{key} is {_a(value)}: a metric is a number, a bool, a string or None"


def _a(value: Any) -> str:
    """The type of ``value`` with its article: "a tensor", "an Array"."""
    name = {"Tensor": "tensor", "ndarray": "NumPy array"}.get(type(value).__name__)
    name = name or type(value).__name__
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


def _attribute(key: str) -> str:
    """A variable that ``key`` may have come from: the last part of "val/loss"."""
    name = key.rsplit("/", 1)[-1]
    return name if name.isidentifier() else "value"


class MetricsFile:
    """Rows appended to a file as JSON lines, each there as soon as `write` returns.

    A last line that a killed process left unfinished is cut off when the file is opened again.
    To be used by one thread at a time.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            handle = os.open(self.path, flags, OWN_FILE)
        except OSError as err:
            raise _unreadable(path, err) from err
        self._file = open(handle, "ab", buffering=0)  # noqa: SIM115, closed by close()
        try:
            check_regular(handle)
            self._mend()
        except (OSError, DataFileError) as err:
            self._file.close()
            raise (_unreadable(path, err) if isinstance(err, OSError) else err) from err

    def _mend(self) -> None:
        last = _last_line(self._file.fileno(), self.path)
        if last.endswith(b"\n") or not last:
            return
        if _parsed(last) is None:
            self._file.truncate(os.fstat(self._file.fileno()).st_size - len(last))
        else:
            self._file.write(b"\n")

    def write(self, row: Row) -> None:
        """Append ``row``; if it cannot be written (`OSError`), nothing of it stays in the file."""
        line = _replaced(row, _word)
        rest = memoryview(json.dumps(line, allow_nan=False).encode() + b"\n")
        start = self._file.seek(0, 2)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError:
            self._file.truncate(start)
            raise

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> MetricsFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read_rows(path: str | Path, check: Callable[[Row], None] = lambda row: None) -> list[Row]:
    """Return the rows and events of a file that `MetricsFile` wrote, or is writing.

    The strings "NaN", "Infinity" and "-Infinity" become floats again. A last line that is not
    finished is left out: a job that was killed leaves one.

    Raises
    ------
    DataFileError
        A line that is no JSON object, or for which ``check`` raises ValueError: with its number and
        the reason. A file that cannot be read.
    """
    rows = []
    try:
        with open_regular(path) as file:
            number = 0
            while text := file.readline(_MOST_LINE):
                number += 1
                if len(text) == _MOST_LINE:
                    raise _damaged(path, number, f"longer than {_MOST_LINE:,} bytes")
                try:
                    row = _object(text)
                    check(row)
                except strict_json.NotStrictError as err:
                    if text.endswith(b"\n"):
                        raise _damaged(path, number, f"not a JSON object ({err})") from None
                except ValueError as err:
                    raise _damaged(path, number, str(err)) from None
                else:
                    rows.append(_replaced(row, _number))
    except OSError as err:
        raise _unreadable(path, err) from err
    return rows


def _damaged(path: str | Path, number: int, reason: str) -> DataFileError:
    return DataFileError(
        f"{shown(path)}, line {number}: {reason}; "
        "remove the line, or take the file as the job wrote it"
    )


def _unreadable(path: str | Path, err: OSError) -> DataFileError:
    return DataFileError(f"{shown(path)} cannot be used: {err.strerror or err}")


def _last_line(handle: int, path: Path) -> bytes:
    """The last line of a file, of which no more is read than that."""
    at, tail = os.fstat(handle).st_size, b""
    while at > 0 and b"\n" not in tail[:-1]:
        if len(tail) > _MOST_LINE:
            raise DataFileError(f"{shown(path)}: its last line is longer than {_MOST_LINE:,} bytes")
        size = min(_BLOCK + len(tail), at)
        at -= size
        tail = os.pread(handle, size, at) + tail
    return tail[tail.rfind(b"\n", 0, -1) + 1 :]


def _parsed(line: bytes) -> Row | None:
    try:
        return _object(line)
    except strict_json.NotStrictError:
        return None


def _object(line: bytes) -> Row:
    value = strict_json.parse(line)
    if not isinstance(value, dict):
        raise strict_json.NotStrictError(f"it is a {type(value).__name__}")
    return value


def _replaced(value: Any, change: Callable[[Any], Any]) -> Any:
    """``value`` with ``change`` applied to what its dicts and lists hold."""
    if isinstance(value, dict):
        return {_whole(key): _replaced(inner, change) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_replaced(inner, change) for inner in value]
    return change(value)


def _whole(text: str) -> str:
    """``text`` without halves of characters, such as a file's name may have."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _word(value: Any) -> Any:
    if isinstance(value, str):
        return _whole(value)
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _number(value: Any) -> Any:
    return _WORDS.get(value, value) if isinstance(value, str) else value
