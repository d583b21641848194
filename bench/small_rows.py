"""Single operations on 1,000 numbers and a sheet of 100 x 200, and where the time of one goes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np

import speedcube as sc

Row: TypeAlias = Callable[[Any, Any, Any, Any], Any]  # of the library, a line, another, a sheet
LINE, OTHER = (np.random.default_rng(seed).normal(size=1000) for seed in (1, 2))
SHEET: Final = np.random.default_rng(3).normal(size=(100, 200))
MASK: Final = LINE > 0
SQUARE: Final = 1000  # the side of what is larger, on a GPU

ROWS: Final[dict[str, Row]] = {
    "x + 1": lambda m, x, y, s: x + 1,
    "x * 2 + y": lambda m, x, y, s: x * 2 + y,
    "x > 0": lambda m, x, y, s: x > 0,
    "exp(x)": lambda m, x, y, s: m.exp(x),
    "x[1:] - x[:-1]": lambda m, x, y, s: x[1:] - x[:-1],
    "(x * 2 + y).sum()": lambda m, x, y, s: (x * 2 + y).sum(),
    "x.max()": lambda m, x, y, s: x.max(),
    "x.mean()": lambda m, x, y, s: x.mean(),
    "x.std()": lambda m, x, y, s: x.std(),
    "x.cumsum()": lambda m, x, y, s: x.cumsum(),
    "x[5]": lambda m, x, y, s: x[5],
    "sheet.mean(axis=0)": lambda m, x, y, s: s.mean(axis=0),
    "sheet.std(axis=1)": lambda m, x, y, s: s.std(axis=1),
    "sheet - sheet.mean(axis=0)": lambda m, x, y, s: s - s.mean(axis=0),
}
# Where the values are to lie with the host.
HOSTS: Final[dict[str, Row]] = {
    "asarray([1.0, 2.0, 4.0]).sum()": lambda m, x, y, s: m.asarray([1.0, 2.0, 4.0]).sum(),
    "x[mask]": lambda m, x, y, s: x[MASK],
    "x.sum(), x.max()": lambda m, x, y, s: (x.sum(), x.max()),
    "drawn": lambda m, x, y, s: m.random.default_rng(1).normal(size=1000).sum(),
}


def put(array: Any, key: Any, value: Any) -> Any:
    """``array``, made for it, with ``value`` at ``key``."""
    array[key] = value
    return array


# Of what is computed first: parts of it, and what is assigned to it.
PARTS: Final[dict[str, Row]] = {
    "y = x * 2; y[1:] - y[:-1]": lambda m, x, y, s: (lambda z: z[1:] - z[:-1])(x * 2),
    "(x + 1)[::-1] * y": lambda m, x, y, s: (x + 1)[::-1] * y,
    "(x * y).reshape(-1, 4).sum(axis=1)": lambda m, x, y, s: (x * y).reshape(-1, 4).sum(axis=1),
    "(x * y)[3:-3].max()": lambda m, x, y, s: (x * y)[3:-3].max(),
    "y = x * 2; y[3] = 1": lambda m, x, y, s: put(x * 2, 3, 1.0),
    "the same, + 1": lambda m, x, y, s: put(x * 2, 3, 1.0) + 1,
    "b = sheet * 2; b[3] = 1": lambda m, x, y, s: put(s * 2, 3, 1.0),
    "the same, b[3:9, 5:50] = 1": lambda m, x, y, s: put(s * 2, np.s_[3:9, 5:50], 1.0),
    "the same, b[:, 0] = x[:100]": lambda m, x, y, s: put(s * 2, np.s_[:, 0], x[:100]),
    "the same, b[::2] = 0": lambda m, x, y, s: put(s * 2, np.s_[::2], 0.0),
    "zeros((100, 200)); z[3] = x[:200]": lambda m, x, y, s: put(m.zeros((100, 200)), 3, x[:200]),
    "b = sheet * 2; b[3] = 1; b.sum()": lambda m, x, y, s: put(s * 2, 3, 1.0).sum(),
    "the same, b.mean(axis=0)": lambda m, x, y, s: put(s * 2, 3, 1.0).mean(axis=0),
}
# Of ten numbers, and matrices of 10 x 10.
FEW: Final[dict[str, Row]] = {
    "(a @ a + 1) * 2": lambda m, x, y, s: (s @ s + 1) * 2,
    "float(x @ (a @ x))": lambda m, x, y, s: float(x @ (s @ x)),
    "x - 0.1 * (a.T @ (a @ x - y))": lambda m, x, y, s: x - 0.1 * (s.T @ (s @ x - y)),
    "x / sqrt(x @ x)": lambda m, x, y, s: x / m.sqrt(x @ x),
    "arange(10)": lambda m, x, y, s: m.arange(10),
    "eye(10) - a": lambda m, x, y, s: m.eye(10) - s,
    "inv(a) @ x": lambda m, x, y, s: m.linalg.inv(s) @ x,
    "abs(rfft(x))": lambda m, x, y, s: abs(m.fft.rfft(x)),
}
# Of a million elements.
LARGE: Final[dict[str, Row]] = {
    "million + 1": lambda m, x, y, s: s + 1,
    "exp(million)": lambda m, x, y, s: m.exp(s),
    "million.sum()": lambda m, x, y, s: s.sum(),
    "million.max(axis=0)": lambda m, x, y, s: s.max(axis=0),
    "million.std(axis=1)": lambda m, x, y, s: s.std(axis=1),
    "million - million.mean(axis=0)": lambda m, x, y, s: s - s.mean(axis=0),
}


def pairs(on: str) -> dict[str, tuple[Callable[[], Any], Callable[[], Any]]]:
    """Each row with our arrays, computed on the rung ``on``, and with NumPy's or CuPy's."""
    if on == "core":
        few = LINE[:10].copy(), OTHER[:10].copy(), SHEET[:10, :10].copy()
        found = {
            name: _pair(row, np, (LINE, OTHER, SHEET), _on_core, _nothing)
            for name, row in {**ROWS, **HOSTS, **PARTS}.items()
        }
        return found | {n: _pair(row, np, few, _on_core, _nothing) for n, row in FEW.items()}
    import cupy

    wait = cupy.cuda.Device().synchronize
    small = tuple(map(cupy.asarray, (LINE, OTHER, SHEET)))
    large = (*small[:2], cupy.random.default_rng(4).standard_normal(size=(SQUARE, SQUARE)))

    def stays(made: Any) -> Any:
        made = made.compute(on="gpu", to="cupy")
        wait()
        return made

    found = {name: _pair(row, cupy, small, stays, lambda _: wait()) for name, row in ROWS.items()}
    found |= {name: _pair(row, cupy, large, stays, lambda _: wait()) for name, row in LARGE.items()}
    for name in ("(x * 2 + y).sum()", "x.max()", "x.std()"):
        found[f"float({name})"] = _pair(
            ROWS[name], cupy, small, lambda made: float(made.compute(on="gpu")), float
        )
    return found


def _pair(
    row: Row, other: Any, data: Any, ours: Callable[[Any], Any], theirs: Callable[[Any], Any]
) -> tuple[Callable[[], Any], Callable[[], Any]]:
    held = tuple(map(sc.asarray, data))
    return (lambda: ours(row(sc, *held))), (lambda: theirs(row(other, *data)))


def _on_core(made: Any) -> Any:
    if isinstance(made, tuple):
        return sc.compute(*made, on="core")
    return made if isinstance(made, float) else made.compute(on="core")


def _nothing(_: Any) -> None:
    """NumPy's are there."""


def steps(on: str) -> dict[str, float]:
    """Microseconds of the steps of ``x + 1``, each many times, the least of several turns."""
    from speedcube.engine.rungs import resolve
    from speedcube.engine.small.again import few_structure
    from speedcube.engine.small.known import _met, targets

    on_gpu = on == "gpu"
    wait, data, place = _nothing, LINE, {"on": on}
    if on_gpu:
        import cupy

        device = cupy.cuda.Device()
        wait, data, place = (
            lambda _: device.synchronize(),
            cupy.asarray(LINE),
            {"on": on, "to": "cupy"},
        )
    x = sc.asarray(data)
    y = x + 1
    for _ in range(16):
        y.compute(**place)
    few = few_structure(y._expr)
    assert few is not None
    ready, few.line = _met.get((0 if on_gpu else targets()[0], few.key)) or (None, False)
    assert ready is not None
    call = (ready.launches if on_gpu else ready.idle)[-1]
    each: dict[str, Callable[[], Any]] = {
        "x + 1 is built": lambda: x + 1,
        "the words that tell what it is": lambda: few_structure(y._expr),
        "the rung": lambda: resolve(on, None, 1000, False, "float64"),
    }
    if on_gpu:
        import cupy

        stream = int(cupy.cuda.get_current_stream().ptr)
        each |= {
            "CuPy: an array": lambda: cupy.empty((1000,), "float64"),
            "CuPy: the current device": cupy.cuda.runtime.getDevice,
            "CuPy: the current stream": lambda: int(cupy.cuda.get_current_stream().ptr),
            "CuPy: an address": lambda: data.data.ptr,
            "the arguments": lambda: call._take(few),
            "the launch": lambda: call.packed.launch(call.blocks, stream),
            "CuPy: x + 1, not waited for": lambda: data + 1,
        }
    else:
        out = np.empty(1000)
        each |= {
            "NumPy: an array": lambda: np.empty((1000,), "float64"),
            "the arguments": lambda: call.take(few),
            "the call": lambda: call.call(out.ctypes.data),
            "NumPy: x + 1": lambda: data + 1,
        }
    each |= {
        "computed": lambda: y.compute(**place),
        "built and computed": lambda: (x + 1).compute(**place),
    }
    return {name: _least(step, wait) for name, step in each.items()}


def _least(step: Callable[[], Any], wait: Callable[[Any], Any], turns: int = 20) -> float:
    times = []
    for _ in range(turns):
        wait(None)
        start = time.perf_counter_ns()
        for _ in range(100):
            step()
        times.append((time.perf_counter_ns() - start) / 1e5)
    return min(times)
