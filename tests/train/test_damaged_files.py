"""What runs and sweeps wrote, damaged in hundreds of ways: each reader says what is wrong.

No damage is an error of Python's, and none keeps a reader waiting.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from typer.testing import CliRunner

from speedcube import cli
from speedcube.errors import DataFileError, ParameterError
from speedcube.train import Sweep, reports
from speedcube.train.metrics.rows import MetricsFile
from speedcube.train.sweeps import record, search, space
from speedcube.train.sweeps.loop import Call, TrialLoop
from speedcube.train.sweeps.packing import Trial

SEED: Final = 20261122
FILES: Final = ("sweep.json", "trials.jsonl", "trial-0000/metrics.jsonl")
WRONG: Final = (  # values of JSON, as text, for any place
    "null", "true", '"text"', '"NaN"', '"Infinity"', "-1", "0", "1e999", "NaN", "-Infinity", "1.5",
    "9223372036854775808", "1" * 400, "1" * 5000, '"\\ud800"', '"\\u0000\\u001b[31m"', "[]", "{}",
    '{"a": {"b": 1}}', "[" * 90 + "]" * 90, "[" * 20000 + "]" * 20000, "1e308", "-1e308", "1e-320",
)  # fmt: skip


def sweep_directory(out: Path) -> Path:
    """A sweep of three trials that a kill ended."""
    out.mkdir(parents=True)
    settings = record.SweepSettings(
        "fit", space.parse({"lr": [0.1, 0.2], "width": (2, 8)}), "random", 4, "loss", "minimize",
        "MedianPruner", 3, {"depth": 2}, 0.5,
    )  # fmt: skip
    record.save(out, settings)
    with record.Record(out) as files:
        files.session(2)
        for number, status in enumerate(("finished", "failed", "running")):
            files.start(Trial(number, {"lr": 0.1, "width": 3 + number}, 1))
            run = record.directory(out, number)
            run.mkdir()
            with MetricsFile(run / "metrics.jsonl") as rows:
                rows.write({"event": "start", "time": 100.0, "ranks": 1, "on": "cores:2"})
                for step in range(1, 4):
                    rows.write(
                        {"step": step, "rank": 0, "attempt": 0, "time": 100.0 + step,
                         "seconds": 1.0 * step,
                         "metrics": {"loss": 1 / step, "epoch": step, "validation_loss": 2 / step}}
                    )  # fmt: skip
            if status != "running":
                files.end(number, status, None if status == "finished" else "ValueError: no")
    return out


def training_directory(out: Path) -> Path:
    """A training of pet names that a kill ended."""
    shutil.copytree(sweep_directory(out.with_name("copied")) / "trial-0000", out)
    plan = {"data": "5e1f", "settings": {"epochs": 4, "batch": 60, "lr": 0.01}}
    (out / "petnames.json").write_text(json.dumps(plan))
    return out


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    for key, inner in value.items() if isinstance(value, dict) else ():
        yield from _places(inner, (*path, key))


def _with(value: Any, path: tuple[Any, ...], text: str) -> str:
    """``value`` as JSON, with ``text`` in the place of what is at ``path``; "" takes it away."""
    if not path:
        return text
    parts = []
    for key, inner in value.items():
        new = _with(inner, path[1:], text) if key == path[0] else json.dumps(inner)
        parts += [f"{json.dumps(key)}: {new}"] if new else []
    return "{" + ", ".join(parts) + "}"


def changed(text: str, rng: random.Random) -> bytes:
    """One line of JSON, one thing in it otherwise."""
    value = json.loads(text)
    path = rng.choice([path for path in _places(value) if path])
    how = rng.randrange(8)
    if how == 0:
        return _with(value, path, "").encode()
    if how == 1:
        return (text[:-1] + f", {json.dumps(str(path[0]))}: {rng.choice(WRONG)}}}").encode()
    return _with(value, path, rng.choice(WRONG)).encode()


def damaged(content: bytes, name: str, rng: random.Random) -> bytes:
    """The content of a file, damaged in one place."""
    how = rng.randrange(10)
    if how < 6:
        whole = [content] if name.endswith(".json") else content.splitlines(keepends=True)
        at = rng.randrange(len(whole))
        end = b"\n" if rng.randrange(5) or at < len(whole) - 1 else b""
        whole[at] = changed(whole[at].decode().rstrip("\n"), rng) + end
        return b"".join(whole)
    at = rng.randrange(len(content))
    return {
        6: content[:at],
        7: content[:at] + bytes([rng.randrange(256)]) + content[at + 1 :],
        8: content[:at] + bytes(rng.randrange(1, 40)) + content[at:],
        9: content[:at] + b"\xff\xfe" + content[at + rng.randrange(60) :],
    }[how]


def look(out: Path) -> None:
    """Every public door of a sweep's directory."""
    sweep = Sweep(out)
    repr(sweep), sweep.results(), sweep.best, sweep.busy, sweep.seconds
    sweep.dataframe()
    sweep.html()
    sweep.write()
    for trial in sweep.results():
        points = reports.points(reports.read_run(trial.out))
        reports.curves_figure([("a", reports.series(points, "loss"))], "loss")
    resume(out)


def resume(out: Path) -> None:
    """What the same call does with the directory, up to the first job."""
    settings = record.load(out)
    call = Call(print, {}, frozenset(), {}, None, 1)
    with record.Record(out) as files:
        asked = search.Search(settings, search.pruner("median"))
        loop = TrialLoop(files, settings, asked, call, 0, lambda text: None, False)
        loop._resume(record.states(record.read_events(out), settings, out / record.EVENTS))


def only_told(action: Callable[[], object], what: object) -> bool:
    """Whether ``action`` refused a file; anything but a `DataFileError` fails the test."""
    try:
        action()
    except DataFileError as err:
        text = str(err)
        assert text.isprintable(), what
        assert ".json" in text, what
        return True
    except Exception as err:
        raise AssertionError(f"{what}: {type(err).__name__}: {err}") from err
    return False


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_file_of_a_sweep_is_named(tmp_path: Path, name: str) -> None:
    out = sweep_directory(tmp_path / "sweep")
    contents = {each: (out / each).read_bytes() for each in FILES}
    rng, told = random.Random(SEED), 0
    for number in range(5):
        for each, content in contents.items():
            (out / each).write_bytes(content)
        (out / name).write_bytes(damaged(contents[name], name, rng))
        told += only_told(lambda: look(out), f"{name}, damage {number}")
    assert told > 1


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_many_damages_of_a_sweep(tmp_path: Path, name: str, request: pytest.FixtureRequest) -> None:
    seed = int(request.config.getoption("hypothesis_seed"))  # new with -m slow, and shown
    out, rng = sweep_directory(tmp_path / "sweep"), random.Random(seed)
    contents = {each: (out / each).read_bytes() for each in FILES}
    for number in range(150):
        for each, content in contents.items():
            (out / each).write_bytes(content)
        (out / name).write_bytes(damaged(contents[name], name, rng))
        only_told(lambda: look(out), f"{name}, seed {seed}, damage {number}")


def test_many_damages_are_read_or_told(tmp_path: Path) -> None:
    """The readers alone: no page is drawn, so there is time for more."""
    out, rng = sweep_directory(tmp_path / "sweep"), random.Random(SEED + 1)
    contents = {each: (out / each).read_bytes() for each in FILES}
    told = 0
    for number in range(600):
        name = FILES[number % 3]
        for each, content in contents.items():
            (out / each).write_bytes(content)
        (out / name).write_bytes(damaged(contents[name], name, rng))
        told += only_told(lambda: (Sweep(out), resume(out)), f"damage {number} of {name}")
    assert told > 300


@pytest.mark.parametrize("name", ["metrics.jsonl", "petnames.json"])
def test_the_command_says_what_is_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    out, rng = training_directory(tmp_path / "training"), random.Random(SEED)
    content = (out / name).read_bytes()
    for number in range(12):
        (out / name).write_bytes(damaged(content, name, rng))
        result = CliRunner().invoke(cli.app, ["petnames", "report", "--out", str(out)])
        assert result.exit_code in (0, 2), (number, result.output)
        assert result.exception is None or isinstance(result.exception, SystemExit), number
        if result.exit_code:
            assert result.stderr.startswith("speedcube petnames report: ")
            assert result.stderr.count("\n") == 1, number


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(8 << 30)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("kind", [os.mkfifo, os.mkdir, _sparse])
def test_what_is_no_file_is_named_at_once(
    tmp_path: Path, name: str, kind: Callable[[Path], object]
) -> None:
    out = sweep_directory(tmp_path / "sweep")
    (out / name).unlink()
    kind(out / name)
    begin = time.monotonic()
    assert only_told(lambda: Sweep(out), name)
    assert only_told(lambda: resume(out), name)
    assert time.monotonic() - begin < 5
    if name.endswith("metrics.jsonl"):
        with pytest.raises(DataFileError):
            MetricsFile(out / name)


def test_our_own_files_are_read_back(tmp_path: Path) -> None:
    """Text that is none, such as a file's name in bytes, is written so that it can be read."""
    out = sweep_directory(tmp_path / "sweep")
    look(out)
    with MetricsFile(out / "trial-0000" / "metrics.jsonl") as file:
        file.write({"step": 9, "rank": 0, "attempt": 0, "time": 1, "seconds": 2.0,
                    "metrics": {"file": "a\udcff", "b\udcff": float("nan")}})  # fmt: skip
    metrics = reports.read_run(out / "trial-0000")[-1]["metrics"]
    assert metrics["file"] == "a\\udcff"
    assert list(metrics) == ["file", "b\\udcff"]
    odd = {"file": "a\udcff", "most": float("inf"), "f": print}
    assert search.fixed(odd) == {
        "file": "a\\udcff",
        "most": "inf",
        "f": "<builtin_function_or_method>",
    }
    for choice in ("a\udcff", 2**64):
        with pytest.raises(ParameterError, match="has the choice"):
            space.parse({"x": [choice]})
