"""The ladder's command line and Python form: numbers, JSON, exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import speedcube as sc
from speedcube import cli
from speedcube.climb.dask_rung import chunk_for
from speedcube.climb.ladder import Rung, finished
from speedcube.climb.presets import PRESETS, experiment

RUN = CliRunner()
SMALL = ["ladder", "--shape", "600,700", "--on", "core,cores:2", "--repeat", "2"]


def test_json_table_and_picture(tmp_path: Path) -> None:
    out, picture = tmp_path / "l.json", tmp_path / "l.svg"
    args = [*SMALL, "--json", str(out), "--plot", str(picture), "--price", "cpu=0.10"]
    result = RUN.invoke(cli.app, args)
    assert result.exit_code == 0, result.output
    assert "Bits: equal on all 2 rungs." in result.output
    found = json.loads(out.read_text())
    assert found["schema"] == 1
    assert found["equal_bits"] is True
    assert found["points_needed"] == 300 * 350
    core, cores = found["rungs"]
    assert [core["rung"], cores["rung"], cores["workers"]] == ["core", "cores:2", 2]
    assert core["bits"] == cores["bits"]
    assert len(core["repeats"]) == 2
    assert core["over_core"] == 1
    assert core["dask_seconds"] > 0
    assert core["over_dask"] == pytest.approx(core["dask_seconds"] / core["seconds"])
    assert core["cost"] == pytest.approx(0.10 * core["seconds"] / 3600)
    assert abs(core["error_in_standard_errors"]) < 5
    assert picture.read_text().startswith("<?xml")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--shape", "3,x"], "--shape takes integers"),
        (["--op", "median"], "unknown op 'median'; ops: sum, mean, var, min, max"),
        (["--preset", "nobody"], "unknown preset 'nobody'; presets: morizet, rocklin"),
        (["--dtype", "int8"], "unknown dtype 'int8'"),
        (["--on", "attic"], "unknown rung 'attic'; rungs here: core"),
        (["--price", "tpu=3"], "--price takes gpu=3.50,cpu=0.10"),
        (["--plot", "x.pdf"], "--plot takes a file ending in .png or .svg"),
    ],
    ids=lambda v: v if isinstance(v, str) else v[0],
)
def test_bad_use(args: list[str], message: str) -> None:
    found = subprocess.run(
        [sys.executable, "-m", "speedcube", "ladder", *args],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert found.returncode == 2
    assert message in " ".join(found.stderr.split())


def test_different_bits_are_loud(monkeypatch: pytest.MonkeyPatch) -> None:
    counter = iter("ab")

    def wrong(make: object, rung: str, *rest: object) -> Rung:
        return Rung(rung, 1, 1.0, 1.0, (1.0,), 1.0, None, None, None, None, None, None,
                    next(counter), 1.0)  # fmt: skip

    monkeypatch.setattr(cli, "measure", wrong)
    result = RUN.invoke(cli.app, ["ladder", "--on", "core,cores", "--no-dask"])
    assert result.exit_code == 1
    assert "BITS DIFFER" in result.output


def test_interrupted(tmp_path: Path) -> None:
    out = tmp_path / "l.json"
    process = subprocess.Popen(
        [sys.executable, "-m", "speedcube", "ladder", "--preset", "rocklin", "--no-dask",
         "--on", "core", "--json", str(out)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    time.sleep(4)
    process.send_signal(signal.SIGINT)
    start = time.monotonic()
    output, _ = process.communicate(timeout=30)
    assert time.monotonic() - start < 5
    assert process.returncode == 130
    assert "Interrupted: 0 of 1 rungs finished." in output
    assert json.loads(out.read_text())["rungs"] == []


def test_from_python() -> None:
    result = sc.ladder(
        lambda: (sc.random.default_rng(1).normal(size=(200, 300)) * 2).max(), on=["core", "cores:3"]
    )
    assert result.equal_bits
    assert [r.rung for r in result.rungs] == ["core", "cores:3"]
    assert "cores:3" in result.table()
    assert json.loads(result.to_json())["equal_bits"] is True


def test_experiments() -> None:
    morizet = PRESETS["morizet"]
    assert morizet.needed == 2_500_000_000
    assert morizet.expected() == (11.0, 2e-5)
    assert experiment("rocklin", "7,9", "max", "float32").expected() is None
    smaller = morizet.smaller(1e6)
    assert smaller.needed == pytest.approx(1e6, rel=0.01)
    assert chunk_for(morizet, 1) <= 10_000


def test_ours_is_the_published_expression() -> None:
    small = experiment("morizet", "500,600", "mean", "float64")
    value = small.ours().compute(on="core")
    x = sc.random.default_rng(0).normal(10, 1, size=(500, 600)).compute(on="core")
    assert value == pytest.approx(np.mean((x + 1)[::2, ::2]), abs=1e-12)
    assert finished([], "nothing", 0, 0).equal_bits
