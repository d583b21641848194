"""Groups of rows of files, block after block: the bits of memory, and the memory of the results."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import speedcube as sc
from speedcube.engine.streams.made import grouped
from speedcube.engine.streams.made.summed import most_at_once
from speedcube.plan import streams

_RNG: Final = np.random.default_rng(0)
NORMAL: Any = _RNG.normal(size=(61, 5, 37))
SPECIAL: Any = NORMAL.copy()
SPECIAL[_RNG.random(SPECIAL.shape) < 0.1] = np.nan
SPECIAL[3] = np.nan
SPECIAL[:, 1], SPECIAL[4, 1] = np.inf, -np.inf
SPECIAL[5:9, 2] = 1e308
SPECIAL[:, 3, :9], SPECIAL[::2, 3, :9], SPECIAL[:, 3, 9:] = 0.0, -0.0, 0.1
KEYS: Any = _RNG.integers(-1, 8, 61)
DATA: Final[dict[str, Any]] = {
    "normal": NORMAL,
    "special": SPECIAL,
    "special float32": np.where(SPECIAL > 1e300, 3e38, SPECIAL).astype("f4"),
    "wide float32": (NORMAL * 10 ** _RNG.uniform(-30, 8, NORMAL.shape)).astype("f4"),
    "even float32": (np.rint(NORMAL * 64) / 64).astype("f4"),
    "int16": (NORMAL * 9).astype("i2"),
    "int64": _RNG.integers(-(2**60), 2**60, NORMAL.shape),
    "uint8": (NORMAL * 9).astype("u1"),
    "bools": NORMAL > 0,
}
FUNCS: Final = (
    *("sum", "mean", "var", "std", "min", "max", "first", "last", "count", "any", "all"),
    *("nansum", "nanmean", "nanstd", "nanmin", "nanmax", "nanfirst", "nanlast"),
)
HELD: Final = {  # what lies in memory all the same: integers of 64 bits are no doubles
    *((name, func) for name in ("int64", "bools") for func in FUNCS[1:4]),
    *((name, f"nan{func}") for name in ("int64", "bools") for func in ("mean", "std")),
    *((name, "count") for name in ("int16", "int64", "uint8", "bools")),  # of keys alone
}


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouped, "LEAST", 0)
    monkeypatch.setattr(streams, "BLOCK", 1 << 14)
    monkeypatch.setattr(streams, "QUICK", 1 << 13)


def _reduced(x: Any, func: str, keys: Any = KEYS) -> Any:
    return sc.groupby_reduce(x, keys, func=func, axis=0, expected_groups=np.arange(10))[0]


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("on", ["core", "cores:3"])
def test_groups_of_files_have_the_bits_of_memory(tmp_path: Path, name: str, on: str) -> None:
    sc.asarray(DATA[name]).to_zarr(tmp_path / "x.zarr", chunks=(9, 5, 37), codecs=["zstd"])
    x = sc.open(tmp_path / "x.zarr")
    for func in FUNCS:
        want, got = _reduced(sc.asarray(DATA[name]), func), _reduced(x, func)
        assert ("of group_" in str(got.plan(on=on))) is ((name, func) not in HELD), func
        assert got.compute(on=on).tobytes() == want.compute(on=on).tobytes(), func


PROGRAMS: dict[str, Any] = {
    "of an expression": lambda x: _reduced((x * 2 - x.mean(axis=0))[:, 1:4], "mean"),
    "of what is above": lambda x: _reduced(x > 0.5, "sum"),
    "of some rows": lambda x: _reduced(x[10:40], "std", KEYS[10:40]),
    "of other axes": lambda x: sc.groupby_reduce(
        x, np.arange(37) % 4, func="mean", axis=2, expected_groups=np.arange(4)
    )[0],
    "in order": lambda x: _reduced(x, "mean", np.arange(61) // 7),
    "anomalies": lambda x: (x - _reduced(x, "mean").transpose(2, 0, 1)[np.clip(KEYS, 0, 9)]).std(
        axis=2
    ),
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_with_groups(tmp_path: Path, program: str) -> None:
    np.save(tmp_path / "x.npy", NORMAL)
    want = PROGRAMS[program](sc.asarray(NORMAL)).compute()
    y = PROGRAMS[program](sc.open(tmp_path / "x.npy"))
    assert y.compute().tobytes() == want.tobytes()
    sc.save(tmp_path / "y.npy", y)
    assert np.load(tmp_path / "y.npy").tobytes() == want.tobytes()


def test_the_promise_is_of_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    x = sc.zeros((40_000, 64, 64))  # 1.3 GB
    x.to_zarr(tmp_path / "x.zarr", chunks=(256, 64, 64), codecs=["zstd"])
    opened = sc.open(tmp_path / "x.zarr")
    for length in (40_000, 20_000):
        days = np.arange(length) % 365
        y = sc.groupby_reduce(opened[:length], days, func="mean", axis=0)[0]
        assert y.plan(on="cores:2").peak_bytes < 300e6
        above = sc.groupby_reduce(opened[:length] > 0.5, days, func="sum", axis=0)[0]
        assert above.plan(on="cores:2").peak_bytes < 300e6
        centred = opened[:length] - y.transpose(2, 0, 1)[days]
        assert centred.mean(axis=2).plan(on="cores:2").peak_bytes < 512e6


def test_sums_of_groups_that_are_done_are_gone() -> None:
    ends = [0, 4, 8, 12]
    assert most_at_once(np.repeat(np.arange(6), 2), ends, 6) == 2
    assert most_at_once(np.arange(12) % 3, ends, 4) == 3
    assert most_at_once(np.array([0] + [1] * 10 + [0]), ends, 2) == 2
    assert most_at_once(np.full(12, -1), ends, 2) == 0
