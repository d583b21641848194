"""bench/eight.py: its commands can be given, and a step that takes too long is stopped."""

from __future__ import annotations

import argparse
import json
import os
import re
import runpy
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import eight
import pytest
import typer

from speedcube import cli
from speedcube.commands import options
from speedcube.commands.ladder import presets
from speedcube.engine.clusters.rung_names import is_name

ROOT = Path(__file__).resolve().parents[2]
COUNTS = (1, 2, 4, 8)
KNOWN: dict[str, Any] = {"gpu": "NVIDIA H200", "gpus": 8}


class Parsed(Exception):
    """A script has understood its options."""


def file(name: str, kind: str = "json") -> str:
    return f"h200x8-{name}.{kind}"


def steps(count: int) -> list[eight.Step]:
    return [*eight.arrays(count, file), *eight.training(count, file, "names.csv")]


def understood(words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> argparse.Namespace:
    """What a script of bench/ makes of its options, before it does anything."""
    parse = argparse.ArgumentParser.parse_args

    def parse_and_stop(parser: Any, *args: Any) -> Any:
        raise Parsed(parse(parser, *args))

    with monkeypatch.context() as patch:
        patch.setattr(argparse.ArgumentParser, "parse_args", parse_and_stop)
        patch.setattr(sys, "argv", list(words))
        patch.setattr(os, "environ", os.environ | {"CUPY_CACHE_DIR": "unused"})
        with pytest.raises(Parsed) as caught:
            runpy.run_path(str(ROOT / words[0]), run_name="__main__")
    (found,) = caught.value.args
    assert isinstance(found, argparse.Namespace)
    return found


def command(words: tuple[str, ...]) -> dict[str, Any]:
    """What the command line of speedcube makes of its options."""
    root: Any = typer.main.get_command(cli.app)
    name, *rest = words
    context = root.commands[name].make_context(name, list(rest))
    return dict(context.params)


@pytest.fixture(autouse=True)
def _dask_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where it is installed: commands name all rungs."""
    monkeypatch.setattr(eight, "cluster", lambda: ["cuda-cluster"])


@pytest.mark.parametrize("count", COUNTS)
def test_every_script_knows_its_options(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    asked = {
        step.name: understood(step.words, monkeypatch)
        for step in steps(count)
        if step.words[0] != "-m"
    }
    assert list(asked) == ["sums", "order", "pet names", "start and scaling", "sweep"]
    for name in ("sums", "order"):
        assert all(map(is_name, asked[name].on.split(";")))
    assert asked["sums"].on.split(";")[0] == "gpu"
    assert asked["sweep"].on == asked["start and scaling"].on == f"gpus:{count}"
    worlds = [int(one) for one in asked["pet names"].gpus.split(",")]
    assert worlds == [one for one in COUNTS if one <= count]
    assert max(int(one) for one in asked["sweep"].gpus.split(",")) <= count
    for step in steps(count):
        if step.name in asked:
            assert str(asked[step.name].json) == step.file


@pytest.mark.parametrize("count", COUNTS)
def test_the_commands_know_their_options(count: int) -> None:
    by_name = {step.name: step for step in steps(count)}
    verify = command(by_name["verify"].words[2:])
    assert options.rung_names(verify["on"]) == ["gpus", "cuda-cluster"]
    assert verify["json"] is by_name["verify"].prints is True
    ladder = command(by_name["ladder"].words[2:])
    wanted = {1: [], 2: [], 4: ["gpus:2"], 8: ["gpus:2", "gpus:4"]}[count]
    assert options.rung_names(ladder["on"]) == ["gpu", *wanted, "gpus", "cuda-cluster"]
    chosen = presets.experiment(ladder["preset"], None, None, ladder["dtype"])
    assert chosen.needed == 250_000**2
    assert ladder["dask"] is False
    assert ladder["json"] == by_name["ladder"].file


def test_the_tests_of_several_gpus_are_collected() -> None:
    (step,) = (step for step in steps(8) if step.name == "tests")
    shown = subprocess.run(
        [sys.executable, *step.words, "--collect-only", "-n", "0"],
        cwd=ROOT, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert "test_ranks_on_gpus[8]" in shown.stdout
    assert "test_every_worker_has_a_gpu_of_its_own[cuda-cluster:2]" in shown.stdout


@pytest.mark.parametrize("part", [eight.arrays(8, file), eight.training(8, file, None)])
def test_a_command_ends_in_nine_minutes(part: list[eight.Step]) -> None:
    assert sum(step.seconds for step in part) <= eight.WHOLE <= 540
    assert len({step.file for step in part}) >= len(part) - 1


def test_the_shell_script_shows_its_commands() -> None:
    environment = {**os.environ, "PYTHON": sys.executable, "OUT_DIR": "/some/folder"}
    script = ["bash", str(ROOT / "bench" / "eight.sh")]
    for part in ([], ["training", "--data", "names.csv"]):
        shown = subprocess.run(
            [*script, *part, "--dry", "--gpus", "8"],
            env=environment, capture_output=True, text=True, timeout=60, cwd="/",
        )  # fmt: skip
        assert shown.returncode == 0, shown.stderr
        lines = [line for line in shown.stdout.splitlines() if ": python " in line]
        assert len(lines) == len(eight.training(8, file, None) if part else eight.arrays(8, file))
        assert re.search(r"/some/folder/\w+x8-\w+", shown.stdout)


def test_what_takes_too_long_is_stopped_and_said(tmp_path: Path) -> None:
    """With the processes that it started; the others run, and their files name the machine."""
    path = str(tmp_path / "good.json")
    sleeper = "import subprocess, time; print(subprocess.Popen(['sleep', '600']).pid, flush=True)"
    writes = f"open({path!r}, 'w').write('{{}}')"
    table = [
        eight.Step("long", ("-c", f"{sleeper}; time.sleep(600)"), 5),
        eight.Step("wrong", ("-c", "raise SystemExit(3)"), 5),
        eight.Step("good", ("-c", writes), 5, path),
        eight.Step("printed", ("-c", "print('{}')"), 5, str(tmp_path / "p.json"), prints=True),
        eight.Step("alien", ("-c", ""), 5, needs=("no_such_package",)),
    ]
    began = time.monotonic()
    assert eight.whole(table, 25, KNOWN, tmp_path / "all.json") == 1
    assert time.monotonic() - began < 100
    found = {one["name"]: one for one in json.loads((tmp_path / "all.json").read_text())["steps"]}
    assert found["long"]["ended"] == "stopped: it did not end in 5 s"
    pid = int(found["long"]["output"])
    state = Path(f"/proc/{pid}/stat")
    assert not state.exists() or state.read_text().split()[2] == "Z"
    assert found["wrong"]["ended"] == "failed with exit code 3"
    assert [found[name]["ended"] for name in ("good", "printed")] == ["finished"] * 2
    assert found["alien"]["ended"] == "not run: no_such_package cannot be imported"
    for name in ("good", "p"):
        signed = json.loads((tmp_path / f"{name}.json").read_text())["measured on"]
        assert signed["gpu"] == "NVIDIA H200"
        assert signed["ended"] == "finished"


def test_no_time_left_is_said() -> None:
    done = eight.run(eight.Step("late", ("-c", ""), 50), 2.0, KNOWN)
    assert done.ended == "not run: 2 s were left"


def test_the_files_begin_with_the_machine() -> None:
    assert eight.prefix("NVIDIA H200", 8) == "h200x8"
    assert eight.prefix("NVIDIA H100 80GB HBM3", 1) == "h100x1"


def test_order_on_rungs_gives_hashes(tmp_path: Path) -> None:
    words = ["bench/order_rungs.py", "--on", "core;cores;nowhere", "--side", "400"]
    words += ["--sorted", "1000", "--repeat", "1", "--json", str(tmp_path / "order.json")]
    subprocess.run([sys.executable, *words], cwd=ROOT, check=True, timeout=120, capture_output=True)
    rows = json.loads((tmp_path / "order.json").read_text())["rows"]
    assert len(rows) == 4
    for row in rows.values():
        assert row["core"]["bits"] == row["cores"]["bits"]
        assert len(row["core"]["repeats"]) == 1
        assert "unknown rung 'nowhere'" in row["nowhere"]["failed"]
