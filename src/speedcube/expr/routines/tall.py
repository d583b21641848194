"""QR and SVD of tall matrices by blocks of rows, which stay in the cache.

Each block is factored by itself, and then the triangles, one above the other, in the same way. How
many rows a block has follows from the number of columns alone.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

_BLOCK: Final = 1 << 15  # elements of a block
_TALL: Final = 8  # as many rows for each column, of a block at least
_COLUMNS: Final = 64  # more are factored well enough as they are


def _rows(xp: Any, a: Any) -> int:
    """How many rows a block of ``a`` has; 0 where ``a`` is factored as it is."""
    if xp is not np or a.ndim != 2 or not 0 < a.shape[1] <= _COLUMNS:
        return 0
    rows = max(_TALL * a.shape[1], _BLOCK // a.shape[1])
    return rows if a.shape[0] >= 2 * rows else 0


def _blocks(a: Any, rows: int) -> tuple[Any, Any]:
    """Blocks of ``rows`` rows, and what is left, fewer rows than two blocks have."""
    count = a.shape[0] // rows - 1
    columns = a.shape[1]
    return a[: count * rows].reshape(count, rows, columns), a[count * rows :]


def triangle(xp: Any, a: Any) -> Any:
    """R of the factors of ``a``."""
    rows = _rows(xp, a)
    if not rows:
        return xp.linalg.qr(a, "r")
    blocks, rest = _blocks(a, rows)
    each = xp.linalg.qr(blocks, "r").reshape(-1, a.shape[1])
    return triangle(xp, xp.concatenate([each, xp.linalg.qr(rest, "r")]))


def factors(xp: Any, a: Any, mode: str) -> tuple[Any, Any]:
    """Q and R."""
    rows = _rows(xp, a) if mode == "reduced" else 0
    if not rows:
        q, r = xp.linalg.qr(a, mode)
        return q, r
    blocks, rest = _blocks(a, rows)
    columns = a.shape[1]
    inner, triangles = xp.linalg.qr(blocks)
    last, below = xp.linalg.qr(rest)
    turns, r = factors(xp, xp.concatenate([triangles.reshape(-1, columns), below]), mode)
    q = np.empty_like(a, order="C")
    cut = len(blocks) * rows
    xp.matmul(
        inner, turns[:-columns].reshape(-1, columns, columns), out=q[:cut].reshape(blocks.shape)
    )
    xp.matmul(last, turns[-columns:], out=q[cut:])
    return q, r


def svd(xp: Any, a: Any, full: bool) -> tuple[Any, Any, Any]:
    """U, the singular values, and the transpose of V."""
    if full or not _rows(xp, a):
        u, s, vh = xp.linalg.svd(a, full_matrices=full)
        return u, s, vh
    q, r = factors(xp, a, "reduced")
    u, s, vh = xp.linalg.svd(r)
    return q @ u, s, vh


def svdvals(xp: Any, a: Any) -> Any:
    """The singular values alone."""
    return xp.linalg.svd(triangle(xp, a) if _rows(xp, a) else a, compute_uv=False)
