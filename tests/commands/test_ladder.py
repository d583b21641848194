"""The ladder's command line and Python form: numbers, JSON, bad use, exit codes."""

from __future__ import annotations

import contextlib
import fcntl
import importlib.util
import io
import json
import os
import pty
import re
import statistics
import struct
import subprocess
import sys
import termios
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

import speedcube as sc
from speedcube import cli
from speedcube.api.array import Array
from speedcube.commands import terminal
from speedcube.commands.ladder import climb, command, measure, progress
from speedcube.commands.ladder import dask_time as dask_rung
from speedcube.commands.ladder.plot import dots
from speedcube.commands.ladder.presets import PRESETS, experiment
from speedcube.commands.ladder.result import RungResult
from speedcube.engine import machine, rungs
from speedcube.errors import ParameterError, RungError

RUN = CliRunner()
TOOLS = Path(__file__).parents[2] / "tools"
SMALL = ["ladder", "--shape", "600,700", "--on", "core,cores:2", "--repeat", "2"]
RUNG_KEYS = [
    "rung", "workers", "seconds", "first_seconds", "repeats", "points_per_second", "over_core",
    "over_dask", "dask_seconds", "dask_scaled", "error", "bits",
]  # fmt: skip


def small_sum() -> Any:
    return sc.random.default_rng(1).normal(size=(20, 30)).sum()


# --------------------------------------------------------------------- what a climb gives


def test_the_json_is_schema_1(tmp_path: Path) -> None:
    file = tmp_path / "l.json"
    result = RUN.invoke(cli.app, [*SMALL, "--json", str(file)])
    assert result.exit_code == 0, result.output
    assert "Bits: equal on all 2 rungs." in result.output
    report = json.loads(file.read_text())
    assert list(report) == ["schema", "machine", "expression", "rungs", "equal_bits"]
    assert (report["schema"], report["equal_bits"]) == (1, True)
    assert report["expression"] == "x = normal(10, 1, size=(600, 700)); (x + 1)[::2, ::2].mean()"
    assert report["machine"]["speedcube"] == sc.__version__
    core, cores = report["rungs"]
    assert list(core) == list(cores) == RUNG_KEYS
    assert (core["rung"], core["workers"]) == ("core", 1)
    assert (cores["rung"], cores["workers"]) == ("cores:2", 2)
    value = experiment("morizet", "600,700", None, "float64").ours().compute(on="core")
    assert core["error"] == cores["error"] == value - 11
    assert core["bits"] == cores["bits"]
    for rung in (core, cores):
        assert len(rung["repeats"]) == 2
        assert rung["seconds"] == statistics.median(rung["repeats"])
        assert rung["first_seconds"] > 0
        assert rung["points_per_second"] == pytest.approx(300 * 350 / rung["seconds"])
        assert rung["over_core"] == pytest.approx(core["seconds"] / rung["seconds"])
        assert rung["over_dask"] == pytest.approx(rung["dask_seconds"] / rung["seconds"])
        assert rung["dask_scaled"] is None


def test_prices_add_a_cost(tmp_path: Path) -> None:
    file = tmp_path / "l.json"
    args = [*SMALL, "--no-dask", "--json", str(file), "--price", "gpu=3.50,cpu=0.10"]
    result = RUN.invoke(cli.app, args)
    assert result.exit_code == 0, result.output
    core, cores = json.loads(file.read_text())["rungs"]
    assert core["cost"] == pytest.approx(0.10 * core["seconds"] / 3600)
    assert cores["cost"] == pytest.approx(2 * 0.10 * cores["seconds"] / 3600)
    assert f"${core['cost']:.2g}" in result.output
    assert core["dask_seconds"] is core["over_dask"] is None


def test_gpus_are_paid_as_gpus() -> None:
    prices = {"gpu": 3.6, "cpu": 36.0}
    names = ["core", "cores:4", "gpu:1", "gpus:0,2", "cuda-cluster", "client tcp://h:1"]
    results = [RungResult(name, 4, 1000.0, 1.0, (1.0,), 1.0, "a") for name in names]
    whole = climb.finished(results, "", 1, prices=prices)
    assert [r.cost for r in whole.rungs] == pytest.approx([40, 40, 4, 4, 4, None])
    eight = RungResult("cores:4x2", 4, 1000.0, 1.0, (1.0,), 1.0, "a")  # four processes
    (row,) = climb.finished([eight], "", 1, prices=prices).rungs
    assert row.cost == pytest.approx(80)


@pytest.mark.parametrize("ending", [".png", ".svg"])
def test_a_picture(tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"l{ending}"
    result = RUN.invoke(cli.app, [*SMALL, "--plot", str(file)])
    assert result.exit_code == 0, result.output
    begin = {".png": b"\x89PNG", ".svg": b"<?xml"}[ending]
    assert file.read_bytes().startswith(begin)


def test_the_picture_shows_both_on_a_log_scale() -> None:
    scaled = dask_rung.DaskTime(40.0, (5, 5), (5, 5), True)
    one = RungResult("core", 1, 2.0, 1.0, (2.0,), 1.0, "a").with_dask(scaled)
    two = RungResult("cores", 2, 1.0, 1.0, (1.0,), 1.0, "a")
    (axes,) = climb.finished([one, two], "x; y", 1).plot().axes
    assert axes.get_xscale() == "log"
    assert not axes.patches  # a bar's length says nothing where there is no zero
    assert [[*line.get_xdata()] for line in axes.lines] == [[2, 1], [40]]
    assert [line.get_label().split(" (")[0] for line in axes.lines] == ["speedcube", "Dask"]
    assert [text.get_text() for text in axes.texts] == ["2 s", "1 s", "~40 s"]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["core", "cores"]
    low, high = axes.get_ylim()
    assert low > high  # the first rung above


@pytest.mark.parametrize("times", [[0.031, 0.033], [1.0], [1e-6, 9e8], [2.0] * 12, [1e-3, 739.3]])
def test_labels_lie_inside_the_axes_and_equal_lengths_are_equal_ratios(times: list[float]) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    names = ["core", "cores", *(f"a rung of a long name {k}" for k in range(10))]
    dask_time = dask_rung.DaskTime(max(times) * 2, (5, 5), (5, 5), True)
    rungs = [
        RungResult(name, 1, seconds, 1.0, (seconds,), 1.0, "a").with_dask(dask_time)
        for name, seconds in zip(names, times, strict=False)
    ]
    figure = climb.finished(rungs, "x = normal(10, 1); (x + 1)[::2, ::2].mean()", 1).plot()
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    (axes,), renderer = figure.axes, canvas.get_renderer()
    frame = axes.get_window_extent(renderer)
    for label in axes.texts:
        box = label.get_window_extent(renderer)
        assert frame.x0 <= box.x0
        assert box.x1 <= frame.x1
        assert frame.y0 <= box.y0
        assert box.y1 <= frame.y1
    for line in axes.lines:
        points = axes.transData.transform(list(zip(*line.get_data(), strict=True)))
        assert all(frame.x0 < x < frame.x1 and frame.y0 < y < frame.y1 for x, y in points)
    below = [one.get_window_extent(renderer) for one in figure.legends[0].get_texts()]
    assert figure.legends[0].get_texts()[0].get_text() == "speedcube"
    assert all(one.x0 >= 0 and one.x1 <= figure.bbox.x1 for one in below)
    low, high = axes.get_xlim()
    assert high / low >= 10  # 31 and 33 ms are near each other


def test_the_committed_picture_is_drawn_of_its_measurement() -> None:
    spec = importlib.util.spec_from_file_location("ladder_picture", TOOLS / "ladder_picture.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    (axes,) = dots(tool.measured()).axes
    known = json.loads(tool.MEASURED.read_text())["rungs"]
    assert [*axes.lines[0].get_xdata()] == [one["seconds"] for one in known]
    assert [*axes.lines[1].get_xdata()] == [one["dask_seconds"] for one in known]
    assert tool.PICTURE.read_bytes().startswith(b"\x89PNG")


def test_from_python(tmp_path: Path) -> None:
    make = lambda: (sc.random.default_rng(1).normal(size=(200, 300)) * 2).max()  # noqa: E731
    result = sc.ladder(make, on=["core", "cores:3"], repeat=2)
    assert result.equal_bits
    assert [(r.rung, r.workers) for r in result.rungs] == [("core", 1), ("cores:3", 3)]
    assert [len(r.repeats) for r in result.rungs] == [2, 2]
    assert result.needed == 60_000
    assert result.rungs[0].value == make().compute(on="core")
    assert "cores:3" in result.table()
    assert str(result) == result.table()
    file = tmp_path / "l.json"
    assert result.to_json(file) + "\n" == file.read_text()
    assert json.loads(file.read_text())["rungs"][1]["rung"] == "cores:3"
    assert result.plot(tmp_path / "l.svg").axes[0].get_title() == result.expression


def test_from_python_with_arrays_and_a_string_of_rungs() -> None:
    data = np.arange(12.0).reshape(3, 4)
    make = lambda: sc.asarray(data)[:, ::2] + sc.random.default_rng(0).random(size=(3, 2))  # noqa: E731
    result = sc.ladder(make, on="core,cores:2")
    assert [r.rung for r in result.rungs] == ["core", "cores:2"]
    assert result.equal_bits
    assert result.needed == 12  # six elements of each source
    assert result.rungs[0].value is None
    assert "Result" not in result.table()


@pytest.mark.parametrize(
    ("array", "points"),
    [
        (lambda x: x, 600),
        (lambda x: x + 1, 600),
        (lambda x: x[::2, ::3], 100),
        (lambda x: x[:, :1] + sc.zeros((20, 30)), 20),
        (lambda x: x - x.mean(), 1200),  # every element for the mean, and again for the difference
        (lambda x: sc.arange(5), 0),
    ],
    ids=["source", "map", "view", "broadcast", "reduction", "no source"],
)
def test_points_are_elements_of_sources(array: Any, points: int) -> None:
    x = sc.random.default_rng(0).normal(size=(20, 30))
    assert measure.source_points(array(x)._expr) == points


def test_default_rungs(monkeypatch: pytest.MonkeyPatch) -> None:
    climbed = sc.ladder(small_sum, repeat=1)
    assert tuple(r.rung for r in climbed.rungs) == rungs.available()
    monkeypatch.setattr(command.options, "find_spec", lambda name: object())
    monkeypatch.setattr(rungs, "available", lambda: ("core", "cores"))
    assert command.options.every_rung() == ["core", "cores"]
    monkeypatch.setattr(rungs, "available", lambda: ("core", "cores", "gpu"))
    assert command.options.every_rung() == ["core", "cores", "gpu", "cuda-cluster"]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: sc.ladder(small_sum(), on=["core"]), ParameterError, "write sc.ladder(lambda:"),
        (lambda: sc.ladder(lambda: 3, on=["core"]), ParameterError, "array, not int"),
        (lambda: sc.ladder(small_sum, on=["core"], repeat=0), ParameterError, "give 1 or more"),
        (lambda: sc.ladder(small_sum, on=["core", "attic"]), RungError, "unknown rung 'attic'"),
        (lambda: sc.ladder(small_sum, on=[]), ParameterError, "on=[] names no rung; rungs here"),
        (lambda: sc.ladder(small_sum, on=["core"]).plot("x.pdf"), ParameterError, "or .svg"),
    ],
    ids=["no function", "no array", "repeat", "rung", "no rung", "picture"],
)
def test_bad_use_from_python(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        call()
    assert message in str(caught.value)


# --------------------------------------------------------------------- bad use, before the run


@pytest.fixture
def nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def ran(*_: Any, **__: Any) -> None:
        raise AssertionError("something was computed")

    monkeypatch.setattr(Array, "compute", ran)
    monkeypatch.setattr(command, "climb", ran)


BAD_USE = [
    (["--shape", "3,x"], "--shape takes sizes of 1 or more, like 20000,20000, not '3,x'"),
    (["--shape", "0,5"], "not '0,5'"),
    (["--shape", "-5,5"], "not '-5,5'"),
    (["--shape", "5,,5"], "not '5,,5'"),
    (["--shape", ""], "not ''"),
    (["--shape", "9000000000,9000000000"], "2**63 elements or more"),
    (["--op", "median"], "--op 'median' is unknown; it takes sum, mean, var, min, max"),
    (["--preset", "nobody"], "--preset 'nobody' is unknown; it takes morizet, rocklin"),
    (["--dtype", "int8"], "--dtype 'int8' is unknown; it takes float64, float32"),
    (["--on", "core,attic"], "unknown rung 'attic'; rungs here: core"),
    (["--on", "core,cores:2,3"], "rung 'cores:2,3' takes no such number"),
    (["--on", "cores:0"], "asks for 0 threads; at least 1 is needed"),
    (["--on", ","], "--on ',' names no rung; rungs here: core"),
    (["--repeat", "0"], "--repeat 0: at least 1 timed run follows the first one; give 1 or more"),
    (["--price", "tpu=3"], "like gpu=3.50,cpu=0.10 (one of them will do), not 'tpu=3'"),
    (["--price", "gpu=cheap"], "not 'gpu=cheap'"),
    (["--price", "gpu=-1"], "not 'gpu=-1'"),
    (["--price", "cpu=nan"], "not 'cpu=nan'"),
    (["--price", "cpu=inf"], "not 'cpu=inf'"),
    (["--price", "cpu=1,cpu=2"], "not 'cpu=1,cpu=2'"),
    (["--price", ""], "not ''"),
    (["--plot", "x.pdf"], "--plot takes a file ending in .png or .svg, not 'x.pdf'"),
    (["--plot", "/no/such/place/x.png"], "there is no directory '/no/such/place'"),
    (["--json", "/no/such/place/x.json"], "there is no directory '/no/such/place'"),
    (["--json", "/"], "that is a directory"),
    (["--json", ""], "that is not a file name"),
]


@pytest.mark.usefixtures("nothing_runs")
@pytest.mark.parametrize(("args", "message"), BAD_USE, ids=[" ".join(a) for a, _ in BAD_USE])
def test_bad_use_is_refused_before_anything_runs(args: list[str], message: str) -> None:
    result = RUN.invoke(cli.app, ["ladder", *args])
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.startswith("speedcube ladder: ")
    assert result.stdout == ""


@pytest.mark.usefixtures("nothing_runs")
@pytest.mark.skipif(bool(rungs.machine.gpu_count()), reason="a GPU is visible here")
def test_gpu_numbers_stay_together() -> None:
    result = RUN.invoke(cli.app, ["ladder", "--on", "core,gpus:0,2,cores"])
    assert result.exit_code == 2
    assert "no GPU is visible: " in result.stderr
    assert "asked for 'gpus:0,2'; rungs here: core" in result.stderr


@pytest.mark.usefixtures("nothing_runs")
def test_a_missing_matplotlib_is_said_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = RUN.invoke(cli.app, ["ladder", "--plot", "x.png"])
    assert result.exit_code == 2
    assert "--plot draws with matplotlib, which cannot be imported" in result.stderr
    assert "pip install speedcube[plots], or leave --plot out" in result.stderr


@pytest.mark.usefixtures("nothing_runs")
def test_a_full_or_read_only_place_is_said_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_: Any) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(terminal.tempfile, "TemporaryFile", refuse)
    result = RUN.invoke(cli.app, ["ladder", "--json", str(tmp_path / "l.json")])
    assert result.exit_code == 2
    assert f"no file can be made in {str(tmp_path)!r} (Read-only file system)" in result.stderr


def test_a_scheduler_that_does_not_answer_is_said_first() -> None:
    result = RUN.invoke(cli.app, ["ladder", "--on", "core,tcp://127.0.0.1:9"])
    assert result.exit_code == 2
    assert "no Dask scheduler answers at 'tcp://127.0.0.1:9'" in result.stderr


# --------------------------------------------------------------------- exit codes


def flip_a_bit(monkeypatch: pytest.MonkeyPatch, kind: str, run: int = 0) -> None:
    """Flip the last bit of the result of ``run`` (and those after it) on rungs of ``kind``."""
    real, seen = Array.compute, []

    def wrong(self: Array, on: Any = None, **rest: Any) -> Any:
        value = real(self, on=on, **rest)
        if on.kind == kind:
            seen.append(on)
        return np.nextafter(value, np.inf) if on.kind == kind and len(seen) > run else value

    monkeypatch.setattr(Array, "compute", wrong)


@pytest.mark.parametrize("run", [0, 2], ids=["from the first run on", "in the last repeat only"])
def test_different_bits_are_loud(run: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    flip_a_bit(monkeypatch, "cores", run)
    file = tmp_path / "l.json"
    result = RUN.invoke(cli.app, [*SMALL, "--no-dask", "--json", str(file)])
    assert result.exit_code == 1
    report = json.loads(file.read_text())
    assert report["equal_bits"] is False
    core, cores = (rung["bits"] for rung in report["rungs"])
    assert core != cores
    assert f"BITS DIFFER: core {core}, cores:2 {cores}." in result.output
    assert "Please report it" in result.output


def test_different_bits_within_one_rung(monkeypatch: pytest.MonkeyPatch) -> None:
    flip_a_bit(monkeypatch, "core", 1)
    result = sc.ladder(small_sum, on="core", repeat=1)
    assert not result.equal_bits
    assert "BITS DIFFER" in result.table()
    assert "+" in result.rungs[0].bits


def test_a_rung_that_fails_does_not_end_the_climb(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Array.compute

    def broken(self: Array, on: Any = None, **rest: Any) -> Any:
        if on.kind == "core":
            raise MemoryError("no room at all")
        return real(self, on=on, **rest)

    monkeypatch.setattr(Array, "compute", broken)
    result = RUN.invoke(cli.app, [*SMALL, "--no-dask"])
    assert result.exit_code == 1
    assert "core failed: MemoryError: no room at all" in result.output
    assert "cores:2" in result.output


def test_dask_that_fails_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise RungError("plain Dask needs dask-cuda here")

    monkeypatch.setattr(command, "time_dask", broken)
    result = RUN.invoke(cli.app, SMALL)
    assert result.exit_code == 0
    assert "core: plain Dask failed: plain Dask needs dask-cuda here" in result.output
    assert "Bits: equal on all 2 rungs." in result.output


def test_an_output_that_fails_at_the_end(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(climb, "write", full)
    result = RUN.invoke(cli.app, [*SMALL, "--no-dask", "--json", str(tmp_path / "l.json")])
    assert result.exit_code == 2
    assert "l.json' could not be written: OSError: [Errno 28] No space left" in result.stderr
    assert "Bits: equal on all 2 rungs." in result.output


def test_files_are_replaced_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, link = tmp_path / "l.json", tmp_path / "link.json"
    file.write_text("old")
    file.chmod(0o640)
    link.symlink_to(file)

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(terminal.os, "replace", full)
        with pytest.raises(OSError, match="No space left"):
            terminal.write(link, "new")
    assert [file.read_text(), len(list(tmp_path.iterdir()))] == ["old", 2]
    terminal.write(link, "new")
    assert link.is_symlink()
    assert [file.read_text(), len(list(tmp_path.iterdir()))] == ["new", 2]
    assert file.stat().st_mode & 0o777 == 0o640
    terminal.write("/dev/null", "new")
    assert not Path("/dev/null").is_file()


# --------------------------------------------------------------------- where it is printed


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_piped_output_is_plain_and_whole(encoding: str) -> None:
    settings = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "FORCE_COLOR")}
    run = subprocess.run(
        [sys.executable, "-m", "speedcube", *SMALL],
        capture_output=True, encoding=encoding, check=False, timeout=120,
        env={**settings, "PYTHONIOENCODING": encoding},
    )  # fmt: skip
    assert run.returncode == 0
    assert run.stderr == ""
    assert "\x1b" not in run.stdout
    lines = run.stdout.splitlines()
    (head,) = (line for line in lines if line.startswith("rung"))
    assert head.split("  ")[-1] == "bits"
    assert not [line for line in lines if line != line.rstrip() or "…" in line]
    assert lines[3] in {"utf-8": "─" * len(lines[3]), "ascii": "-" * len(lines[3])}[encoding]


@pytest.mark.parametrize(
    "args", [SMALL, pytest.param(["doctor"], marks=pytest.mark.slow), ["doctor", "--json"]], ids=str
)
def test_a_reader_that_leaves_is_no_difference_of_bits(args: list[str], tmp_path: Path) -> None:
    """As with ``speedcube ladder | head -1``: quiet, not exit code 1, and the files are written."""
    reader, writer = os.pipe()
    os.close(reader)
    files = [tmp_path / "l.json", tmp_path / "l.svg"] if args is SMALL else []
    options = ["--json", str(files[0]), "--plot", str(files[1])] if files else []
    run = subprocess.run(
        [sys.executable, "-m", "speedcube", *args, *options],
        stdout=writer, stderr=subprocess.PIPE, check=False, timeout=120,
    )  # fmt: skip
    os.close(writer)
    assert run.stderr == b""
    assert run.returncode == 141
    assert all(file.stat().st_size > 100 for file in files)


def test_the_version() -> None:
    result = RUN.invoke(cli.app, ["--version"])
    assert (result.exit_code, result.output) == (0, f"speedcube {sc.__version__}\n")


def test_a_narrow_terminal_gets_whole_lines() -> None:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 24, 80, 0, 0))
    run = subprocess.Popen(
        [sys.executable, "-m", "speedcube", *SMALL, "--price", "cpu=0.1"],
        stdout=theirs, stderr=subprocess.PIPE, text=True,
        env={k: v for k, v in os.environ.items() if k != "COLUMNS"} | {"TERM": "xterm"},
    )  # fmt: skip
    os.close(theirs)
    printed = b""
    with contextlib.suppress(OSError):  # the end, as Linux tells it
        while part := os.read(ours, 4096):
            printed += part
    os.close(ours)
    assert (run.communicate()[1], run.returncode) == ("", 0)
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", printed.decode())
    assert "…" not in text
    assert 60 < max(map(len, text.splitlines())) <= 80
    heads = [line.split() for line in text.splitlines() if line.startswith("rung")]
    assert len(heads) == 2
    assert heads[1][-1] == "cost"


def test_bars_are_for_terminals_and_long_waits() -> None:
    terminal, pipe = io.StringIO(), io.StringIO()
    for seconds in (1.0, 100.0):
        drawn = Console(file=terminal, force_terminal=True, width=80)
        with progress.waiting(drawn, f"wait {seconds}", seconds) as tell:
            tell(2 * seconds)
        with progress.waiting(Console(file=pipe), f"wait {seconds}", seconds):
            pass
    assert "wait 1.0" not in terminal.getvalue()
    assert "0 s of about 100 s" in terminal.getvalue()
    assert "0 s of about 3.3 min" in terminal.getvalue()
    assert pipe.getvalue() == "wait 100.0: about 100 s\n"


def test_estimates_try_a_core_once(monkeypatch: pytest.MonkeyPatch) -> None:
    estimate = progress.Estimate(PRESETS["rocklin"])
    tried: list[str] = []
    monkeypatch.setattr(progress.Estimate, "_tried", lambda self: tried.append("") or 300.0)
    monkeypatch.setattr(machine, "gpu_rate", lambda: machine.GpuRate(132, 1.98e9, 2))
    describe = lambda name: rungs.Rung(name, name.split(":")[0], 2, "")  # noqa: E731
    assert estimate.seconds(rungs.describe("core", "")) == 300
    assert estimate.seconds(rungs.describe("cores:3", "")) == 100
    assert estimate.seconds(describe("gpus")) < 1
    assert tried == [""]
    small = progress.Estimate(experiment("morizet", "50,50", None, "float64"))
    assert small.seconds(rungs.describe("core", "")) < 1
    assert tried == [""]


def test_a_trial_is_another_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    for op, other in (("mean", "max"), ("max", "min")):
        chosen = experiment("morizet", "9000,8000", op, "float32")
        computed: list[str] = []
        real = Array.compute
        with monkeypatch.context() as patch:
            patch.setattr(
                Array, "compute",
                lambda self, on: computed.append(repr(self)) or real(self, on=on),  # noqa: B023
            )  # fmt: skip
            seconds = progress.Estimate(chosen)._tried()
        assert seconds > 0
        assert all(f".{other}(" in text for text in computed)


# --------------------------------------------------------------------- the experiments


def test_experiments() -> None:
    morizet, rocklin = PRESETS["morizet"], PRESETS["rocklin"]
    assert (morizet.needed, morizet.logical) == (2_500_000_000, 10_000_000_000)
    assert morizet.expected() == (11.0, 2e-5)
    assert rocklin.text == "x = normal(10, 1, size=(500000, 500000)); (x + 1)[::2, ::2].sum()"
    assert rocklin.expected() == (687_500_000_000.0, 250_000.0)
    other = experiment("rocklin", "7,9,3", "max", "float32")
    assert other.text == (
        "x = normal(10, 1, size=(7, 9, 3), dtype=float32); (x + 1)[::2, ::2, ::2].max()"
    )
    assert other.needed == 4 * 5 * 2
    assert other.expected() is None
    assert morizet.smaller(1e6).needed == pytest.approx(1e6, rel=0.01)
    assert morizet.smaller(1e99).shape == morizet.shape


@pytest.mark.parametrize("op", ["sum", "mean", "var", "min", "max"])
def test_expected_values_are_what_seeds_give(op: str) -> None:
    """Over 60 seeds the mean error is small, and errors are as large as they should be."""
    base = experiment("morizet", "60,80", op, "float64")
    value, deviation = base.expected() or (0.0, 0.0)
    experiments = [type(base)("", base.shape, op, seed=seed) for seed in range(60)]
    errors = [(float(one.ours().compute(on="core")) - value) / deviation for one in experiments]
    assert abs(statistics.fmean(errors)) < 4 / 60**0.5
    assert 0.6 < statistics.pstdev(errors) < 1.5


def test_ours_is_the_published_expression() -> None:
    small = experiment("morizet", "500,600", "mean", "float64")
    value = small.ours().compute(on="core")
    x = sc.random.default_rng(0).normal(10, 1, size=(500, 600)).compute(on="core")
    assert value == pytest.approx(np.mean((x + 1)[::2, ::2]), abs=1e-12)
