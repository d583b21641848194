"""What report() takes, and the file of JSON lines: rows come back as they were written."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from speedcube.errors import DataFileError, TrainError
from speedcube.train.driver.journal import Journal
from speedcube.train.metrics import rows as metrics
from speedcube.train.metrics.rows import MetricsFile, read_rows

torch = pytest.importorskip("torch")

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(),
    st.text().filter(lambda text: text not in ("NaN", "Infinity", "-Infinity")),
)
METRICS = st.dictionaries(st.text(min_size=1), SCALARS)


@pytest.mark.parametrize(
    ("raw", "number"),
    [
        (torch.tensor(1.5, requires_grad=True), 1.5),
        (torch.tensor(2, dtype=torch.bfloat16), 2.0),
        (torch.tensor(3), 3),
        (torch.tensor(True), True),
        (np.float16(2.5), 2.5),
        (np.longdouble(3), 3.0),
        (np.array(4), 4),
        (np.bool_(True), True),
        (np.str_("warm"), "warm"),
        (np.uint64(2**64 - 1), 2**64 - 1),
        (Fraction(1, 4), 0.25),
    ],
)
def test_scalars_of_libraries_become_pythons(raw: Any, number: Any) -> None:
    value = metrics.scalars({"x": raw})["x"]
    assert value == number
    assert type(value) is type(number)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        (
            "loss",
            torch.zeros(3),
            "loss is a tensor of shape (3,): give one number, as loss.mean().item()",
        ),
        (
            "val/loss",
            np.zeros((1, 2)),
            "val/loss is a NumPy array of shape (1, 2): give one number, as loss.mean().item()",
        ),
        (
            "loss 1",
            np.zeros(1),
            "loss 1 is a NumPy array of shape (1,): give one number, as value.mean().item()",
        ),
        (
            "val",
            {"loss": 1.0},
            "val is a dict: give each value a name of its own, as 'val/loss'",
        ),
        (
            "val",
            [1, 2],
            "val is a list of 2 values: give one number, or each value under a name of its own, "
            "as 'val/0'",
        ),
        ("z", 1j, "z is a complex number: give its parts, as 'z/real' and 'z/imag'"),
        (
            "z",
            torch.tensor(1j),
            "z is a complex number: give its parts, as 'z/real' and 'z/imag'",
        ),
        (
            "n",
            2**64,
            "n is an integer beyond 64 bits: give it as a float or a string",
        ),
        ("o", object(), "o is an object: a metric is a number, a bool, a string or None"),
        (
            "m",
            torch.empty((), device="meta"),
            "m is a tensor whose value cannot be read "
            "(Tensor.item() cannot be called on meta tensors): give a number",
        ),
        ("", 1, "the name of a metric is a string, such as 'loss', not ''"),
        (3, 1, "the name of a metric is a string, such as 'loss', not 3"),
    ],
)
def test_what_is_no_scalar_is_refused_by_name(key: Any, value: Any, message: str) -> None:
    with pytest.raises(TrainError) as caught:
        metrics.scalars({"fine": 1, key: value})
    assert str(caught.value) == message


def test_metrics_are_a_dict() -> None:
    with pytest.raises(TrainError) as caught:
        metrics.scalars(0.5)  # type: ignore[arg-type]
    assert str(caught.value) == (
        'report() takes a dict of metrics, such as {"loss": 0.5}, not a float'
    )


def test_a_row_says_where_and_when() -> None:
    row = metrics.row({"loss": np.float32(0.5)}, step=12, rank=3, attempt=1, seconds=3.2)
    assert row.pop("time") > 1.7e9
    assert row == {"step": 12, "rank": 3, "attempt": 1, "seconds": 3.2, "metrics": {"loss": 0.5}}


def same(left: Any, right: Any) -> bool:
    """Equality that tells NaN from other values only, and 1 from True and 1.0."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if type(left) is not type(right):
        return False
    return bool(left == right) or (isinstance(left, float) and left != left and right != right)


@given(rows=st.lists(METRICS, max_size=5), split=st.integers(0, 5))
def test_rows_come_back_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]], split: int
) -> None:
    path = tmp_path_factory.mktemp("rows") / "metrics.jsonl"
    lines = [
        metrics.row(values, step=step, rank=0, attempt=0, seconds=0.5)
        for step, values in enumerate(rows, 1)
    ]
    for part in (lines[:split], lines[split:]):
        with MetricsFile(path) as file:
            for line in part:
                file.write(line)
    assert len(path.read_bytes().splitlines()) == len(lines)
    back = read_rows(path)
    assert len(back) == len(lines)
    assert all(map(same, back, lines))


def test_the_file_is_standard_json(tmp_path: Path) -> None:
    values = {"a": math.nan, "b": math.inf, "c": -math.inf, "d": 1.0, "e": None}
    with MetricsFile(tmp_path / "m") as file:
        file.write(metrics.row(values, step=1, rank=0, attempt=0, seconds=0.0))
        file.write(metrics.event("failure", loss=math.nan, ranks=[math.inf, 1]))

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    first, second = (
        json.loads(line, parse_constant=refuse)
        for line in (tmp_path / "m").read_text(encoding="ascii").splitlines()
    )
    assert first["metrics"] == {"a": "NaN", "b": "Infinity", "c": "-Infinity", "d": 1.0, "e": None}
    assert (second["event"], second["loss"], second["ranks"]) == ("failure", "NaN", ["Infinity", 1])


@given(cut=st.integers(0, 90))
def test_a_torn_last_line_is_cut_off(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    path = tmp_path_factory.mktemp("torn") / "metrics.jsonl"
    with MetricsFile(path) as file:
        file.write({"step": 1, "metrics": {"loss": 0.5}})
        file.write({"step": 2, "metrics": {"text": "a} é"}})
    whole = path.read_bytes()
    path.write_bytes(whole[:cut])
    whole_lines = whole[:cut].count(b"\n") + (cut < len(whole) and whole[cut : cut + 1] == b"\n")
    assert [row["step"] for row in read_rows(path)] == [1, 2][:whole_lines]
    with MetricsFile(path) as file:
        file.write({"step": 3})
    assert [row["step"] for row in read_rows(path)] == [*[1, 2][:whole_lines], 3]
    assert path.read_bytes().startswith(whole[:cut].rpartition(b"\n")[0])


def test_a_line_is_in_the_file_once_written(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    code = (
        "import os, sys; from speedcube.train.metrics.rows import MetricsFile\n"
        "file = MetricsFile(sys.argv[1]); file.write({'step': 1}); os.kill(os.getpid(), 9)"
    )
    run = subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert run.returncode == -9
    assert read_rows(path) == [{"step": 1}]


def test_half_a_line_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = MetricsFile(tmp_path / "m")
    file.write({"step": 1})

    class Filling:
        """A disk with room for five more bytes."""

        def __init__(self, inner: Any) -> None:
            self.inner = inner
            self.room = 5

        def write(self, data: memoryview) -> int:
            if not self.room:
                raise OSError(28, os.strerror(28))
            written, self.room = self.inner.write(data[: self.room]), 0
            return int(written)

        def __getattr__(self, name: str) -> Any:
            return getattr(self.inner, name)

    inner = file._file
    monkeypatch.setattr(file, "_file", Filling(inner))
    with pytest.raises(OSError, match="No space left"):
        file.write({"step": 2})
    monkeypatch.setattr(file, "_file", inner)
    file.write({"step": 3})
    file.close()
    assert read_rows(tmp_path / "m") == [{"step": 1}, {"step": 3}]


@pytest.mark.parametrize(
    "line", [b"{torn", b"[1]", b"\xff\xfe", b"", b"3", b'{"a": ' + b"[" * 100_000]
)
def test_a_broken_line_is_named(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "m"
    path.write_bytes(b'{"step": 1}\n' + line + b'\n{"step": 2}\n')
    with pytest.raises(DataFileError) as caught:
        read_rows(path)
    text = str(caught.value)
    assert text.startswith(f"{path}, line 2: not a JSON object (")
    assert text.endswith("); remove the line, or take the file as the job wrote it")


def test_a_run_says_which_of_its_places_is_no_directory(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("a file of somebody's")
    nobody: Any = None  # is asked for a progress or a tracker
    with pytest.raises(DataFileError, match=r"/logs is not a directory, .* or give another out="):
        Journal(tmp_path, "job", nobody, nobody, print)
    assert [path.name for path in tmp_path.iterdir()] == ["logs"]
