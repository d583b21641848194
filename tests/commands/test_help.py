"""Help is wrapped once, by the terminal: no line ends in the middle of a sentence for nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from speedcube import cli
from speedcube.__about__ import __version__
from speedcube.commands.words import unwrapped

RUN = CliRunner()


def commands(group: Any = None, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The words of every command, also of those in groups."""
    group = group or typer.main.get_command(cli.app)
    yield path
    for name, one in group.commands.items():
        yield from commands(one, (*path, name)) if hasattr(one, "commands") else [(*path, name)]


def described(text: str) -> list[list[str]]:
    """The paragraphs above the options, as lines."""
    above = text.split("╭")[0].split("\n")
    paragraphs: list[list[str]] = [[]]
    for each in above:
        if each.strip():
            paragraphs[-1].append(each.strip())
        elif paragraphs[-1]:
            paragraphs.append([])
    return [one for one in paragraphs if one][1:]  # the first is how to use it


def early(paragraph: list[str], width: int) -> list[str]:
    """Lines that end although the next word still had room."""
    pairs = pairwise(paragraph)
    return [one for one, after in pairs if len(one) + 1 + len(after.split()[0]) <= width - 2]


def test_there_are_commands() -> None:
    found = [*commands()]
    assert {(), ("ladder",), ("petnames",), ("petnames", "train")} <= {*found}
    assert len(found) >= 10


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("path", [*commands()], ids=" ".join)
def test_help_is_wrapped_once(
    path: tuple[str, ...], width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr("typer.rich_utils.MAX_WIDTH", width)
    done = RUN.invoke(cli.app, [*path, "--help"], prog_name="speedcube")
    assert done.exit_code == 0
    lines = done.output.split("\n")
    assert max(map(len, lines)) <= width
    paragraphs = described(done.output)
    assert paragraphs
    assert [line for one in paragraphs for line in early(one, width)] == []
    assert "``" not in done.output


def test_a_line_that_ends_early_is_seen() -> None:
    assert early(["interrupted,", "141 all equal"], 60) == ["interrupted,"]
    assert early(["x" * 57, "141 all equal"], 60) == []


def test_paragraphs_stay_apart() -> None:
    assert unwrapped("One\ntwo ``| head``.\n\n  Three\nfour.\n") == "One two | head.\n\nThree four."


def test_speedcube_alone_greets_in_five_lines() -> None:
    done = RUN.invoke(cli.app, [])
    assert done.exit_code == 0
    lines = done.output.rstrip("\n").split("\n")
    assert len(lines) == 5
    assert max(map(len, lines)) <= 66
    assert lines[0].startswith(f"speedcube {__version__}: ")
    named = [match[1] for one in lines[1:] if (match := re.match(r"  speedcube (\S+)  ", one))]
    assert named == ["doctor", "verify", "ladder", "--help"]
    assert {*named[:3]} <= {path[0] for path in commands() if path}
