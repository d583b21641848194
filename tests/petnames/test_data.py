"""Names become the published rows: alphabet, prefixes, windows, and whole names held out."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from speedcube.petnames.names import alphabet, data

NAMES = st.lists(st.text(alphabet.LETTERS, min_size=1, max_size=20), max_size=20)
SYMBOLS = "*+" + alphabet.LETTERS  # the published order; * is the blank and + the stop mark


def written(rows: np.ndarray) -> list[str]:
    return ["".join(SYMBOLS[code] for code in row) for row in rows]


def test_the_rows_of_a_short_and_of_a_long_name() -> None:
    assert written(data.rows(["rex"])) == ["********r", "*******re", "******rex", "*****rex+"]
    assert written(data.rows(["mr. whiskers", "bo"]))[-6:] == [
        ". whisker",
        " whiskers",
        "whiskers+",
        "********b",
        "*******bo",
        "******bo+",
    ]


@given(NAMES)
def test_every_prefix_of_every_name_is_a_row(names: list[str]) -> None:
    ended = [f"{name}+" for name in names]
    prefixes = [name[: end + 1] for name in ended for end in range(len(name))]
    rows = data.rows(names)
    assert rows.dtype == np.uint8
    assert rows.shape == (len(prefixes), 9)
    assert written(rows) == [prefix[-9:].rjust(9, "*") for prefix in prefixes]
    assert data.characters(rows) == sum(min(len(prefix), 8) for prefix in prefixes)


def test_what_is_clean() -> None:
    said = [
        "Rex",
        "Mr. T",
        "Anna-Lu",
        " Max ",
        "Zoé",
        "R2D2",
        "O'Hara",
        "",
        "-",
        "Bo\n",
        "\u212ait",
    ]
    assert data.clean(said) == ["rex", "mr. t", "anna-lu", " max ", "-", "kit"]
    assert data.clean(["Bo", "bo"]) == ["bo", "bo"]


@given(st.text())
def test_a_clean_name_has_letters_of_the_alphabet_only(text: str) -> None:
    assert data.clean([text]) == (
        [text.lower()] if text and set(text.lower()) <= set(alphabet.LETTERS) else []
    )


@given(NAMES)
def test_whole_names_are_held_out(names: list[str]) -> None:
    training, held_out = data.split(names)
    assert training == [name for name in names if zlib.crc32(name.encode()) % 10 != 0]
    assert held_out == [name for name in names if zlib.crc32(name.encode()) % 10 == 0]


def test_names_that_are_held_out() -> None:
    many = [
        first + second + third for first in "abcdefgh" for second in "aeiou" for third in "lmnr"
    ]
    assert (
        " ".join(data.split(many)[1])
        == "aam aem aon can com cur dir eem eil eim eol eom gam gan gel gol har"
    )


@given(st.text(alphabet.LETTERS))
def test_codes_and_letters(text: str) -> None:
    codes = alphabet.encode(text)
    assert [SYMBOLS[code] for code in codes] == list(text)
    assert alphabet.decode(codes) == text


@pytest.mark.parametrize(
    ("name", "shown"),
    [("rex", "Rex"), ("mr. mary-jane", "Mr. Mary-Jane"), ("j.r. bo", "J.R. Bo"), ("-a", "-A")],
)
def test_capitals(name: str, shown: str) -> None:
    assert alphabet.capitalised(name) == shown
