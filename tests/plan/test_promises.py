"""Forty programs grow by no more than their plans promise, each measured by itself.

They are large beside what a plan adds for code and scratch, so that a wrong count shows. All run in
one process, whose peak the kernel is told to forget between them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from speedcube.numbers import bytes_text

pytestmark = pytest.mark.skipif(
    not os.access("/proc/self/clear_refs", os.W_OK), reason="peaks are forgotten on Linux only"
)

# Names, and what makes the array, or a list of arrays that are computed together.
PROGRAMS = {
    # products with many results
    "prod in the middle": "rng.random((600, 40, 4000)).prod(axis=1)",
    "prod of the first two": "rng.random((3, 5, 4 * M)).prod(axis=(0, 1))",
    "prod of the ends": "rng.random((40, 3000, 40)).prod(axis=(0, 2))",
    "prod of float32 columns": "rng.random((3, 14 * M), dtype='float32').prod(axis=0)",
    "prod of int8 rows": "rng.integers(0, 3, size=(12 * M, 4), dtype='int8').prod(axis=1)",
    "prod of stored rows": "sc.asarray(np.ones((10 * M, 3))).prod(axis=1)",
    "prod of stored columns": "sc.asarray(np.ones((3, 10 * M))).prod(axis=0)",
    "prod of stored float16": "sc.asarray(np.ones((6 * M, 4), 'float16')).prod(axis=1)",
    "prod of stored uint8": "sc.asarray(np.ones((3, 12 * M), 'uint8')).prod(axis=0)",
    "prod, turned": "sc.asarray(np.ones((3, 5 * M))).T.prod(axis=1)",
    "prod of long lines": "rng.random((4, 4 * M)).prod(axis=1)",
    "prod, then a sum": "(rng.random((8 * M, 3)).prod(axis=1) * 2).sum()",
    "prod, plus one": "rng.random((3, 8 * M)).prod(axis=0) + 1",
    "prod of prods": "rng.random((4 * M, 3, 2)).prod(axis=2).prod(axis=1)",
    "two prods": "rng.random((8 * M, 3)).prod(axis=1) - rng.random((8 * M, 2)).prod(axis=1)",
    "prod, centred": "(lambda p: p - p.mean())(rng.random((8 * M, 3)).prod(axis=1))",
    # scans
    "cumprod of rows": "rng.random((6 * M, 3)).cumprod(axis=1)",
    "cumsum of a line": "rng.random(20 * M).cumsum()",
    "cumsum of integers": "rng.integers(0, 9, size=(4000, 4000)).cumsum(axis=1)",
    "cumsum in the middle": "sc.asarray(np.ones((60, 100, 2000))).cumsum(axis=1)",
    "max of a cumsum": "rng.random((6000, 2000)).cumsum(axis=1).max(axis=1)",
    # reductions with many results
    "std of columns": "rng.random((20, 3 * M)).std(axis=0)",
    "mean of float16 columns": "sc.asarray(np.ones((20, 4 * M), 'float16')).mean(axis=0)",
    "mean of float16 rows": "sc.asarray(np.ones((3 * M, 20), 'float16')).mean(axis=1)",
    "argmax of rows": "rng.random((16 * M, 3)).argmax(axis=1)",
    "any of rows": "(rng.random((16 * M, 3)) > 0.5).any(axis=1)",
    "sums of integers": "rng.integers(0, 9, size=(3, 12 * M)).sum(axis=0)",
    "dots": "sc.vecdot(rng.random((3 * M, 5)), rng.random((3 * M, 5)))",
    "masked means": "(lambda x, m: sc.where(m, x, 0).sum(axis=0) / m.sum(axis=0))"
    "(*(lambda x: (x, x > 0.5))(rng.random((10, 2 * M))))",
    # programs of several stages
    "standardise": "(lambda x: (x - x.mean(0)) / x.std(0))(sc.asarray(np.ones((8000, 2000))))",
    "row norms": "(lambda x: x / sc.sqrt((x * x).sum(axis=1, keepdims=True)))"
    "(sc.asarray(np.ones((8000, 2000))))",
    "x and its transpose": "(lambda x: x + x.T)(rng.random((4000, 4000)))",
    "read in three ways": "(lambda y: y[1:-1] + y[2:] * y[:-2])"
    "(sc.exp(sc.asarray(np.ones((6000, 2000)))))",
    "a copy in another order": "sc.exp(sc.asarray(np.ones((6000, 2000)))).T.reshape(-1) + 1",
    "a blur": "(lambda x: sum(sc.roll(x, k, 0) for k in range(-2, 3)) / 5)"
    "(sc.asarray(np.ones((3000, 3000))))",
    "concatenate": "sc.concatenate([rng.random(8 * M), sc.arange(8 * M) * 1.0])",
    "take of what was computed": "sc.take(sc.exp(sc.asarray(np.ones(8 * M))), "
    "sc.arange(12 * M) * 7 % (8 * M), 0)",
    "rows in another order": "rng.permutation(rng.random((4 * M, 2)))",
    "multinomial": "rng.multinomial(9, [0.2, 0.3, 0.5], 2 * M)",
    # several results
    "five results": "(lambda x: [x.prod(axis=1), x.sum(axis=1), x.max(), x * 2, x.cumsum(axis=0)])"
    "(sc.asarray(np.ones((3 * M, 3))))",
    "a map and its sums": "(lambda y: [y, y.sum(), y.std(axis=0)])"
    "(sc.exp(sc.asarray(np.ones((6000, 2000)))))",
}

_MEASURE = """
import ctypes, gc, json, re, sys
import numpy as np
import speedcube as sc

M = 10**6
rng = sc.random.default_rng(0)

def now(key):
    found = re.search(key + r":\\s+(\\d+) kB", open("/proc/self/status").read())
    return int(found[1]) * 1024

def measured(text):
    made = eval(text)
    first, *others = made if isinstance(made, list) else [made]
    if "again" in sys.argv:
        sc.compute(first, *others, on=rung)
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    plan = first.plan(on=rung, together=others)
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    before = now("VmRSS")
    sc.compute(first, *others, on=rung)
    return now("VmHWM") - before, plan.peak_bytes * plan.workers

rung = sys.argv[1]
(rng.normal(size=2000).sum() + 0).compute(on=rung)
(rng.random((40, 3)).prod(axis=1) + 1).compute(on=rung)
for name, text in json.loads(sys.stdin.read()).items():
    print(*measured(text), name, flush=True)
"""


# Routines of libraries, called at once where arrays lie in memory, and planned.
ROUTINES = {
    "a product": "sc.asarray(np.ones((3000, 2000))) @ sc.asarray(np.ones((2000, 3000)))",
    "a product of what is drawn": "(lambda a: a @ a.T)(rng.random((2000, 3000)))",
    "of integers": "(lambda a: a @ a)(sc.asarray(np.full((1500, 1500), 2**40)))",
    "of bytes": "(lambda a: a @ a)(sc.asarray(np.full((2000, 2000), 7, 'int8')))",
    "of bool": "(lambda a: a @ a)(rng.random((2000, 2000)) > 0.5)",
    "of float16": "(lambda a: a @ a)(sc.asarray(np.ones((2000, 2000), 'float16')))",
    "thin": "rng.random((3 * M, 3)) @ rng.random((3, 3))",
    "einsum": "sc.einsum('ijb,kjb->bik', rng.random((90, 80, 300)), rng.random((90, 80, 300)))",
    "svd of tall": "[*sc.linalg.svd(rng.random((3 * M // 10, 20)), full_matrices=False)]",
    "singular values": "sc.linalg.svd(rng.random((1000, 900))).S + 1",
    "svd": "[*sc.linalg.svd(rng.random((700, 800)))]",
    "qr": "[*sc.linalg.qr(rng.random((1500, 1000)))]",
    "qr of tall": "[*sc.linalg.qr(sc.asarray(np.ones((M, 8))) + rng.random((M, 8)))]",
    "eigh": "[*sc.linalg.eigh(rng.random((900, 900)))]",
    "inverses": "sc.linalg.inv(rng.random((M // 2, 3, 3)) + sc.eye(3))",
    "solve": "sc.linalg.solve(rng.random((1500, 1500)) + sc.eye(1500), rng.random((1500, 900)))",
    "cholesky": "sc.linalg.cholesky(sc.eye(2500) * 2)",
    "a sum": "(lambda a: (a @ a.T).sum())(rng.random((4000, 3000)))",
}

# Their second computation keeps what is drawn.
KEPT = {
    "sum": "rng.normal(size=12 * M).sum()",
    "columns": "(lambda u, v: (u**2 + v**2).mean(axis=0))"
    "(rng.normal(size=(20, M // 4)), rng.random((20, M // 4)))",
    "itself": "rng.normal(size=8 * M)",
    "gammas": "rng.gamma(2.5, size=6 * M).std()",
    "permutation": "rng.permutation(6 * M)[::-1].cumsum()",
    "too much": "rng.normal(size=140 * M).max()",
}


@pytest.mark.slow
@pytest.mark.parametrize("rung", ["core", "cores:2"])
def test_forty_programs_stay_below_their_promise(rung: str) -> None:
    rows = _rows(PROGRAMS, rung)
    assert len(rows) >= 40
    seen = sum(grown > 1 << 25 for grown, *_ in rows)
    assert seen > 30, "a peak that is not seen proves nothing"


@pytest.mark.slow
@pytest.mark.parametrize("rung", ["core", "cores:2"])
def test_routines_stay_below_their_promise(rung: str) -> None:
    rows = _rows(ROUTINES, rung)
    assert sum(grown > 1 << 24 for grown, *_ in rows) > 12, "a peak that is not seen proves nothing"


@pytest.mark.slow
@pytest.mark.parametrize("rung", ["core", "cores:2"])
def test_what_keeps_drawn_numbers_promises_them(rung: str) -> None:
    rows = _rows(KEPT, rung, "again")
    assert sum(grown > 1 << 25 for grown, *_ in rows) == len(KEPT) - 1


def _rows(programs: dict[str, str], rung: str, *more: str) -> list[tuple[int, int, str]]:
    """Bytes by which each program grew, those that were promised, and its name."""
    done = subprocess.run(
        [sys.executable, "-c", _MEASURE, rung, *more],
        # Freed blocks go back to the system at once: what was left would hide what comes next.
        env={**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"},
        input=json.dumps(programs),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = [line.split(maxsplit=2) for line in done.stdout.splitlines()]
    rows = [(int(grown), int(promised), name) for grown, promised, name in lines]
    assert [name for *_, name in rows] == list(programs)
    above = [
        f"{name}: promised {bytes_text(promised)}, grew by {bytes_text(grown)}"
        for grown, promised, name in rows
        if grown > promised
    ]
    assert not above
    return rows
