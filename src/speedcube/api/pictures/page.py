"""An array in a notebook: a table of facts beside a drawing; nothing of it is computed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ...expr.graph import is_short
from ...expr.nodes import Expr, Leaf, Stored
from ...expr.written import written
from ...interop.chunks import Grid
from ...interop.dask_array import stored_view
from ...late import html as texts
from ...numbers import bytes_text, shape_text
from ...shown import line, lines
from ..methods.repr import law_warnings
from .drawing import drawing
from .svg import MONO

_NODES: Final = 1000  # of an expression in which routines without a law are looked for
_NESTED: Final = 64  # recipes of chunks that are worked out for a picture
_SMALL: Final = 1000  # elements of an array in memory whose values are shown
_IN_ALL: Final = 60  # of them that are shown, at most; NumPy leaves out the middle
_LONG: Final = 600  # characters of an expression, with the names of its arrays
_BREAK: Final = "white-space:pre-wrap;overflow-wrap:anywhere;word-break:break-word"
_CELL: Final = "text-align:left;vertical-align:top;padding:0.15em 0.6em 0.15em 0;border:0"


def html(root: Expr, grid: Grid) -> str:
    """Shape, dtype, bytes, chunks, expression and small values of ``root`` beside its drawing."""
    size = math.prod(root.shape)
    chunks = _chunks_of(grid)
    rows = {
        "shape": str(root.shape),
        "dtype": root.dtype,
        "bytes": bytes_text(size * np.dtype(root.dtype).itemsize),
        "chunks": _chunks_text(chunks) if root.shape else "",
        "expression": line(written(root) + _laws(root), _LONG),
        "values": _values_text(root),
    }
    cells = "".join(_row(name, value) for name, value in rows.items() if value)
    return (
        '<div style="display:flex;flex-wrap:wrap;gap:1em 2em;align-items:flex-start;'
        'max-width:100%"><table style="flex:1 1 18em;min-width:0;max-width:60em;width:auto;'
        f'border-collapse:collapse;background:none;color:inherit;font-size:0.95em">{cells}</table>'
        f'<div style="flex:0 1 auto;max-width:100%">{drawing(root.shape, chunks)}</div></div>'
    )


def _row(name: str, value: str) -> str:
    font = f"font-family:{MONO};" if name in ("expression", "values") else ""
    return (
        f'<tr style="background:none"><th scope="row" style="{_CELL};width:6.5em;font-weight:600">'
        f'{name}</th><td style="{_CELL};{texts.escape(font)}{_BREAK}">'
        f"{texts.escape(value)}</td></tr>"
    )


def _chunks_of(grid: Grid) -> Sequence[Sequence[int]]:
    """The chunks, unless they are as much work as a small computation."""
    return grid.chunks if grid.depth <= _NESTED or "chunks" in vars(grid) else ()


def _chunks_text(chunks: Sequence[Sequence[int]]) -> str:
    """The largest chunk, and how many there are."""
    if not chunks:
        return ""
    count = math.prod(map(len, chunks))
    largest = shape_text(tuple(max(sizes, default=0) for sizes in chunks))
    return "one" if count == 1 else f"{count:,} of at most {largest}"


def _laws(root: Expr) -> str:
    """Which libraries' routines are in it; of a long expression that takes too long to see."""
    return law_warnings(root) if is_short(root, _NODES) else "; laws: .explain()"


def _values_text(root: Expr) -> str:
    """The values of a small array that lies in the host's memory."""
    values = _values(root)
    if values is None:
        return ""
    text = np.array2string(values, threshold=_IN_ALL, edgeitems=3, precision=4, max_line_width=60)
    return lines(text)


def _values(root: Expr) -> NDArray[np.generic] | None:
    if not isinstance(root, Leaf) or not isinstance(root.source, Stored) or root.source.on_device:
        return None
    buffer, size = root.source.buffer, math.prod(root.shape)
    if type(buffer) is not np.ndarray or not size or size > _SMALL or len(root.shape) > 4:
        return None
    if buffer.dtype != root.dtype:
        return None
    values: NDArray[np.generic] = stored_view(root, root.source)
    return values
