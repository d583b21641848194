"""Sweeps without jobs: spaces, packing, curves, files that were cut or damaged, table, page."""

from __future__ import annotations

import functools
import heapq
import io
import json
import random
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from speedcube import train
from speedcube.errors import DataFileError, ParameterError
from speedcube.train.metrics.rows import MetricsFile, Row
from speedcube.train.reports import plots
from speedcube.train.reports.curves import busy_seconds, points
from speedcube.train.sweeps import Range, Sweep, record, report, search, space
from speedcube.train.sweeps.packing import Trial, fitting, order


def fit(lr: float, batch: int = 32) -> None: ...


def sweep_settings(**changes: Any) -> record.SweepSettings:
    """Settings of a sweep, as `sweep` would make them."""
    fields: dict[str, Any] = {
        "name": "fit", "space": space.parse({"lr": [0.1, 0.2], "gpus": [1, 2]}), "method": "grid",
        "trials": 4, "metric": "loss", "direction": "minimize", "prune": None, "seed": 0,
        "fixed": {}, "target": None,
    }  # fmt: skip
    return record.SweepSettings(**fields | changes)


def row(step: int, seconds: float, loss: Any, *, rank: int = 0, time: float = 0.0) -> Row:
    return {"step": step, "rank": rank, "attempt": 0, "time": time or 100.0 + seconds,
            "seconds": seconds, "metrics": {"loss": loss, "epoch": step}}  # fmt: skip


def written(
    out: Path,
    asked: record.SweepSettings,
    trials: Mapping[int, tuple[dict[str, Any], str, Sequence[Row]]],
    error: str | None = None,
) -> Path:
    """A sweep's directory, with the parameters, the status and the rows of each trial."""
    out.mkdir(exist_ok=True)
    record.save(out, asked)
    with record.Record(out) as files:
        files.session(8)
        for number, (params, status, rows) in trials.items():
            files.start(Trial(number, params, params.get("gpus", 1)))
            run = record.directory(out, number)
            run.mkdir()
            with MetricsFile(run / "metrics.jsonl") as file:
                for line in rows:
                    file.write(line)
            if status != "running":
                files.end(number, status, error)
    return out


# What is refused


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"space": {}}, "the space of a sweep is a dict"),
        ({"space": [1]}, "the space of a sweep is a dict"),
        ({"space": {1: [2]}}, "1 cannot be the name of a parameter"),
        ({"space": {"lr": []}}, "'lr' has no choices"),
        ({"space": {"lr": 0.1}}, "'lr' is 0.1: give a list of choices"),
        ({"space": {"lr": "ab"}}, "'lr' is 'ab': give a list of choices"),
        ({"space": {"lr": [0.1, 0.1]}}, "'lr' has the choice 0.1 twice"),
        ({"space": {"lr": [[1]]}}, r"'lr' has the choice \[1\]: choices are finite numbers"),
        ({"space": {"lr": [float("nan")]}}, "'lr' has the choice nan"),
        ({"space": {"lr": ["NaN"]}}, "'lr' has the choice 'NaN'"),
        ({"space": {"lr": (1,)}}, "a tuple is a range"),
        ({"space": {"lr": (1, 2, 3)}}, "a tuple is a range"),
        ({"space": {"lr": (2, 1)}}, "the low end has to be below"),
        ({"space": {"lr": (0, 1, "log")}}, "begins above 0"),
        ({"space": {"lr": ("a", "b")}}, "both ends are finite numbers"),
        ({"space": {"lr": (0.0, float("inf"))}}, "both ends are finite numbers"),
        ({"space": {"lr": (1, 2)}}, "'lr' is a range, which a grid cannot count out"),
        ({"space": {"lr": list(range(400)), "batch": list(range(400))}}, "160000 trials, more"),
        ({"space": {"lr": [1], "keep": [2]}}, "'keep' is an option of train.run"),
        ({"space": {"lr": [1], "width": [2]}}, "unexpected keyword argument 'width'"),
        ({"space": {"batch": [1]}}, "missing a required argument: 'lr'"),
        ({"batch": 3, "space": {"lr": [1], "batch": [1]}}, "'batch' is in the space, and given"),
        ({"space": {"lr": [1], "gpus": [1], "ranks": [1]}}, "both name the number of ranks"),
        ({"method": "best"}, "method='best': give 'grid' or 'random' or 'tpe'"),
        ({"direction": "up"}, "direction='up': give 'minimize' or 'maximize'"),
        ({"metric": ""}, "metric='': give a name"),
        ({"trials": 3}, "trials=3: a grid has as many trials as combinations"),
        ({"method": "tpe"}, "method='tpe' needs to know how many"),
        ({"method": "tpe", "trials": 0}, "trials=0: give an integer, 1 or more"),
        ({"method": "tpe", "trials": 10**6}, "at most 100000"),
        ({"prune": "worst"}, "prune='worst': give 'median', 'successive-halving'"),
        ({"seed": -1}, "seed=-1: give an integer, 0 or more"),
        ({"ranks": 0}, "ranks=0: give an integer, 1 or more"),
        ({"max_restarts": 0.5}, "max_restarts=0.5"),
        ({"target": float("nan")}, "target=nan"),
        ({"target": "low"}, "target='low'"),
    ],
)
def test_bad_input_is_refused_before_anything_starts(
    asked: dict[str, Any], message: str, tmp_path: Path
) -> None:
    arguments = {"space": {"lr": [0.1]}, "out": tmp_path / "out", "on": "cores:1"} | asked
    with pytest.raises(ParameterError, match=message):
        train.sweep(fit, arguments.pop("space"), **arguments)
    assert not (tmp_path / "out").exists()


def test_options_of_a_sweep_are_no_parameters_of_the_function(tmp_path: Path) -> None:
    def seeded(lr: float, seed: int = 0) -> None: ...

    asked: dict[str, Any] = {"on": "cores:1", "out": tmp_path / "out"}
    with pytest.raises(
        ParameterError, match="'seed' is both a parameter of the function and an option"
    ):
        train.sweep(seeded, {"lr": [1.0]}, **asked)
    for function, values in (
        (functools.partial(seeded, seed=1), {"lr": [1.0]}),
        (seeded, {"lr": [1.0], "seed": [1, 2]}),
    ):
        with pytest.raises(ParameterError, match="prune='no'"):  # it has come to the next check
            train.sweep(function, values, **asked, prune="no")


@pytest.mark.parametrize("number", [0, -1, 1.5, True, "two", 9])
def test_numbers_of_ranks_that_cannot_be_are_refused(number: Any) -> None:
    with pytest.raises(ParameterError, match=r"a trial has 1 rank or more|there are 8 workers"):
        space.check_ranks(space.parse({"gpus": [8, number]}), "gpus", 8)


# Spaces and what is drawn from them


def test_a_grid_counts_every_combination_and_numbers_of_numpy_become_pythons() -> None:
    combinations = list(space.grid(space.parse({"a": np.array([1, 2]), "b": ["x", None, True]})))
    assert combinations == [{"a": a, "b": b} for a in (1, 2) for b in ("x", None, True)]
    assert {type(params["a"]) for params in combinations} == {int}
    assert vars(Range(np.float32(0.5), np.int64(2))) == {"low": 0.5, "high": 2.0, "log": False}


def test_a_space_is_read_back_from_json() -> None:
    parsed = space.parse({"a": [1, "x", None], "b": (1, 8, "log"), "c": Range(0.5, 1.0)})
    assert space.from_json(json.loads(json.dumps(space.to_json(parsed)))) == parsed


def drawn(method: str, trials: int, values: Sequence[float] = ()) -> list[dict[str, Any]]:
    """What a search proposes after trials with these values have ended."""
    asked = sweep_settings(
        space=space.parse({"lr": (1e-4, 1e-1, "log"), "n": (1, 64), "kind": ["a", "b"]}),
        method=method, trials=trials, seed=5,
    )  # fmt: skip
    proposer = search.Search(asked, None)
    if method == "random":
        return proposer.planned()
    proposed = []
    for number, value in enumerate(values):
        proposed.append(proposer.propose(number))
        proposer.end(number, "finished", value)
    return proposed


def test_a_seed_draws_the_same_settings_however_many_there_are() -> None:
    few, many = drawn("random", 3), drawn("random", 20)
    assert many[:3] == few
    assert len({params["lr"] for params in many}) == 20
    assert all(1e-4 <= p["lr"] <= 1e-1 and p["n"] in range(1, 65) for p in many)
    assert {params["kind"] for params in many} == {"a", "b"}
    values = [((7 * k) % 11) / 11 for k in range(15)]
    assert drawn("tpe", 15, values) == drawn("tpe", 15, values)
    assert drawn("tpe", 15, values) != drawn("tpe", 15, values[::-1])  # it looks at the values


def test_a_resumed_search_proposes_what_the_first_would_have() -> None:
    asked = sweep_settings(space=space.parse({"lr": (0.0, 1.0)}), method="tpe", trials=20)
    whole = search.Search(asked, None)
    for number in range(14):
        value = abs(float(str(whole.propose(number)["lr"])) - 0.3)
        whole.end(number, "finished", value)
    known = whole._study.get_trials()
    resumed = search.Search(asked, None)
    for number, trial in enumerate(known):
        series = [(1, trial.value)]
        resumed.replay(Trial(number, dict(trial.params), 1), "finished", series)
    assert resumed.propose(14) == whole.propose(14)


def test_a_pruner_hears_of_each_step_once_and_of_earlier_sessions() -> None:
    asked = sweep_settings(method="random", trials=3)
    proposer = search.Search(asked, optuna.pruners.MedianPruner(n_startup_trials=1))
    good = Trial(0, {"lr": 0.1, "gpus": 1}, 1)
    proposer.replay(good, "finished", [(1, 0.5), (2, 0.4)])
    proposer.start(Trial(1, {"lr": 0.2, "gpus": 1}, 1))
    assert not proposer.hear(1, 1, 0.45)
    assert proposer.hear(1, 2, 0.6)
    assert proposer.hear(1, 2, 0.6)  # repeated after a restart
    proposer.end(1, "pruned", 0.6)


# Packing


def makespan(trials: Sequence[Trial], seconds: Callable[[Trial], float], workers: int) -> float:
    """Seconds that a sweep takes where each trial takes ``seconds``."""
    waiting, running, now, free = order(trials, workers), [], 0.0, workers
    while waiting or running:
        while (trial := fitting(waiting, free)) is not None:
            waiting.remove(trial)
            free -= trial.ranks
            heapq.heappush(running, (now + seconds(trial), trial.number, trial.ranks))
        assert free >= 0
        now, _, ranks = heapq.heappop(running)
        free += ranks
    return now


@pytest.mark.parametrize(("scaling", "least"), [(0.0, 0.97), (0.5, 0.91), (1.0, 0.87)])
def test_27_trials_on_1_4_and_8_of_8_workers_leave_few_idle(scaling: float, least: float) -> None:
    def seconds(trial: Trial) -> float:
        return 240.0 / trial.ranks**scaling

    trials = [Trial(k, {}, (1, 4, 8)[k % 3]) for k in range(27)]
    work = sum(trial.ranks * seconds(trial) for trial in trials)
    assert work / (8 * makespan(trials, seconds, 8)) >= least


@settings(max_examples=40)
@given(
    st.integers(1, 9).flatmap(
        lambda workers: st.tuples(
            st.just(workers),
            st.lists(
                st.tuples(st.integers(1, workers), st.integers(1, 50)), min_size=1, max_size=30
            ),
        )
    )
)
def test_every_trial_runs_and_waits_for_no_worker_that_is_free(
    case: tuple[int, list[tuple[int, int]]],
) -> None:
    workers, asked = case
    trials = [Trial(k, {}, ranks) for k, (ranks, _) in enumerate(asked)]
    took = makespan(trials, lambda trial: asked[trial.number][1], workers)
    work = sum(ranks * seconds for ranks, seconds in asked)
    longest = max(seconds for _, seconds in asked)
    assert max(work / workers, longest) <= took
    assert took <= 2 * work / workers + longest  # Garey and Graham 1975: any list order


# Curves


def test_points_of_a_restart_follow_those_of_its_checkpoint() -> None:
    lines = [
        {"event": "start", "time": 0.0},
        row(1, 1.0, 0.9), row(1, 1.5, 7.0, rank=1), row(2, 2.0, 0.8), row(3, 3.0, 0.7),
        {"event": "failure", "rank": 0, "step": 3, "time": 0.0},
        {"event": "restart", "time": 0.0},
        row(3, 0.5, 0.75), row(4, 1.5, 0.6),
        {"event": "start", "time": 0.0},  # the whole job again, from the checkpoint of step 4
        row(5, 4.0, 0.5),
    ]  # fmt: skip
    curve = [(p.step, p.seconds, p.metrics["loss"]) for p in points(lines)]
    expected = [(1, 1.0, 0.9), (2, 2.0, 0.8), (3, 2.5, 0.75), (4, 3.5, 0.6), (5, 7.5, 0.5)]
    assert curve == expected
    again = [*lines, {"event": "restart", "time": 0.0}, row(1, 0.25, 0.95)]  # no checkpoint
    assert [(p.step, p.seconds) for p in points(again)] == [(1, 0.25)]


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 5)), min_size=1, max_size=8))
def test_however_often_a_run_is_killed_its_curve_is_that_of_a_whole_run(
    sessions: list[tuple[int, int]],
) -> None:
    lines: list[Row] = []
    newest = 0  # the step of the newest checkpoint; each step takes a second
    for back, steps in sessions:
        begin = max(0, newest - back)
        lines.append({"event": "start", "time": 0.0})
        lines += [row(begin + k, float(k), 1 / (begin + k)) for k in range(1, steps + 1)]
        newest = begin + steps
    curve = [(p.step, p.seconds, p.metrics["loss"]) for p in points(lines)]
    assert curve == [(k, float(k), 1 / k) for k in range(1, newest + 1)]


def test_busy_is_from_a_ranks_first_step_to_its_last() -> None:
    slow_start = [row(k, 10.0 + k, 0.5, time=110.0 + k) for k in (1, 2, 3)]  # 10 s of reading data
    assert busy_seconds(slow_start) == 3.0
    assert busy_seconds([*slow_start, row(1, 2.5, 0.5, rank=1)]) == 5.5
    assert busy_seconds([*slow_start, {"event": "restart", "time": 0.0}, row(1, 1.5, 0.5)]) == 4.5
    assert busy_seconds([]) == 0.0


# Results from files

CURVE = [row(1, 1.0, 0.9), row(2, 2.0, 0.3), row(3, 3.0, 0.5)]


def test_results_of_a_directory(tmp_path: Path) -> None:
    trials: dict[int, Any] = {
        0: ({"lr": 0.1, "gpus": 1}, "finished", CURVE),
        1: ({"lr": 0.1, "gpus": 2}, "finished", [row(1, 0.5, 0.4), row(2, 1.5, "NaN")]),
        2: ({"lr": 0.2, "gpus": 1}, "running", CURVE[:1]),
        3: ({"lr": 0.2, "gpus": 2}, "pruned", [row(1, 1.0, 0.2)]),
    }
    read = Sweep(written(tmp_path, sweep_settings(target=0.4), trials))
    results = [(r.status, r.value, r.best, r.steps, r.target_seconds) for r in read.results()]
    assert results[0] == ("finished", 0.5, 0.3, 3, 2.0)
    assert results[1][0] == "finished"
    assert np.isnan(results[1][1])
    assert results[1][2:] == (0.4, 2, 0.5)
    assert results[2] == ("running", 0.9, 0.9, 1, None)
    assert read.best == read.results()[0]
    assert repr(read) == f"<Sweep of 4 trials (2 finished, 1 running, 1 pruned) in {tmp_path}>"
    (tmp_path / "b").mkdir()
    maximized = sweep_settings(direction="maximize", target=0.4)
    higher = Sweep(written(tmp_path / "b", maximized, trials))
    assert (higher.results()[0].best, higher.results()[0].target_seconds) == (0.9, 1.0)
    assert Sweep(tmp_path, target=0.9).results()[2].target_seconds == 1.0


def test_the_table_survives_parquet(tmp_path: Path) -> None:
    mixed = space.parse({"lr": ["auto", 0.1, None, True], "gpus": [1]})
    trials = {k: ({"lr": lr, "gpus": 1}, "finished", CURVE) for k, lr in enumerate(mixed["lr"])}
    mixed_sweep = Sweep(written(tmp_path, sweep_settings(space=mixed), trials))
    mixed_sweep.to_parquet(tmp_path / "table.parquet")
    read = pd.read_parquet(tmp_path / "table.parquet")
    pd.testing.assert_frame_equal(read, mixed_sweep.dataframe())
    assert list(read["params_lr"][[0, 1, 3]]) == ['"auto"', "0.1", "true"]
    assert read["params_lr"].isna().tolist() == [False, False, True, False]
    assert read["target_seconds"].isna().all()
    assert [path.name for path in tmp_path.glob(".*")] == []


def test_no_sweep_and_no_target_are_told(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"holds no sweep: there is no sweep\.json in it"):
        report(tmp_path)
    trials: dict[int, Any] = {0: ({"lr": 0.1, "gpus": 1}, "finished", CURVE)}
    read = Sweep(written(tmp_path, sweep_settings(), trials))
    with pytest.raises(ParameterError, match="the sweep has no target: give target="):
        read.target_times()
    with pytest.raises(ParameterError, match=r"no trial reached loss 0\.1"):
        Sweep(tmp_path, target=0.1).target_times()
    with pytest.raises(ParameterError, match=r"a figure is a \.png or a \.svg file"):
        read.curves(tmp_path / "a.exe")


def test_events_cut_at_any_byte_keep_what_was_whole(tmp_path: Path) -> None:
    trials = {k: ({"lr": 0.1, "gpus": 1}, "finished", CURVE) for k in range(3)}
    written(tmp_path, sweep_settings(), trials)
    whole = (tmp_path / "trials.jsonl").read_bytes()
    before = -1
    for cut in range(0, len(whole) + 1, 3):
        (tmp_path / "trials.jsonl").write_bytes(whole[:cut])
        path = tmp_path / "trials.jsonl"
        states = record.states(record.read_events(tmp_path), sweep_settings(), path)
        assert list(states) == list(range(len(states)))
        ended = sum(state.status == "finished" for state in states.values())
        assert before <= ended + len(states)
        before = ended + len(states)
    assert before in (5, 6)


def test_damaged_files_give_our_errors_only(tmp_path: Path) -> None:
    written(tmp_path, sweep_settings(), {0: ({"lr": 0.1, "gpus": 1}, "finished", CURVE)})
    draw = random.Random(1)
    refused = 0
    for name in ("sweep.json", "trials.jsonl"):
        whole = (tmp_path / name).read_bytes()
        for _ in range(150):
            mutant = bytearray(whole)
            for _ in range(draw.choice((1, 1, 3))):
                mutant[draw.randrange(len(mutant))] = draw.choice(b'{}[]",:0\xff\x00na')
            (tmp_path / name).write_bytes(mutant)
            try:
                repr(Sweep(tmp_path))
            except DataFileError:
                refused += 1
        (tmp_path / name).write_bytes(whole)
    assert refused > 150


# Figures and the page


class Page(HTMLParser):
    """Collects the tags, the attributes and the text of a page; tags have to match."""

    VOID = ("meta", "br", "hr", "path", "use", "rect", "line", "circle")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


HOSTILE = ["<script>alert(1)</script>", "$\\frac{$", "a\x00b\x1b[31m", "</td>&amp;\"'", "\u202ebad"]


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A sweep whose every text comes from somebody who means harm."""
    tricky = "<img src=x onerror=alert(2)>"
    asked = sweep_settings(
        name=tricky, metric="</svg><b>$loss", target=0.4, fixed={"a<b": tricky},
        space=space.parse({"kind": HOSTILE, "gpus": [1, 2]}),
    )  # fmt: skip
    lines = [line | {"metrics": {"</svg><b>$loss": line["metrics"]["loss"]}} for line in CURVE]
    trials: dict[int, Any] = {
        k: ({"kind": kind, "gpus": 1 + k % 2}, "failed", lines) for k, kind in enumerate(HOSTILE)
    }
    return written(tmp_path, asked, trials, error=f"ValueError: {tricky}\x07\n  in line 2")


def test_the_page_is_whole_escaped_and_loads_nothing(hostile: Path) -> None:
    path = report(hostile)
    assert path == hostile / "report.html"
    text = path.read_text(encoding="utf-8")
    page = Page(text)
    assert page.tags.count("svg") == 2
    assert not {"script", "img", "b", "link", "iframe", "object"} & set(page.tags)
    assert not any(name.startswith("on") for name, _ in page.attributes)
    links = [value or "" for name, value in page.attributes if name in ("href", "src")]
    assert all(link.startswith("#") for link in links)
    assert "//" not in re.sub(r"<title>.*?</title>", "", text)
    ids = [value for name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    assert {link[1:] for link in links} <= set(ids)
    assert set(re.findall(r"url\(#([^)]*)\)", text)) <= set(ids)
    assert "ValueError: <img src=x onerror=alert(2)>\\x07\n" in page.text
    assert page.text.count("kind=$\\frac{$") == 2  # in two legends
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert ("http-equiv", "Content-Security-Policy") in page.attributes


def test_the_page_tells_trials_settings_and_the_time_to_the_target(tmp_path: Path) -> None:
    trials: dict[int, Any] = {
        0: ({"lr": 0.1, "gpus": 1}, "finished", CURVE),
        1: ({"lr": 0.2, "gpus": 2}, "finished", [row(1, 1.25, 0.35)]),
    }
    path = report(written(tmp_path, sweep_settings(), trials), target=0.4)
    page = Page(path.read_text(encoding="utf-8"))
    for text in (
        "4 trials (2 finished)", "Best: trial 1, loss 0.35.", "Time to loss 0.4", "2 s", "1.25 s",
        "lr=0.1", "grid", "loss, minimize", str(tmp_path),
    ):  # fmt: skip
        assert text in page.text
    assert Sweep(tmp_path).html().count("<svg") == 1  # no target


def test_figures_show_each_trial_and_the_ideal(tmp_path: Path) -> None:
    trials: dict[int, Any] = {
        0: ({"lr": 0.1, "gpus": 1}, "finished", CURVE),
        1: ({"lr": 0.2, "gpus": 1}, "finished", [row(1, 1.5, 0.35)]),
        2: ({"lr": 0.1, "gpus": 2}, "failed", [row(1, 1.0, 0.35)]),
    }
    read = Sweep(written(tmp_path, sweep_settings(target=0.4), trials))
    left, right = read.curves(tmp_path / "a.png").axes
    assert (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"
    drawn_lines = [line for line in right.lines if len(line.get_xdata()) == 3]
    assert list(drawn_lines[0].get_xdata()) == [1.0, 2.0, 3.0]
    assert list(drawn_lines[0].get_ydata()) == [0.9, 0.3, 0.5]
    assert left.get_xlabel() == "epoch"
    assert [line.get_label() for line in left.lines[:3]] == [
        "lr=0.1, gpus=1", "lr=0.2, gpus=1", "lr=0.1, gpus=2",
    ]  # fmt: skip
    (axes,) = read.target_times().axes
    assert [bar.get_height() for bar in axes.patches] == [1.5, 1.0]  # the fastest of each
    assert list(axes.lines[0].get_ydata()) == [1.5, 0.75]
    assert axes.get_xlabel() == "GPUs"
    one, two = io.BytesIO(), io.BytesIO()
    for file in (one, two):
        plots.draw(read.curves(), file, format="svg", metadata={"Date": None})
    assert one.getvalue() == two.getvalue()


def test_a_loss_that_is_no_number_is_not_the_best(tmp_path: Path) -> None:
    trials: dict[int, Any] = {
        0: ({"lr": 0.1, "gpus": 1}, "finished", [row(1, 1.0, "NaN")]),
        1: ({"lr": 0.2, "gpus": 1}, "finished", [row(1, 1.0, 3.0)]),
    }
    assert Sweep(written(tmp_path / "a", sweep_settings(), {0: trials[0]})).best is None
    both = Sweep(written(tmp_path / "b", sweep_settings(), trials)).best
    assert both is not None
    assert both.number == 1


def many(out: Path, count: int, far: float = 1.0) -> Sweep:
    """A sweep of ``count`` trials, the losses of the last one ``far`` times the others'."""
    rates = [k / 100 for k in range(1, count + 1)]
    asked = sweep_settings(space=space.parse({"rate": rates, "batch": [2048, 16384]}), trials=count)
    trials: dict[int, Any] = {
        k: ({"rate": rate, "batch": 16384}, "finished",
            [row(e, e, (far if k == count - 1 else 1.0) * (1 + rate / e)) for e in (1, 2)])
        for k, rate in enumerate(rates)
    }  # fmt: skip
    return Sweep(written(out, asked, trials))


def test_a_legend_tells_27_trials_apart_and_fits(tmp_path: Path) -> None:
    figure = many(tmp_path, 27).curves(tmp_path / "a.svg")
    looks = [
        {(line.get_color(), line.get_linestyle()) for line in axes.lines} for axes in figure.axes
    ]
    assert len(looks[0]) == 27
    assert looks[0] == looks[1]
    (legend,) = figure.legends
    assert len(legend.get_texts()) == 27
    box = legend.get_window_extent()
    assert box.y0 >= 0
    assert box.y1 <= figure.bbox.y1
    assert figure.axes[0].get_yscale() == "linear"


def test_a_line_breaks_where_the_loss_was_no_number(tmp_path: Path) -> None:
    lines = [row(1, 1.0, 0.9), row(2, 2.0, "NaN"), row(3, 3.0, "Infinity"), row(4, 4.0, 0.5)]
    trials: dict[int, Any] = {0: ({"lr": 0.1, "gpus": 1}, "finished", lines)}
    for axes in Sweep(written(tmp_path, sweep_settings(), trials)).curves().axes:
        (line,) = axes.lines
        np.testing.assert_array_equal(line.get_xdata(), [1.0, 2.0, 3.0, 4.0])
        np.testing.assert_array_equal(line.get_ydata(), [0.9, np.nan, np.nan, 0.5])
        assert axes.get_yscale() == "linear"


def test_an_errors_traceback_opens_with_a_click(tmp_path: Path) -> None:
    trials: dict[int, Any] = {0: ({"lr": 0.1, "gpus": 1}, "failed", CURVE)}
    error = "OSError: no\nline <1>\nline 2"
    text = Sweep(written(tmp_path, sweep_settings(), trials, error=error)).html()
    opened = "<td><details><summary>OSError: no\n</summary>line &lt;1&gt;\nline 2</details></td>"
    assert opened in text


def test_more_trials_than_can_be_told_apart_have_no_legend(tmp_path: Path) -> None:
    figure = many(tmp_path, 31).curves()
    assert not figure.legends
    assert figure.get_figheight() == 4.2


def test_a_trial_that_diverged_does_not_press_the_others_flat(tmp_path: Path) -> None:
    assert {axes.get_yscale() for axes in many(tmp_path, 3, far=1e4).curves().axes} == {"log"}


def test_the_page_is_dark_where_that_is_asked_and_scrolls_where_it_is_narrow(
    tmp_path: Path,
) -> None:
    text = many(tmp_path, 2).html()
    assert "@media (prefers-color-scheme: dark)" in text
    assert text.count('<div class="wide"><svg') == 1  # the figure
    assert '<th class="number">seconds to target</th>' in text
    assert "<th>status</th>" in text
    assert re.search(r'<td class="number">1.005</td>', text)


def test_chromium_opens_the_page(hostile: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("Chromium is not installed: it is not needed to write or read the page")
    shown = subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", report(hostile)],
        capture_output=True, text=True, timeout=60, check=True,
    ).stdout  # fmt: skip
    assert shown.count("<svg") == 2
    assert "<script" not in shown
