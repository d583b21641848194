"""Columns of Parquet files: what is read of them, how often, and what is no such column."""

from __future__ import annotations

import os
import pickle
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube import errors

pa = pytest.importorskip("pyarrow", reason='needs pip install "speedcube[parquet]"')
pq = pytest.importorskip("pyarrow.parquet")
ROWS = 5003
REAL: Any = np.random.default_rng(0).normal(size=ROWS)
WHOLE: Any = np.arange(ROWS) % 251


def written(path: Path, rows: int = 700, **columns: Any) -> Path:
    pq.write_table(pa.table(columns or {"a": REAL, "i": WHOLE}), path, row_group_size=rows)
    return path


def decoded(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts the values that are decoded of each column, from now on."""
    from speedcube.interop.readers import parquet

    counts, real = Counter[str](), parquet._numbers

    def counted(column: Any, batch: Any) -> Any:
        counts[column.column] += batch.num_rows
        return real(column, batch)

    monkeypatch.setattr(parquet, "_numbers", counted)
    return counts


@pytest.mark.parametrize(
    "kind", ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"]
)
def test_columns_of_every_dtype(tmp_path: Path, kind: str) -> None:
    data = (REAL * 50).astype("i8").astype(kind)
    x = sc.from_parquet(written(tmp_path / "x.parquet", v=data), "v")
    assert x.chunks == ((700,) * 7 + (103,),)
    for key in (..., np.s_[::-3], np.s_[5:4000:1777], np.s_[4999:], np.s_[3:3], 5, -1):
        got = np.asarray(x[key].compute())
        assert got.dtype == data.dtype
        assert np.array_equal(got, data[key])


def test_results_are_those_of_memory(tmp_path: Path) -> None:
    table = sc.from_parquet(written(tmp_path / "x.parquet"))
    assert list(table) == ["a", "i"]
    a, i, here = table["a"], table["i"], sc.asarray(REAL)
    for on in ("core", "cores:2"):
        got = [
            one.compute(on=on) for one in (a.mean(), a.std(), (a * i).sum(), (a[1:] - a[:-1]).max())
        ]
        want = [here.mean(), here.std(), (here * WHOLE).sum(), (here[1:] - here[:-1]).max()]
        assert [float(one) for one in got] == [float(one.compute()) for one in want]
    assert np.array_equal(sc.sort(a).compute(), np.sort(REAL))
    both = sc.stack([a, i.astype("f8")], axis=1)
    assert np.array_equal(both.sum(axis=0).compute(), [here.sum().compute(), WHOLE.sum()])


def test_the_plan_says_which_row_groups_are_read(tmp_path: Path) -> None:
    x = sc.open(written(tmp_path / "x.parquet"), "a")
    for array, line in (
        (x.sum(), "reads 40.02 kB of 40.02 kB of parquet x.parquet:a, 8 of 8 row groups"),
        (x[:10].mean(), "reads 5.6 kB of 40.02 kB of parquet x.parquet:a, 1 of 8 row groups"),
        (x[699:701] + 1, "2 of 8 row groups"),
        (x[::2000].max(), "reads 16.8 kB of 40.02 kB of parquet x.parquet:a, 3 of 8 row groups"),
        (x[-1], "reads 824 B of 40.02 kB of parquet x.parquet:a, 1 of 8 row groups"),
    ):
        assert line in repr(array.plan()), repr(array.plan())


def test_row_groups_are_decoded_once_a_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However the blocks lie, and where groups differ; one thread, so the count is exact."""
    from speedcube.interop.readers import parquet
    from speedcube.plan import streams

    monkeypatch.setattr(streams, "BLOCK", 1 << 12)
    monkeypatch.setattr(parquet, "_BATCH", 300)
    written(tmp_path / "p.0.parquet", 700)
    written(tmp_path / "p.1.parquet", 433)
    table = sc.from_parquet(tmp_path / "p.*.parquet", ["a", "i"])
    counts = decoded(monkeypatch)
    both = np.concatenate([REAL, REAL])
    assert table["a"].mean().compute(on="core") == sc.asarray(both).mean().compute(on="core")
    assert counts == {"a": 2 * ROWS}
    sc.compute(table["a"].sum(), table["a"].max(), table["a"].mean(), on="core")
    assert counts == {"a": 4 * ROWS}
    counts.clear()
    table["i"][:100].sum().compute(on="core")
    assert counts == {"i": 300}


def test_a_long_row_group_is_never_whole_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from speedcube.interop.readers import parquet

    monkeypatch.setattr(parquet, "_MOST", 1 << 20)
    data = np.arange(2_000_000.0)
    x = sc.open(written(tmp_path / "x.parquet", 2_000_000, v=data))
    assert x.chunks == ((2_000_000,),)
    assert x._expr.source.tiles.chunks == (131_072,)
    counts = decoded(monkeypatch)
    assert x.sum().compute(on="core") == data.sum()
    assert counts == {"v": 2_000_000}


def test_files_follow_one_another(tmp_path: Path) -> None:
    for k in range(11):
        written(tmp_path / f"part.{k}.parquet", v=REAL[:100] + k)
    (tmp_path / "_metadata.parquet").write_bytes(b"not read")
    want = np.concatenate([REAL[:100] + k for k in range(11)])
    files = [tmp_path / f"part.{k}.parquet" for k in range(11)]
    for place in (tmp_path, tmp_path / "part.*.parquet", files):
        assert np.array_equal(sc.open(place, "v").compute(), want)
        assert np.array_equal(sc.from_parquet(place)["v"][::-1].compute(), want[::-1])
    assert "parquet part.0.parquet and 10 more:v" in repr(sc.open(tmp_path).sum().plan())
    (tmp_path / "year=1" / "month=2").mkdir(parents=True)
    written(tmp_path / "year=1" / "month=2" / "x.parquet", v=REAL[:5])
    assert sc.open(tmp_path).shape == (1105,)


def test_rows_without_a_value(tmp_path: Path) -> None:
    path = written(
        tmp_path / "x.parquet", f=[1.5, None, 3.0], i=[1, None, 3], b=[True, None, False]
    )
    f = sc.open(path, "f").compute()
    assert np.array_equal(f, [1.5, np.nan, 3.0], equal_nan=True)
    assert float(sc.nansum(sc.open(path, "f"))) == 4.5
    for name in ("i", "b"):
        with pytest.raises(errors.DataFileError, match=rf"column '{name}' of .*without a value"):
            sc.open(path, name)
    filled = sc.from_parquet(path, fill={"i": -1, "b": True, "f": 0})
    assert [one.compute().tolist() for one in filled.values()] == [
        [1.5, 0.0, 3.0],
        [1, -1, 3],
        [True, True, False],
    ]
    assert filled["i"].dtype == "int64"
    for fill in ({"i": 1.5}, {"i": 2**70}, {"i": np.nan}, {"b": 2}, {"f": "x"}, {"i": True}):
        with pytest.raises(errors.ParameterError, match="fill="):
            sc.from_parquet(path, list(fill), fill=fill)
    with pytest.raises(errors.ParameterError, match=r"not read: \['q'\]"):
        sc.from_parquet(path, "f", fill={"q": 1})


def test_missing_values_that_no_statistics_tell(tmp_path: Path) -> None:
    table = pa.table({"i": [1, None, 3]})
    pq.write_table(table, tmp_path / "x.parquet", write_statistics=False)
    x = sc.open(tmp_path / "x.parquet")
    with pytest.raises(errors.DataFileError, match=r"column 'i' of parquet x\.parquet:i has rows"):
        x.sum().compute()


def test_words_for_numbers(tmp_path: Path) -> None:
    values = pa.array([5, 5, None, 7, 7]).dictionary_encode()
    path = written(tmp_path / "x.parquet", v=values)
    assert sc.from_parquet(path, "v", fill=0).compute().tolist() == [5, 5, 0, 7, 7]


def test_columns_that_are_none(tmp_path: Path) -> None:
    path = written(
        tmp_path / "x.parquet",
        a=[1.0],
        s=["x"],
        n=[{"q": 1}],
        li=[[1.0, 2.0]],
        t=pa.array([0], pa.timestamp("us")),
        d=pa.array([1], pa.decimal128(5, 2)),
        o=pa.array([b"\x80\x04N."]),
    )
    assert list(sc.from_parquet(path)) == ["a"]
    held = {
        "s": "string",
        "n": "struct",
        "li": "list",
        "t": "timestamp",
        "d": "decimal",
        "o": "binary",
    }
    for name, kind in held.items():
        with pytest.raises(
            errors.DTypeError, match=rf"column '{name}' of .* holds {kind}.*\['a'\]"
        ):
            sc.from_parquet(path, name)
    with pytest.raises(errors.DataFileError, match=r"has no column 'z'; it has \['a', 's', 'n'"):
        sc.from_parquet(path, ["a", "z"])
    with pytest.raises(errors.DataFileError, match=r"name one of its columns: \['a', 's'"):
        sc.open(path)
    with pytest.raises(errors.ParameterTypeError, match="a name or several"):
        sc.from_parquet(path, [3])
    twice = pa.Table.from_arrays([pa.array([1.0]), pa.array([2.0])], names=["a", "a"])
    pq.write_table(twice, tmp_path / "twice.parquet")
    with pytest.raises(errors.DTypeError, match="several columns of this name"):
        sc.from_parquet(tmp_path / "twice.parquet", "a")


def test_files_that_differ(tmp_path: Path) -> None:
    written(tmp_path / "0.parquet", a=[1.0])
    written(tmp_path / "1.parquet", a=[1])
    with pytest.raises(errors.DataFileError, match=r"1\.parquet has another dtype in 'a'"):
        sc.open(tmp_path, "a")
    written(tmp_path / "1.parquet", b=[1.0])
    with pytest.raises(errors.DataFileError, match=r"1\.parquet has no column 'a'"):
        sc.open(tmp_path, "a")


def test_what_is_no_parquet(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    with pytest.raises(FileNotFoundError, match=r"x\.parquet"):
        sc.open(path, "a")
    with pytest.raises(FileNotFoundError, match=r"none-\*"):
        sc.from_parquet(tmp_path / "none-*.parquet")
    with pytest.raises(errors.DataFileError, match="a folder without"):
        sc.from_parquet(tmp_path)
    os.mkfifo(path)
    with pytest.raises(OSError, match="not a regular file"):
        sc.open(path, "a")
    os.remove(path)
    good = written(path).read_bytes()
    for bad in (
        b"",
        b"PAR1",
        b"no parquet at all",
        good[:-9],
        good[:-5000],
    ):
        path.write_bytes(bad)
        with pytest.raises(errors.DataFileError, match=r"x\.parquet cannot be read as Parquet"):
            sc.open(path, "a")
    path.write_bytes(good[len(good) // 2 :])  # its end says what it has not
    with pytest.raises(errors.DataFileError, match=r"x\.parquet, row group 0 of column 'a'"):
        sc.open(path, "a").compute()
    with pytest.raises(errors.ParameterError, match=r"nowhere://host/x\.parquet") as caught:
        sc.open("nowhere://me:secret@host/x.parquet?token=hidden", "a")
    assert "secret" not in str(caught.value)
    assert "hidden" not in str(caught.value)


def test_a_row_group_that_does_not_decode_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    table = pa.table({"a": REAL})
    pq.write_table(table, path, row_group_size=1000, write_page_checksum=True, use_dictionary=False)
    place = pq.read_metadata(path).row_group(2).column(0).data_page_offset
    data = bytearray(path.read_bytes())
    data[place + 500] ^= 0x40
    path.write_bytes(data)
    x = sc.open(path)
    assert np.array_equal(x[:2000].compute(), REAL[:2000])
    with pytest.raises(
        errors.DataFileError, match=r"x\.parquet, row group 2 of column 'a', cannot"
    ):
        x.sum().compute()
    assert np.array_equal(x[3000:].compute(), REAL[3000:])


def test_files_that_change_after_they_were_opened(tmp_path: Path) -> None:
    path = written(tmp_path / "x.parquet")
    x = sc.open(path, "a")
    written(path, a=REAL[:-1])
    with pytest.raises(errors.DataFileError, match="has changed since it was opened"):
        x.sum().compute()
    os.truncate(path, 100)
    with pytest.raises(errors.DataFileError, match=r"x\.parquet cannot be read"):
        x.sum().compute()


def test_columns_travel_and_may_be_empty(tmp_path: Path) -> None:
    x = sc.open(written(tmp_path / "x.parquet"), "a")
    x.sum().compute()
    assert np.array_equal(pickle.loads(pickle.dumps(x)).compute(), REAL)
    nothing = sc.open(written(tmp_path / "none.parquet", v=np.empty(0)))
    assert nothing.shape == (0,)
    assert nothing.sum().compute() == 0.0


def test_mutated_files_raise_or_read(tmp_path: Path) -> None:
    """Of 150 files with a byte changed, each is refused in our words, or has as many numbers."""
    path = written(tmp_path / "x.parquet")
    good, draw = path.read_bytes(), np.random.default_rng(1)
    for _ in range(150):
        data = bytearray(good)
        at = (
            len(data) - 1 - int(draw.integers(600))
            if draw.random() < 0.5
            else draw.integers(len(data))
        )
        data[at] = draw.integers(256)
        path.write_bytes(data)
        with suppress(errors.DataFileError, errors.DTypeError, errors.MemoryLimitError):
            assert sc.open(path, "a").compute().ndim == 1
