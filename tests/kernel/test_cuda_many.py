"""Sums that a GPU's kernels finish have the CPU's bits, however their elements are dealt out.

The kernels are built for the host (`cuda_host.py`). The CPU's results are compared with exact
fractions in `test_many_results.py`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cuda_host import COMPILER, ONE, DeviceArray, HostKernels, fake_cupy, source, texts
from oracle import assert_same_bits

import speedcube as sc
from speedcube.engine import compute as engine
from speedcube.engine import gpu
from speedcube.engine.boxes import Stop
from speedcube.engine.compute import plan_for
from speedcube.engine.finished import gpu as finished
from speedcube.engine.known import memory
from speedcube.engine.prepare import prepare, prepare_many
from speedcube.engine.tasks import Destination, Worker, run_joined
from speedcube.expr import nodes
from speedcube.kernel.cuda.many.teams import Extents, Team, team_of

OPS = ("sum", "mean", "var", "std")
FLOATS = ("float64", "float32", "float16")

# Columns of these, beside ordinary ones; none may be given wrongly, some are left to records.
HARD: dict[str, list[float]] = {
    "ties": [1.0, 2.0**-53, 3.0, 2.0**-52, -1.0, 2.0**53, 1.0, 2.0**-106],
    "powers of two": [1.0, -(2.0**-54), 2.0**-60, -(2.0**-60), 2.0**-108, 0.5],
    "zeros": [0.0, -0.0],
    "infinities": [1.0, np.inf, 0.0, -0.0, 2.0],
    "both infinities": [np.inf, 1.0, -np.inf, 0.0],
    "NaN": [1.0, np.nan, np.inf, -1e300],
    "subnormals": [5e-324, -5e-324, 1e-310, 2e-308, 3e-323],
    "huge": [1.7e308, 1.7e308, -1.7e308, -1.7e308, 1e292],
    "huge range": [1e300, 1e-300, -1e300, 1.0, 5e-324, 1e150],
    "squares out of range": [1e200, 1e-200, 1e-170, 3e-162, 1e155],
    "squares too small": [1.0, 1e-200, -1e-170, 0.0, 2.0**-537],
    "cancelling": [1e16, 1.0, -1e16, 1e-5, 3.0, -3.0],
    "constant": [0.1],
    "large mean": [1e9 + 0.1, 1e9 + 0.2, 1e9 - 0.3],
}


def normals(*shape: int, dtype: str = "float64") -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


def hard(count: int) -> np.ndarray:
    rng = np.random.default_rng(count)
    columns = [rng.choice(values, count) for values in HARD.values() for _ in range(3)]
    return np.stack([*columns, *normals(5, count)], axis=1)


def wide(*shape: int, decades: int = 40) -> np.ndarray:
    """Numbers of very different sizes: of few, what is rounded away first is often a tie."""
    return normals(*shape) * 10.0 ** np.random.default_rng(7).uniform(
        -decades / 2, decades / 2, shape
    )


def single(x: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        return x.astype("float32")


def whole(dtype: str, *shape: int) -> np.ndarray:
    """Whole numbers of the whole range of ``dtype``, some of them twice; floats of all kinds."""
    words = np.random.default_rng(sum(shape)).integers(0, 2**64, shape, "uint64")
    words[::3] = words[:1]
    if dtype == "bool":
        return words % 2 == 0
    size = np.dtype(dtype).itemsize
    return (words >> np.uint64(64 - 8 * size)).astype(f"uint{8 * size}").view(dtype)


def both(x: np.ndarray, op: str, **options: Any) -> list[sc.Array]:
    """``op`` down the columns of ``x``, and along the rows of its transpose."""
    rows = np.ascontiguousarray(x.T)
    return [
        getattr(sc.asarray(x), op)(axis=0, **options),
        getattr(sc.asarray(rows), op)(axis=1, **options),
    ]


def _second(shape: tuple[int, ...], dtype: str) -> sc.Array:
    return sc.asarray(normals(*shape, 1, dtype=dtype)[..., 0])


def _rng() -> sc.random.Generator:
    return sc.random.default_rng(3)


CASES: dict[str, Callable[[], list[sc.Array]]] = {
    **{
        f"{op} of {dtype}": lambda op=op, dtype=dtype: [
            y for n in (1, 2, 3, 8, 67) for y in both(normals(n, 37, dtype=dtype), op)
        ]
        for op, dtype in product(OPS, FLOATS)
    },
    **{
        f"{op} of hard columns": lambda op=op: [y for n in (2, 5, 70) for y in both(hard(n), op)]
        for op in OPS
    },
    "hard float32": lambda: both(single(hard(20)), "std"),
    **{
        f"{op} of {dtype}": lambda op=op, dtype=dtype: [
            y for n in (1, 8, 67) for y in both(whole(dtype, n, 37), op)
        ]
        for op, dtype in product(
            ("min", "max", "argmin", "argmax"), ("float64", "float16", "int64", "uint64", "uint8")
        )
    },
    **{
        f"{op} of hard columns": lambda op=op: both(hard(70), op)
        for op in ("min", "max", "argmin", "argmax")
    },
    "places of zeros": lambda: [
        y
        for dtype in FLOATS
        for op in ("argmin", "argmax")
        for y in both(np.array([[-0.0, 0.0] * 20, [0.0, -0.0] * 20] * 9, dtype), op)
    ],
    "float32 folds": lambda: [y for op in ("max", "argmin") for y in both(single(hard(70)), op)],
    "folds without NaN": lambda: [
        fold(sc.asarray(x), axis=axis)
        for fold in (sc.nanmin, sc.nanmax)
        for x in (hard(70), single(hard(70)), np.full((3, 40), -np.nan))
        for axis in (0, 1)
    ],
    "sums of integers": lambda: [
        y
        for dtype in ("int64", "uint64", "int8", "bool")
        for y in both(whole(dtype, 67, 37), "sum")
    ],
    "any, all": lambda: [
        (sc.asarray(normals(60, 80)) > 2).any(axis=0),
        (sc.asarray(normals(60, 80)) > -2).all(axis=1),
    ],
    "folds of views": lambda: [
        sc.asarray(normals(700, 3)).max(axis=1),
        sc.asarray(normals(60, 80))[::-1, ::3].argmax(axis=1),
        sc.asarray(normals(40, 9, 11, 5)).min(axis=(0, 2)),
        sc.asarray(normals(12, 10, 20)).argmin(axis=1),
        sc.asarray(whole("int64", 2, 20_000)).sum(axis=1),
        sc.asarray(whole("int64", 20_000, 2)).argmax(axis=0),
        _rng().normal(size=(9, 5000)).max(axis=1),
    ],
    "ddof": lambda: both(normals(19, 40), "var", ddof=1),
    "integers": lambda: [
        y
        for dtype in ("int8", "uint8", "int32", "uint32")
        for y in both((normals(60, 33) * 100).astype(dtype), "mean")
    ],
    "long lines": lambda: [*both(normals(9000, 5), "sum"), *both(normals(9000, 5), "std")],
    "tall": lambda: [
        sc.asarray(normals(20_000, 2)).sum(axis=0),
        sc.asarray(normals(20_000, 3)).mean(axis=0),
        sc.asarray(normals(2, 20_000)).sum(axis=1),
        sc.asarray(normals(5000, 3)).var(axis=1),
    ],
    "short rows": lambda: [
        getattr(sc.asarray(normals(700, n, dtype=dtype)), op)(axis=1)
        for n in (3, 8)
        for dtype in ("float64", "float32")
        for op in ("sum", "std")
    ],
    "hard short rows": lambda: [
        getattr(sc.asarray(hard(8)[:3].T.repeat(9, axis=0)), op)(axis=1) for op in OPS
    ],
    "wide rows of three": lambda: [sc.asarray(wide(5000, 3)).sum(axis=1)],
    "rows of few bytes": lambda: [
        getattr(sc.asarray(normals(3, n).astype(dtype)), op)(axis=1)
        for n in (4000, 4099)
        for dtype, op in (("float32", "mean"), ("float16", "sum"), ("float32", "max"))
    ],
    "short wide rows": lambda: [
        sc.asarray(wide(5000, 7)).sum(axis=1),
        *(sc.asarray(wide(5000, n)).mean(axis=1) for n in (3, 4)),
    ],
    "wide float32": lambda: [
        y
        for op in ("sum", "mean")
        for decades in (6, 30)
        for y in both(single(wide(200, 300, decades=decades)), op)
    ],
    "hard sums of float32": lambda: [
        *both(single(hard(70)), "sum"),
        *both(single(hard(9)), "mean"),
    ],
    "shares of bools": lambda: [
        *both(normals(67, 37) > 0.5, "mean"),
        (sc.asarray(normals(60, 80)) > 0).std(axis=1),
        (sc.asarray(normals(60, 80)) > 0).mean(),
    ],
    "images": lambda: [
        sc.asarray((normals(50, 70, 3) * 50).astype("uint8")).mean(axis=(0, 1)),
        sc.asarray(normals(40, 9, 11, 5)).sum(axis=(0, 2)),
        sc.asarray(normals(12, 10, 20)).mean(axis=1),
    ],
    **{
        f"dots of {dtype}": lambda dtype=dtype: [
            sc.vecdot(sc.asarray(normals(*shape, dtype=dtype)), _second(shape, dtype), axis=axis)
            for shape in ((1, 37), (2, 37), (3, 300), (67, 37), (5, 9000))
            for axis in (0, 1)
        ]
        for dtype in FLOATS
    },
    "hard dots": lambda: [
        sc.vecdot(sc.asarray(hard(n)), sc.asarray(hard(n)[::-1].copy()), axis=0) for n in (2, 5, 70)
    ],
    "hard dots of rows": lambda: [
        sc.vecdot(sc.asarray(hard(n).T.copy()), sc.asarray(hard(n)[::-1].T.copy())) for n in (3, 70)
    ],
    "dots of wide numbers": lambda: [
        sc.vecdot(sc.asarray(wide(500, n)), sc.asarray(wide(500, n)[::-1].copy())) for n in (3, 40)
    ],
    "norms": lambda: [
        sc.linalg.norm(sc.asarray(normals(700, 3)), axis=1),
        sc.linalg.norm(sc.asarray(normals(3, 700, dtype="float32")), axis=0),
    ],
    "one dot": lambda: [sc.vecdot(sc.asarray(normals(20_000)), sc.asarray(normals(20_001)[1:]))],
    "means of wide integers": lambda: [
        y
        for dtype in ("int64", "uint64")
        for n in (1, 3, 8, 67)
        for y in both(whole(dtype, n, 37), "mean")
    ],
    "alone": lambda: [
        sc.asarray(normals(20_000)).sum(),
        sc.asarray(normals(60, 80))[::-1, ::3].mean(),
        (sc.asarray(normals(90, 90)) + sc.asarray(normals(90, 90)).T).sum(),
        sc.asarray(normals(300, dtype="float32")).std(),
    ],
    "both ways": lambda: [
        (sc.asarray(normals(90, 90)) * sc.asarray(normals(90, 90)).T).sum(axis=0),
        (sc.asarray(normals(90, 90)) * sc.asarray(normals(90, 90)).T).mean(axis=1),
    ],
    "views": lambda: [
        sc.asarray(normals(60, 80)).T.sum(axis=0),
        sc.asarray(normals(60, 80))[::-1, ::3].sum(axis=1),
        sc.asarray(normals(60, 80))[::2, 1::-1].sum(axis=0),
        (sc.asarray(normals(60, 80)) * sc.asarray(normals(80))).sum(axis=1),
        (sc.asarray(normals(60, 1)) - sc.asarray(normals(80))).sum(axis=0),
        (sc.asarray(normals(60, 80)) > 0).astype("float64").sum(axis=1),
    ],
    "generated": lambda: [
        _rng().normal(size=(9, 5000)).mean(axis=1),
        _rng().normal(size=(500, 90), dtype="float32").std(axis=0),
        (sc.asarray(normals(30, 50)) * _rng().uniform(size=(30, 50))).sum(axis=0),
        sc.exp(_rng().normal(size=(30, 50))).sum(axis=1),
        (sc.arange(6000).reshape((60, 100)) * 0.1).sum(axis=0),
    ],
}


@pytest.fixture(scope="module")
def arrays() -> dict[str, list[sc.Array]]:
    return {name: make() for name, make in CASES.items()}


@pytest.fixture(scope="module")
def library(
    arrays: dict[str, list[sc.Array]], tmp_path_factory: pytest.TempPathFactory
) -> HostKernels:
    if COMPILER is None:
        pytest.skip("neither g++ nor clang++ is on PATH")
    sources = [t for some in arrays.values() for array in some for t in texts(array, ONE)]
    return HostKernels(list(dict.fromkeys(sources)), tmp_path_factory.mktemp("many"))


class Counted:
    """How many results kernels gave, and how many they left to records."""

    def __init__(self) -> None:
        self.calls = self.failed = 0
        self.find = finished.Launches.failed

    def __call__(self, launches: finished.Launches) -> Any:
        failed = self.find(launches)
        self.calls += 1
        self.failed += len(launches.places) + 1 if failed is None else len(failed)
        return failed


@pytest.fixture
def host(library: HostKernels, monkeypatch: pytest.MonkeyPatch) -> Counted:
    """The GPU engine, its kernels and its memory being the host's."""
    counter = Counted()
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy())
    monkeypatch.setattr(gpu, "gpu_kernel", library.kernel)
    monkeypatch.setattr(engine, "SMALL", -1)  # by plans, and by those that nobody has run
    memory._known.clear()
    monkeypatch.setattr(finished.Launches, "failed", lambda launches: counter(launches))
    return counter


def check(some: list[sc.Array]) -> None:
    for array in some:
        assert_same_bits(array.compute(on=ONE), array.compute(on="core"), array.plan(on="core"))


@pytest.mark.parametrize("name", CASES)
def test_the_cpus_bits(name: str, arrays: dict[str, list[sc.Array]], host: Counted) -> None:
    check(arrays[name])
    assert host.calls == len(arrays[name])
    if "hard" not in name:  # a record costs thousands of elements
        few = name.startswith(("var", "std", "short"))  # of two or three numbers ties are usual
        assert host.failed <= (3 * 37 if few else 0)


@pytest.mark.parametrize(
    ("dtype", "shape", "ahead"),
    [
        ("float64", (40, 5000), (8,)),
        ("float32", (40, 5000), (16, 8)),
        ("float16", (40, 5000), (16, 8)),  # whose widening takes instructions
        ("float32", (5000, 3), (8,)),  # a thread takes a row: there is no more of it
    ],
)
def test_rows_of_few_bytes_are_read_further_ahead(
    dtype: str, shape: tuple[int, ...], ahead: tuple[int, ...]
) -> None:
    """64 bytes of a thread are under way where instructions are few; fewer elements at the end."""
    text = texts(sc.asarray(np.zeros(shape, dtype)).sum(axis=1), ONE)[-1]
    found = re.findall(r"for \(int batch = (\d+) \* side; m \+ batch <= count", text)
    assert found == [str(n) for n in ahead]
    for n in ahead:
        wide = 16 // np.dtype(dtype).itemsize
        assert f"ahead0[{n // wide}];" in text


_SLOW = [
    pytest.param(*team, marks=pytest.mark.slow) for team in ((1, 1), (32, 1), (2, 64), (1, 256))
]


@pytest.mark.parametrize(("side", "deep"), [(4, 1), (8, 4), (64, 4), *_SLOW])
def test_how_elements_are_dealt_out_decides_nothing(
    arrays: dict[str, list[sc.Array]],
    host: Counted,
    monkeypatch: pytest.MonkeyPatch,
    side: int,
    deep: int,
) -> None:
    """Any team, and parts that do not go up evenly."""

    def team(loops: Extents, resident: int) -> Team:
        if loops.tiles or loops.short:
            return team_of(loops, resident)
        groups = 256 // (side * deep)
        across = 1 if loops.rows else -(-loops.steps // side)
        blocks = -(-loops.kept // groups) * across
        rows = -(-loops.reduced // 3)
        steps = -(-loops.steps // 2) if loops.rows else 1
        parts = -(-loops.reduced // rows) * (-(-loops.steps // steps) if loops.rows else 1)
        slots = groups if loops.rows else groups * side
        return Team(side, deep, parts, rows, steps, blocks, slots)

    monkeypatch.setattr(finished, "team_of", team)
    for name in ("sum of float64", "std of float64", "images", "views", "mean of hard columns"):
        check(arrays[name][-1:])


def test_where_launches_end_decides_nothing(
    library: HostKernels, host: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu, "LAUNCH", 4000)
    for name in ("tall", "images", "generated"):
        library.launches = 0
        some = CASES[name]()  # not those whose launches are known
        check(some)
        assert library.launches > 2 * len(some)


def test_where_too_many_fail_all_are_made_by_records(
    arrays: dict[str, list[sc.Array]], host: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finished, "ROOM", 1)
    monkeypatch.setattr(finished, "_SHARE", 1 << 40)
    check(arrays["sum of hard columns"])
    assert host.failed == 2 * host.calls  # room for one, and one more


def test_results_stay_where_they_are_wanted(
    arrays: dict[str, list[sc.Array]], host: Counted
) -> None:
    """What kernels finish and what is left to records are put into the memory that is given."""
    array = arrays["sum of hard columns"][-1]
    stage = plan_for(array._expr, ONE, None, False)[0].stages[-1]
    out = Destination(stage.shape, stage.dtype, 0)
    memory = out._array = sys.modules["cupy"].zeros(stage.shape, stage.dtype)
    worker = Worker(Stop(), 0)
    assert run_joined(worker, stage, stage.parts[0], out, stage.needs) is memory
    assert host.failed
    assert_same_bits(memory.get(), array.compute(on="core"))


@pytest.mark.parametrize("resident", [1, 100, 660, 5000])
def test_teams_cover_everything(resident: int) -> None:
    """Every element of every result is one thread's, and blocks are enough where they can be."""
    sizes = (1, 2, 3, 7, 50, 1000, 20_000, 10**7)
    for rows, mixed, kept, reduced, steps in product(*(2 * [(False, True)]), *(3 * [sizes])):
        if kept * reduced * steps > 10**12:
            continue
        team = team_of(Extents(rows, False, mixed, 1, kept, reduced, steps), resident)
        assert 256 % (team.side * team.deep) == 0
        across = -(-reduced // team.part_rows)
        if rows:
            assert team.parts == across * -(-steps // team.part_steps)
        else:
            assert team.parts == across
        assert team.blocks * team.slots >= kept * (1 if rows else steps)
        assert team.partial_words(1) * 8 <= max(2 * 8 * kept * reduced * steps, 1 << 22)


def test_launches_that_wait_keep_no_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Those of a program that is known: who runs it next brings data of their own."""
    if COMPILER is None:
        pytest.skip("neither g++ nor clang++ is on PATH")
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy())
    data = np.random.default_rng(3).normal(size=6300)
    array = sc.Array(nodes.whole(nodes.Stored(data.view(DeviceArray), "float64"), (90, 70))).sum(
        axis=1
    )
    stage = plan_for(array._expr, ONE, None, False)[0].stages[-1]
    part = stage.parts[0]
    prepared, records = prepare_many(stage, part, gpu=True), prepare(stage, part, None)
    assert prepared is not None
    programs = [source(prepared.program), source(records.program)]
    monkeypatch.setattr(gpu, "gpu_kernel", HostKernels(programs, tmp_path).kernel)
    assert stage.source is not None
    for _ in range(2):  # made, then used again
        found = finished.FinishedPart(prepared, {}, 0).run(stage.source, records, Stop())
        wanted = sc.asarray(data.reshape(90, 70)).sum(axis=1).compute(on="core")
        assert_same_bits(np.asarray(found), wanted)
        (waiting,) = prepared.frames["finished", 0]
        assert not waiting.launcher.owners
