"""How an array shows itself in one line of text."""

from __future__ import annotations

from ...expr.graph import below
from ...expr.nodes import Expr, Through
from ...expr.routines.table import ROUTINES
from ...expr.written import written


def summary(root: Expr) -> str:
    """One line: shape, dtype, expression."""
    return f"<speedcube.Array {root.shape} {root.dtype}: {written(root)}{law_warnings(root)}>"


def law_warnings(root: Expr) -> str:
    """Which libraries' routines are in ``root``, whose bits no law covers."""
    names = (node.op for node in below(root) if isinstance(node, Through))
    found = dict.fromkeys(ROUTINES[name].warning for name in names if name in ROUTINES)
    return "".join(f"; no law: {warning}" for warning in found if warning)
