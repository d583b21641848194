"""Narrow rows: vectors of a column are put together from whole vectors, and read nothing behind."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube.engine.prepare import prepare_many
from speedcube.kernel.llvm import compile as compiling
from speedcube.kernel.llvm import memory
from speedcube.kernel.llvm.text import Text
from speedcube.plan.stages import make_stage

_TEXTS: dict[str, Any] = {
    "rows": lambda x: x.sum(axis=1),
    "largest": lambda x: x.max(axis=1),
    "column": lambda x: x[:, -1] + x.dtype.type(1),
    "two": lambda x: x[:, 0] * 2 + x[:, -1],
    "sum": lambda x: x[:, 0].sum(),
    "lengths": lambda x: (x * x).sum(axis=1),
}


@pytest.mark.parametrize("step", range(2, 9))
@pytest.mark.parametrize("lanes", [8, 16, 64])
def test_the_last_vector_ends_with_the_last_element(step: int, lanes: int) -> None:
    """Followed by hand: which elements are read, and where they come to lie."""
    text = Text(lanes)
    memory.apart(text, "i64", "%p", step)
    starts = [int(line.split("i64 ")[-1]) for line in text.lines if "getelementptr" in line]
    assert len(starts) == step
    assert max(starts) + lanes == (lanes - 1) * step + 1
    found: list[int] = []
    masks = [line.split("> <i32 ")[1] for line in text.lines if "shufflevector" in line]
    for start, mask in zip(starts, masks, strict=True):
        piece = [start + lane for lane in range(lanes)]
        both = (found or piece) + piece
        found = [both[int(one.strip("> "))] for one in mask.split(", i32 ")]
    assert found == [lane * step for lane in range(lanes)]


@pytest.mark.parametrize("name", _TEXTS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int16", "uint8", "bool"])
def test_narrow_rows(name: str, dtype: str) -> None:
    """Equal to NumPy, and to the same elements that lie elsewhere, for every width and length."""
    rng = np.random.default_rng(3)
    for width in (2, 3, 4, 5, 7, 8, 9):
        for rows in (1, 7, 64, 1000, 4097):
            a = rng.integers(0, 100, (rows, width)).astype(dtype)
            with sc.on("core"):
                found = sc.asarray(_TEXTS[name](sc.asarray(a))).compute()
            turned = np.ascontiguousarray(a.T).T
            with sc.on("core"):
                other = sc.asarray(_TEXTS[name](sc.asarray(turned))).compute()
            assert found.tobytes() == other.tobytes()
            assert np.array_equal(found, _TEXTS[name](a)), (width, rows)


def test_rows_are_asked_for_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a column's next elements do not lie behind, of every processor."""
    monkeypatch.setattr(compiling, "foresees", lambda: True)
    monkeypatch.setattr(compiling, "QUICK", compiling.ByTarget(**compiling.QUICK._shapes))
    x: Any = sc.asarray(np.zeros((300, 800)))[:, ::2].sum(axis=0)._expr
    stage = make_stage(x.source.arg, x.source, 1)
    prepared = prepare_many(stage, stage.parts[0])
    assert prepared is not None
    assert [leaf.apart for leaf in prepared.program.leaves] == [2]
    quick, _ = compiling.styles(prepared.program, "avx512")
    assert not quick.asks
    assert "@llvm.prefetch" in compiling.source(prepared.program, "avx512", quick)


_AT_THE_END = """
import ctypes, mmap
import numpy as np
import speedcube as sc

page = mmap.PAGESIZE
libc = ctypes.CDLL(None, use_errno=True)
for dtype in ("float64", "float32", "uint8"):
    for width in range(2, 9):
        for rows in (64, 333, 1024):
            a = np.random.default_rng(0).integers(0, 100, (rows, width)).astype(dtype)
            size = -(-a.nbytes // page) * page
            held = mmap.mmap(-1, size + page)
            address = ctypes.addressof(ctypes.c_char.from_buffer(held))
            end = ctypes.c_void_p(address + size)
            assert libc.mprotect(end, page, 0) == 0
            x = np.frombuffer(held, dtype, a.size, size - a.nbytes).reshape(a.shape)
            np.copyto(x, a)
            y = sc.asarray(x)
            for found, wanted in (
                (y.sum(axis=1), a.sum(axis=1)),
                (y[:, -1] + y[:, 0], a[:, -1] + a[:, 0]),
                (y.max(axis=1), a.max(axis=1)),
            ):
                assert np.array_equal(found.compute(on="core"), wanted)
            assert libc.mprotect(end, page, 3) == 0
print("read nothing behind")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="pages are protected by mprotect of Linux")
def test_nothing_is_read_behind_the_last_element() -> None:
    """Behind the array is a page that ends the process of who reads it."""
    done = subprocess.run(
        [sys.executable, "-c", _AT_THE_END],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout.strip() == "read nothing behind", (done.returncode, done.stderr[-2000:])
