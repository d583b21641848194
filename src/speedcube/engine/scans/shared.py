"""Lines of a scan that several parts share: what the parts' records come to."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ... import dtypes
from ...dataclass import dataclass
from ...kernel.exact.integers import carry
from ...plan.stages import Stage
from .lines import products

Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True)
class SharedLines:
    """Lines that parts share: what it takes to put the parts' records together."""

    op: str
    dtype: str  # of the elements
    length: int  # of a line
    starts: tuple[int, ...]  # of the parts
    shape: tuple[int, ...]  # of the result


def shared_lines(stage: Stage) -> SharedLines:
    """What is shared between the parts of ``stage``."""
    source = stage.source
    assert source is not None
    starts = tuple(part.start for part in stage.parts)
    return SharedLines(source.op, source.arg.dtype, source.count, starts, stage.shape)


def carries(lines: SharedLines, *records: Array) -> dict[int, Array]:
    """What each part that does not begin a line goes on from, by its start: the records before."""
    carried: dict[int, Array] = {}
    before: list[Array] = []
    for start, record in zip(lines.starts, records, strict=True):
        if start % lines.length == 0:
            before = []
        else:
            carried[start] = _joined(lines, before)
        before.append(record)
    return carried


def _joined(lines: SharedLines, records: list[Array]) -> Array:
    if lines.op != "cumsum":
        return np.concatenate(records)
    total = np.sum(records, axis=0, dtype=records[0].dtype).reshape(-1)
    if dtypes.is_float(lines.dtype):
        carry(total)
    return np.asarray(total)


def merged_products(lines: SharedLines, *records: Array) -> Array:
    """The products of lines from the records of their parts."""
    records_of_line: dict[int, list[Array]] = {}
    for start, record in zip(lines.starts, records, strict=True):
        records_of_line.setdefault(start // lines.length, []).append(record)
    results = []
    for parts in records_of_line.values():
        line = np.concatenate(parts)
        results.append(products(iter([line]), len(line), np.empty(1, lines.dtype))[0])
    return np.array(results, lines.dtype).reshape(lines.shape)
