"""``speedcube petnames train``: two real ranks, a model, its card, and every bad option."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from safetensors.torch import save
from typer.testing import CliRunner, Result

from speedcube import cli
from speedcube.errors import RankError
from speedcube.petnames import card, train_command
from speedcube.petnames.model import make_model
from speedcube.petnames.names import data, source

SMALL = [name.capitalize() for name in source.sample().names[:90]]


@pytest.fixture
def pets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small file, and a directory to be in."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "pets.csv"
    path.write_text("\n".join(["Animal's Name", *SMALL, "R2D2", ""]))
    return path


def train(*args: object) -> Result:
    return CliRunner().invoke(cli.app, ["petnames", "train", *map(str, args)])


def generate(*args: object) -> Result:
    return CliRunner().invoke(cli.app, ["petnames", "generate", *map(str, args)])


@pytest.mark.cluster
def test_two_ranks_train_a_model_that_invents_names(pets: Path) -> None:
    result = train("--on", "cores:2", "--data", "pets.csv", "--epochs", 1, "--batch", 60)
    assert result.exit_code == 0, result.output
    first, epoch, last = result.stdout.splitlines()
    training, held_out = data.split([name.lower() for name in SMALL])
    assert first == (
        f"{len(training)} names to train on, {len(held_out)} held out, from pets.csv; "
        "1 epochs, batches of 60 rows"
    )
    losses = re.fullmatch(
        r"epoch 1 of 1   loss ([23]\.\d{4})   validation ([23]\.\d{4})   .*s", epoch
    )
    assert losses is not None
    (run,) = Path("petnames-runs").iterdir()
    assert last == (
        f"Validation loss {losses[2]} a character. Weights and card are in {run}; "
        f"names: speedcube petnames generate --model {run}"
    )
    facts = card.load(run).card
    assert facts["settings"] == {
        "epochs": 1,
        "batch": 60,
        "batch_per_rank": False,
        "lr": 0.01,
        "seed": 0,
        "ranks": 2,
        "arithmetic": "float32 in PyTorch",
    }
    assert facts["data"]["names"] == 90
    assert facts["data"]["sha256"] == source.load("pets.csv", print).sha256
    assert facts["data"]["training_rows"] == len(data.rows(training))
    assert f"{facts['losses']['validation']:.4f}" == losses[2]
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    last_of = {row["rank"]: row["metrics"] for row in rows if "metrics" in row}
    assert last_of[0] == last_of[1]  # the mean over ranks, on both
    assert last_of[0]["loss"] == facts["losses"]["training"]
    names = generate("--n", 5).stdout.splitlines()
    assert len(names) == 5
    assert not {name.lower() for name in names} & {name.lower() for name in SMALL}
    again = train("--out", run, "--data", "pets.csv")
    assert again.exit_code == 2
    assert "holds a trained model; name another directory" in again.stderr


def test_a_line_within_an_epoch_has_four_digits_of_it() -> None:
    row = {"metrics": {"epoch": 2.0993716, "loss": 3.23271}, "seconds": 49.2}
    assert train_command._line(row, 3) == "epoch 2.099 of 3   loss 3.2327   49.2 s"


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        (["--on", "bogus"], "unknown rung 'bogus'; rungs here: core"),
        (["--on", "cores:0"], "'cores:0' asks for 0 threads"),
        (["--on", "core,cores"], "--on 'core,cores' names 2 rungs; training runs on one"),
        (["--on", ","], "--on ',' names no rung"),
        (["--epochs", "0"], "--epochs 0: give a number from 1 to 100,000"),
        (["--batch", "0"], "--batch 0: give a number from 1 to 16,777,216"),
        (["--lr", "0"], "--lr 0: give a number above 0, at most 1"),
        (["--lr", "nan"], "--lr nan: give a number above 0"),
        (["--lr", "2"], "--lr 2: give a number above 0, at most 1"),
        (["--seed", "-1"], "--seed -1: a seed is an integer from 0"),
        (["--data", "none.csv"], "'none.csv' cannot be read: No such file or directory"),
        (["--data", "."], "'.' cannot be read: Is a directory"),
        (["--data", "s3://bucket/pets.csv"], "'s3://bucket/pets.csv' cannot be fetched: only http"),
        (["--out", "pets.csv"], "--out 'pets.csv': no file can be made in 'pets.csv' (Not a dir"),
        (["--out", "/proc/x"], "--out '/proc/x': no file can be made in '/proc'"),
        (["--out", "full"], "--out 'full' is not empty and holds no training to go on with"),
        (["--out", "other"], "--out 'other' holds an unfinished training with other settings"),
    ],
)
def test_bad_options_are_found_before_anything_runs(
    pets: Path, args: list[str], reason: str
) -> None:
    for name, file in (("full", "letter.txt"), ("other", "petnames.json")):
        Path(name).mkdir()
        Path(name, file).write_text("{}")
    before = sorted(Path().rglob("*"))
    result = train("--data", "pets.csv", *args)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("speedcube petnames train: ")
    assert reason in result.stderr
    assert result.stderr.count("\n") == 1
    assert sorted(Path().rglob("*")) == before


class FakeJob:
    """A job of one epoch that ends as told."""

    def __init__(self, end: BaseException | None, value: object = None) -> None:
        self.end, self.value = end, value
        metrics = {"epoch": 1, "loss": 3.25, "validation_loss": 3.5}
        self.reports = [{"rank": 0, "step": 1, "seconds": 2.0, "metrics": metrics}]

    def __iter__(self) -> Iterator[dict[str, object]]:
        yield from self.reports
        if self.end is not None:
            raise self.end

    def rows(self) -> list[dict[str, object]]:
        return self.reports

    def results(self) -> list[object]:
        return [self.value, None]


@pytest.fixture
def job(monkeypatch: pytest.MonkeyPatch) -> FakeJob:
    """What `train.run` gives; nothing runs."""
    value = {"weights": save(make_model().state_dict()), "arithmetic": "float32 in PyTorch"}
    job = FakeJob(None, value)

    def run(fit: object, *args: object, out: Path, **options: object) -> FakeJob:
        assert options == {
            "on": None,
            "name": "petnames",
            "stop_on_nan": True,
            "progress": False,
        }
        out.mkdir(parents=True, exist_ok=True)
        return job

    monkeypatch.setattr("speedcube.train.run", run)
    return job


def test_an_interrupted_training_can_be_continued(pets: Path, job: FakeJob) -> None:
    job.end = KeyboardInterrupt()
    asked = ["--data", "pets.csv", "--out", "run", "--epochs", "3"]
    result = train(*asked)
    assert result.exit_code == 130
    assert result.stdout.splitlines()[1] == "epoch 1 of 3   loss 3.2500   validation 3.5000   2 s"
    assert result.stderr == "Interrupted; the same command with --out run continues.\n"
    for other in (["--seed", "1"], ["--lr", "0.02"], ["--batch", "50"], ["--batch-per-rank"]):
        again = train(*asked, *other)
        assert again.exit_code == 2
        assert (
            "--out 'run' holds an unfinished training with other settings or data" in again.stderr
        )
    pets.write_text("name\n" + "\n".join(SMALL))
    assert "other settings or data" in train(*asked).stderr
    pets.write_text("\n".join(["Animal's Name", *SMALL, "R2D2", ""]))
    job.end = None
    assert train(*asked).exit_code == 0
    assert card.load(Path("run")).card["losses"]["validation"] == 3.5
    assert not [path for path in Path("run").iterdir() if path.name.startswith(".")]


def test_a_training_that_fails_says_why(pets: Path, job: FakeJob) -> None:
    job.end = RankError("rank 1 died")
    result = train("--data", "pets.csv")
    assert result.exit_code == 1
    assert result.stderr == "speedcube petnames train: rank 1 died\n"


def test_a_model_that_cannot_be_written_is_told(pets: Path, job: FakeJob) -> None:
    Path("run/README.md").mkdir(parents=True)
    Path("run/petnames.json").write_text("{}")
    asked = ["--data", "pets.csv", "--out", "run"]
    chosen = train_command.checked(None, "pets.csv", 10, None, False, 0.01, 0, "new")
    Path("run/petnames.json").write_text(json.dumps(chosen.plan()))
    result = train(*asked)
    assert result.exit_code == 1
    assert result.stderr == (
        "speedcube petnames train: the model cannot be written to 'run': Is a directory\n"
    )
    assert not Path("run/card.json").exists()


def test_the_batch_of_a_small_file_is_smaller(pets: Path) -> None:
    rows = sum(len(name) + 1 for name in data.split([name.lower() for name in SMALL])[0])
    chosen = train_command.checked(None, "pets.csv", 10, None, False, 0.01, 0, "new")
    assert chosen.hyperparameters.batch == rows // 64
    chosen = train_command.checked(None, "pets.csv", 10, 9, False, 0.01, 0, "new")
    assert chosen.hyperparameters.batch == 9


def test_packages_that_are_missing_are_named(pets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("speedcube.petnames.options.find_spec", lambda name: None)
    for result in (train("--data", "pets.csv"), generate()):
        assert result.exit_code == 2
        assert (
            "torch and safetensors cannot be imported; pip install speedcube[train]"
            in result.stderr
        )
