"""``speedcube petnames report`` of one training: what it says, draws and refuses."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from speedcube import cli
from speedcube.petnames.training_report import Training
from speedcube.train.metrics.rows import MetricsFile

PLAN = {"data": "5e1f", "settings": {"epochs": 4, "batch": 60, "lr": 0.01}}
HALVES = [  # (epoch, seconds, loss, validation loss), as a CPU reports: within epochs, too
    (0.5, 1.0, 3.2, None), (1, 2.0, 3.0, 2.9), (1.5, 3.0, 2.8, None),
    (2, 4.0, 2.7, 2.6), (3, 6.0, 2.5, 2.65),
]  # fmt: skip


def report(*args: object) -> Result:
    return CliRunner().invoke(cli.app, ["petnames", "report", *map(str, args)])


def trained(out: Path, plan: Any = PLAN, halves: Any = HALVES) -> Path:
    """The directory of a training, as far as it came."""
    out.mkdir(parents=True)
    (out / "petnames.json").write_text(json.dumps(plan))
    with MetricsFile(out / "metrics.jsonl") as file:
        file.write({"event": "start", "time": 100.0})
        for step, (epoch, seconds, loss, validation) in enumerate(halves, 1):
            metrics = {"epoch": epoch, "loss": loss}
            if validation is not None:
                metrics["validation_loss"] = validation
            file.write({"step": step, "rank": 0, "attempt": 0, "time": 100.0 + seconds,
                        "seconds": seconds, "metrics": metrics})  # fmt: skip
    return out


@pytest.fixture(autouse=True)
def _in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_newest_training_gets_a_page_and_a_figure() -> None:
    old, new = trained(Path("petnames-runs/a")), trained(Path("petnames-runs/b"))
    os.utime(old / "petnames.json", (1, 1))
    result = report("--target", 2.7, "--curves", "curves.svg")
    assert result.exit_code == 0, result.output
    assert result.stdout == (
        "3 of 4 epochs in 6 s: validation loss 2.6500 a character, at best 2.6000 in epoch 2. "
        "Validation loss 2.7 was reached after 4 s. "
        f"The page is {(new / 'report.html').absolute()}\n"
    )
    figure = Path("curves.svg").read_text()
    for words in ("training", "validation", "loss in nats a character", "seconds of training"):
        assert f">{words}</text>" in figure
    page = (new / "report.html").read_text()
    for cells in ('<td class="number">2.65</td>', "<th>batch</th><td>60</td>", "<td>5e1f</td>"):
        assert cells in page
    assert page.count("<svg") == 1
    assert not (old / "report.html").exists()


def test_the_figure_has_both_losses_over_epochs_and_seconds(tmp_path: Path) -> None:
    left, right = Training.read(trained(tmp_path / "a"), 2.0).curves().axes
    drawn = [(list(line.get_xdata()), list(line.get_ydata())) for line in left.lines]
    assert drawn[:2] == [
        ([0.5, 1, 1.5, 2, 3], [3.2, 3.0, 2.8, 2.7, 2.5]),
        ([1, 2, 3], [2.9, 2.6, 2.65]),
    ]
    assert list(drawn[2][1]) == [2.0, 2.0]  # the target
    assert list(right.lines[1].get_xdata()) == [2.0, 4.0, 6.0]
    assert (left.get_xlabel(), right.get_xlabel()) == ("epoch", "seconds of training")


def test_a_finished_training_is_told_as_its_card_has_it(tmp_path: Path) -> None:
    out = trained(tmp_path / "a", halves=HALVES[:2])
    card = {"settings": {"epochs": 1, "batch_per_rank": False}, "data": {"origin": "<b>x.csv"}}
    (out / "card.json").write_text(json.dumps(card))
    assert report("--out", out, "--target", 1).stdout.startswith(
        "1 of 1 epochs in 2 s: validation loss 2.9000 a character. "
        "Validation loss 1 was not reached. The page"
    )
    page = (out / "report.html").read_text()
    assert "<th>batch per rank</th><td>False</td>" in page
    assert "<th>origin</th><td>&lt;b&gt;x.csv</td>" in page


def test_a_sweeps_table_needs_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("speedcube.petnames.options.find_spec", lambda name: None)
    Path("swept").mkdir()
    Path("swept/sweep.json").write_text("{}")
    result = report("--out", "swept")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        "speedcube petnames report: pandas and pyarrow cannot be imported; "
        "pip install speedcube[sweep]\n"
    )


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        ([], "there is no training and no sweep below ./petnames-runs; run speedcube petnames"),
        (["--out", "."], "'.' holds no sweep and no training: name a directory that speedcube"),
        (["--out", "none"], "'none' holds no sweep and no training"),
        (["--out", "early"], "'early' holds a training whose first epoch has not ended"),
        (
            ["--out", "broken"],
            "petnames.json is not what a training has written: its settings have no epochs",
        ),
        (["--out", "good", "--target", "nan"], "--target nan: give a finite validation loss"),
        (["--out", "good", "--target-times", "a.png"], "--target-times draws sweeps, and 'good'"),
        (["--out", "good", "--curves", "a.pdf"], "--curves takes a file ending in .png or .svg"),
        (["--out", "good", "--curves", "no/a.png"], "there is no directory 'no'"),
    ],
)
def test_what_cannot_be_reported_is_said(args: list[str], reason: str) -> None:
    trained(Path("good"))
    trained(Path("early"), halves=HALVES[:1])
    trained(Path("broken"), plan={"data": "5e1f"})
    result = report(*args)
    assert result.exit_code == 2
    assert result.stderr.startswith("speedcube petnames report: ")
    assert reason in result.stderr
    assert not list(Path().rglob("report.html"))
