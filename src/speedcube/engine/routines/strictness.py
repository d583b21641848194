"""Whether computations with parts that no law covers are refused: ``speedcube.on(strict=True)``."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar

from ...errors import LawError
from ...expr.graph import below
from ...expr.nodes import Deferred, Expr, Leaf, Through
from ...expr.routines.table import ROUTINES

is_strict: ContextVar[bool] = ContextVar("speedcube_strict", default=False)


def check_laws(roots: Sequence[Expr]) -> None:
    """Raise `LawError` where a block is strict and ``roots`` have a part that no law covers."""
    if not is_strict.get():
        return
    for node in below(*roots):
        if isinstance(node, Through) and node.op in ROUTINES and ROUTINES[node.op].library:
            raise LawError(
                f"{node.op} does not promise the same bits everywhere "
                f"({ROUTINES[node.op].warning}), and this block is strict: compute it "
                "outside of on(strict=True), or use vecdot, which is exact"
            )
        if isinstance(node, Leaf) and type(node.source) is Deferred:
            raise LawError(
                "Dask computes a Dask array, so its bits are not promised, and this block "
                "is strict: persist it outside of on(strict=True), and hand over its "
                "values"
            )
