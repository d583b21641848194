"""``speedcube petnames sweep``: real trainings, their page, and every bad option."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from speedcube import cli
from speedcube.petnames.names import source
from speedcube.train import Sweep

SMALL = [name.capitalize() for name in source.sample().names[:90]]


@pytest.fixture
def pets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small file, and a directory to be in."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "pets.csv"
    path.write_text("\n".join(["Animal's Name", *SMALL, ""]))
    return path


def petnames(*args: object) -> Result:
    return CliRunner().invoke(cli.app, ["petnames", *map(str, args)])


@pytest.mark.slow
@pytest.mark.cluster
def test_a_sweep_writes_a_page_and_the_same_command_goes_on(pets: Path) -> None:
    asked = ("sweep", "--on", "cores:2", "--data", pets, "--epochs", 1, "--batch", "60",
             "--lr", "0.001,0.01", "--out", "petnames-runs/a")  # fmt: skip
    result = petnames(*asked)
    assert result.exit_code == 0, result.output
    sweep = Sweep("petnames-runs/a")
    assert [(r.status, r.params["lr"]) for r in sweep.results()] == [
        ("finished", 0.001),
        ("finished", 0.01),
    ]
    assert sweep.best is not None
    verdict = result.stdout.splitlines()[-1]
    assert verdict == (
        f"Best: validation loss {sweep.best.value:.4f} a character with "
        f"lr {sweep.best.params['lr']}, batch 60, ranks 1. "
        f"2 trials in {Path('petnames-runs/a/report.html').absolute()}"
    )
    assert "2 of 2: trial" in result.stderr
    pets.write_text(pets.read_text() + "Rex\n")
    changed = petnames(*asked)
    assert changed.exit_code == 2
    assert "holds a sweep with fixed=" in changed.stderr

    page = Path("petnames-runs/a/report.html")
    page.unlink()
    figures = ("--curves", "curves.svg", "--target-times", "times.png")
    again = petnames("report", "--target", 9, *figures)
    assert (again.exit_code, again.stdout.splitlines()[-1]) == (0, verdict)
    assert "Time to validation_loss 9" in page.read_text()
    assert "validation_loss" in Path("curves.svg").read_text()
    assert Path("times.png").read_bytes()[:4] == b"\x89PNG"
    assert re.search(r"<td>finished</td>", page.read_text())


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        (["--on", "bogus"], "unknown rung 'bogus'"),
        (["--epochs", "0"], "--epochs 0: give a number from 1"),
        (["--batch", "1,x"], "--batch '1,x': give whole numbers with commas between them"),
        (["--batch", "0"], "--batch 0: give a number from 1"),
        (["--ranks", "0"], "--ranks 0: give a number from 1"),
        (["--lr", "fast"], "--lr 'fast': give numbers with commas between them"),
        (["--lr", "2"], "--lr 2: give a number above 0, at most 1"),
        (["--lr", "0.1,0.1"], "'lr' has the choice 0.1 twice"),
        (["--method", "best"], "method='best': give 'grid' or 'random' or 'tpe'"),
        (["--method", "tpe"], "method='tpe' needs to know how many: give trials="),
        (["--prune", "worst"], "prune='worst': give 'median'"),
        (["--seed", "-1"], "--seed -1: a seed is an integer from 0"),
        (["--data", "none.csv"], "'none.csv' cannot be read"),
        (["--out", "pets.csv"], "--out 'pets.csv': no file can be made"),
    ],
)
def test_bad_options_are_found_before_anything_runs(
    pets: Path, args: list[str], reason: str
) -> None:
    result = petnames("sweep", "--data", "pets.csv", "--on", "cores:1", *args)
    assert result.exit_code == 2
    assert f"speedcube petnames sweep: {reason}" in result.stderr
    assert sorted(Path().rglob("*")) == [Path("pets.csv")]
