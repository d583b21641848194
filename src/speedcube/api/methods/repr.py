"""How an array shows itself: one line of text, or a small table and picture in a notebook."""

from __future__ import annotations

from html import escape

from ...expr.graph import below
from ...expr.nodes import Expr, Through
from ...expr.routines.table import ROUTINES
from ...expr.written import written
from ...numbers import bytes_text


def summary(root: Expr) -> str:
    """One line: shape, dtype, expression."""
    return f"<speedcube.Array {root.shape} {root.dtype}: {written(root)}{_warnings(root)}>"


def _warnings(root: Expr) -> str:
    """Which libraries' routines are in ``root``, whose bits no law covers."""
    names = (node.op for node in below(root) if isinstance(node, Through))
    found = dict.fromkeys(ROUTINES[name].warning for name in names if name in ROUTINES)
    return "".join(f"; no law: {warning}" for warning in found if warning)


def html(root: Expr, nbytes: int) -> str:
    """A table of facts beside a drawing of the last two axes."""
    rows = {
        "shape": str(root.shape),
        "dtype": root.dtype,
        "bytes": bytes_text(nbytes),
        "expression": written(root) + _warnings(root),
    }
    cells = "".join(
        f"<tr><th style='text-align:left'>{k}</th><td>{escape(v)}</td></tr>"
        for k, v in rows.items()
    )
    return f"<div style='display:flex;gap:2em'><table>{cells}</table>{_drawing(root.shape)}</div>"


def _drawing(shape: tuple[int, ...]) -> str:
    """A rectangle in the proportions of the last two axes, the longer side 120 units."""
    rows, columns = (1, *shape)[-2:] if shape else (1, 1)
    longest = max(rows, columns, 1)
    height, width = (max(8.0, 120.0 * n / longest) for n in (rows, columns))
    return (
        f"<svg width='{width + 70:.0f}' height='{height + 30:.0f}' font-size='11'>"
        f"<rect x='1' y='1' width='{width:.0f}' height='{height:.0f}' fill='#9ecae1' "
        f"stroke='#3182bd'/><text x='{width / 2:.0f}' y='{height + 16:.0f}' "
        f"text-anchor='middle'>{columns}</text><text x='{width + 6:.0f}' "
        f"y='{height / 2 + 4:.0f}'>{rows}</text></svg>"
    )
