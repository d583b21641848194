"""A model's directory is whole or refused, and the names drawn from it are new and repeatable."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save as pack
from safetensors.torch import save
from typer.testing import CliRunner, Result

from speedcube import cli
from speedcube.errors import CheckpointError
from speedcube.petnames import card
from speedcube.petnames.generate_command import show
from speedcube.petnames.invent import invent
from speedcube.petnames.model import make_model
from speedcube.petnames.names.known import Known, tidy

DATA = ["rex", " sweet  pea ", "bo"]
FACTS: dict[str, Any] = {
    "data": {
        "origin": "pets.csv",
        "sha256": "0" * 64,
        "names": 3,
        "distinct": 3,
        "training_rows": 5,
        "validation_rows": 4,
    },
    "settings": {
        "epochs": 2,
        "batch": 8,
        "batch_per_rank": False,
        "lr": 0.001,
        "seed": 0,
        "ranks": 1,
    },
    "losses": {"training": 2.0, "validation": 2.5, "best_validation": 2.25, "best_epoch": 1},
    "seconds": 1.5,
}


class Letters(torch.nn.Module):
    """Draws by fixed chances of letters, whatever stands before."""

    def __init__(self, chances: dict[int, float]) -> None:
        super().__init__()
        self.logits = torch.full((31,), -1e9)
        self.logits[0] = 50.0  # a blank would be likeliest, but is none of the letters
        for code, chance in chances.items():
            self.logits[code] = np.log(chance)

    def forward(self, windows: torch.Tensor) -> torch.Tensor:
        return self.logits.expand(len(windows), 8, 31)


@pytest.fixture(scope="module")
def weights() -> bytes:
    torch.manual_seed(0)
    return save(make_model().state_dict())


@pytest.fixture
def model(tmp_path: Path, weights: bytes) -> Path:
    directory = tmp_path / "model"
    directory.mkdir()
    card.save(directory, weights, Known.of(DATA), FACTS)
    return directory


def generate(*args: object) -> Result:
    return CliRunner().invoke(cli.app, ["petnames", "generate", *map(str, args)])


# Names


def test_names_are_capitalised_different_new_and_repeatable(model: Path) -> None:
    first = generate("--model", model, "--n", 30, "--seed", 7)
    assert first.exit_code == 0
    names = first.stdout.splitlines()
    assert len(names) == len(set(names)) == 30
    for name in names:
        assert re.fullmatch(r"[A-Za-z. -]+", name)
        assert not re.search(r"(?<![A-Za-z])[a-z]", name)
        assert name == name.strip()
    assert generate("--model", model, "--n", 30, "--seed", 7).stdout == first.stdout
    assert generate("--model", model, "--n", 12, "--seed", 7).stdout.splitlines() == names[:12]
    assert generate("--model", model, "--n", 30, "--seed", 8).stdout != first.stdout


def test_names_begin_as_asked(model: Path) -> None:
    names = generate("--model", model, "--n", 5, "--start", "Mar").stdout.splitlines()
    assert len(names) == 5
    assert all(name.startswith("Mar") for name in names)
    (name,) = generate("--model", model, "--n", 1, "--start", "mr. B").stdout.splitlines()
    assert name.startswith("Mr. B")


def test_the_names_of_the_data_are_not_invented() -> None:
    letters = Letters({1: 1.0, 2: 1.0, 3: 1.0})  # stop, a, b
    everything = invent(letters, Known.of([]), 6, 0, 1.0, "")
    known = [name.lower() for name in everything[:3]]
    assert set(everything[3:]) <= set(invent(letters, Known.of(known), 6, 0, 1.0, ""))
    assert not set(everything[:3]) & set(invent(letters, Known.of(known), 200, 0, 1.0, ""))


def test_letters_come_as_often_as_their_chances() -> None:
    letters = Letters({1: 1.0, 2: 6.0, 3: 2.0, 4: 1.0})
    text = "".join(invent(letters, Known.of([]), 500, 0, 1.0, "")).lower()
    # Names are different, which favours the rarer letters a little.
    assert 0.5 < text.count("a") / len(text) < 0.67
    colder = "".join(invent(letters, Known.of([]), 100, 0, 0.5, "")).lower()
    assert colder.count("a") / len(colder) > text.count("a") / len(text) + 0.1


def test_a_tiny_temperature_takes_the_likeliest_letter() -> None:
    assert invent(Letters({2: 3.0, 3: 1.0}), Known.of([]), 1, 0, 5e-324, "") == []  # never ends
    stops = Letters({1: 3.0, 3: 1.0})
    assert invent(stops, Known.of([]), 2, 0, 5e-324, "ab") == ["Ab"]


def test_a_terminal_gets_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    names = ["Mardy", "Marlo", "Bo", "Tockie", "Mr. Parch"]
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setattr("sys.stdout", screen := Terminal())
    show(names)
    lines = screen.getvalue().splitlines()
    assert len(lines) == 2
    assert max(map(len, lines)) <= 30
    assert sorted("  ".join(lines).split()) == sorted(" ".join(names).split())


def test_too_few_new_names_are_told(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("speedcube.petnames.invent._PATIENCE", 2)
    result = generate("--model", model, "--n", 9, "--temperature", 1e-9, "--start", "ab")
    assert result.exit_code == 1
    assert len(result.stdout.splitlines()) <= 1
    assert re.fullmatch(
        r"speedcube petnames generate: only [01] of 9 new names were found; raise --temperature, "
        r"shorten --start, or ask for fewer\n",
        result.stderr,
    )


@given(st.lists(st.text("ab .-", max_size=4)))
def test_known_names(names: list[str]) -> None:
    known = Known.of(names)
    assert all(name in known and f" {name}  " in known for name in names)
    assert "abba" not in known or "abba" in [tidy(name) for name in names]
    assert "rexy" not in known


# Directories


def test_a_model_comes_back_whole(model: Path, weights: bytes) -> None:
    assert sorted(path.name for path in model.iterdir()) == [
        "README.md",
        "card.json",
        "known.safetensors",
        "weights.safetensors",
    ]
    loaded = card.load(model)
    assert save(loaded.network.state_dict()) == weights
    assert not loaded.network.training
    assert "sweet pea" in loaded.known
    assert "sweet" not in loaded.known
    assert loaded.card["losses"] == FACTS["losses"]
    text = (model / "README.md").read_text()
    assert "3 names (3 different) from pets.csv, SHA-256\n`0000" in text
    assert "| validation loss | 2.5000 (perplexity 12.18) |" in text
    assert "| batch | 8 |" in text


def refused(directory: Path) -> str:
    with pytest.raises(CheckpointError) as caught:
        card.load(directory)
    result = generate("--model", directory)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr == f"speedcube petnames generate: {caught.value}\n"
    return str(caught.value)


def resealed(directory: Path, name: str, content: bytes) -> None:
    """Put ``content`` into a file and its right checksum onto the card."""
    (directory / name).write_bytes(content)
    facts = json.loads((directory / "card.json").read_text())
    facts["files"][name] = hashlib.sha256(content).hexdigest()
    (directory / "card.json").write_text(json.dumps(facts))


def test_no_directory_and_an_empty_one(tmp_path: Path) -> None:
    assert "is not a directory; name one that train wrote" in refused(tmp_path / "none")
    (tmp_path / "swept").mkdir()
    (tmp_path / "swept" / "sweep.json").touch()
    assert "holds a sweep, whose trials keep no model" in refused(tmp_path / "swept")
    assert "card.json' cannot be used: it is missing: the training that made it" in refused(
        tmp_path
    )


@pytest.mark.parametrize("name", ["weights.safetensors", "known.safetensors"])
def test_half_and_tampered_models(model: Path, name: str) -> None:
    content = (model / name).read_bytes()
    where = f"{str(model / name)!r} cannot be used: "
    for changed in (b"", content[:-1], content[:-1] + bytes([content[-1] ^ 1]), content + b"\0"):
        (model / name).write_bytes(changed)
        assert refused(model).startswith(where + "its SHA-256 is not the one that card.json has")
    (model / name).unlink()
    assert refused(model).startswith(where + "it is missing: the directory is not whole")
    (model / name).mkdir()
    assert refused(model).startswith(where + "Is a directory")


def test_files_with_a_right_checksum_and_a_wrong_content(model: Path, weights: bytes) -> None:
    state = make_model().state_dict()
    no_weights = "weights.safetensors' cannot be used: it does not hold the weights of this network"
    for content in (
        b"",
        b"not safetensors",
        weights[:100],
        pack({}),
        save({**state, "more": torch.ones(1)}),
        save({**state, "linear.bias": torch.ones(30)}),
    ):
        resealed(model, "weights.safetensors", content)
        assert no_weights in refused(model)
    resealed(
        model,
        "weights.safetensors",
        save({**state, "linear.bias": torch.tensor([np.nan] + 30 * [0.0])}),
    )
    assert "weights are not finite" in refused(model)
    resealed(model, "weights.safetensors", weights)
    for hashes in (
        {},
        {"hashes": np.zeros(3, np.uint64)},
        {"hashes": np.arange(3)},
        {"hashes": np.zeros((1, 1), np.uint64)},
    ):
        resealed(model, "known.safetensors", pack(hashes))
        assert "known.safetensors' cannot be used: it" in refused(model)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"schema": 2}',
        "[" * 100_000,
        '{"schema": 1}',
        '{"schema": 1, "files": {"weights.safetensors": 5}}',
        '{"schema": 1, "files": []}',
    ],
)
def test_cards_that_are_none(model: Path, text: str) -> None:
    (model / "card.json").write_text(text)
    assert "cannot be used: it" in refused(model)


def test_the_newest_model_is_taken(
    tmp_path: Path, weights: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = generate()
    assert result.exit_code == 2
    assert (
        "there is no trained model below ./petnames-runs; run speedcube petnames train"
        in result.stderr
    )
    for number, name in enumerate(("b", "a", "unfinished")):
        directory = tmp_path / "petnames-runs" / name
        directory.mkdir(parents=True)
        if name != "unfinished":
            card.save(directory, weights, Known.of(DATA), FACTS)
            os.utime(directory / "card.json", (number, number))
    assert card.newest() == Path("petnames-runs/a")
    assert generate("--n", 3).exit_code == 0


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        (["--n", "0"], "--n 0: give a number from 1 to 100,000"),
        (["--n", "100001"], "--n 100001: give a number from 1 to 100,000"),
        (["--seed", "-1"], "--seed -1: a seed is an integer from 0 to 2**63 - 1"),
        (["--seed", str(2**63)], "a seed is an integer from 0 to 2**63 - 1"),
        (["--temperature", "0"], "--temperature 0: give a number above 0, at most 100"),
        (["--temperature", "-1"], "--temperature -1: give a number above 0, at most 100"),
        (["--temperature", "nan"], "--temperature nan: give a number above 0"),
        (["--temperature", "inf"], "--temperature inf: give a number above 0"),
        (["--start", "Zoé7"], "--start 'Zoé7' has '7', 'é'; names are made of a-z, hyphen"),
        (["--start", "a\n"], r"--start 'a\n' has '\n'; names are made of"),
        (["--start", " bo"], "--start ' bo': no name begins with a space or has two in a row"),
        (["--start", "a  b"], "--start 'a  b': no name begins with a space or has two in a row"),
        (["--start", "a" * 17], "has 17 characters; give at most 16"),
    ],
)
def test_bad_options(model: Path, args: list[str], reason: str) -> None:
    result = generate("--model", model, *args)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("speedcube petnames generate: ")
    assert reason in result.stderr
    assert result.stderr.count("\n") == 1
