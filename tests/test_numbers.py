"""Numbers as people read them: rounding, units, and what is no number."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speedcube.numbers import (
    bytes_text,
    count_text,
    duration_text,
    seconds_text,
    shape_text,
    times_text,
    value_text,
)

UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86_400.0}
COUNTS = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


def number(text: str, units: dict[str, float]) -> float:
    digits, _, unit = text.partition(" ")
    return float(digits.replace(",", "")) * units[unit]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "-"), (3.2e-6, "3.2 us"), (0.04, "40 ms"), (0.9994, "999 ms"), (0.9996, "1 s"),
        (9.083, "9.08 s"), (119.96, "2 min"), (119.4, "119 s"), (555.9, "9.26 min"),
        (7199.0, "2 h"), (1e5, "27.8 h"), (1e6, "11.6 d"), (1e9, "11,600 d"),
    ],
)  # fmt: skip
def test_seconds(seconds: float | None, text: str) -> None:
    assert seconds_text(seconds) == text


def test_other_numbers() -> None:
    assert [count_text(n) for n in (None, 7, 999_600, 2.75e8, 2.54e11, 3e15)] == [
        "-", "7", "1 M", "275 M", "254 G", "3,000 T",
    ]  # fmt: skip
    assert [times_text(None), times_text(61.234), times_text(12345.6, True)] == [
        "-", "61.2x", "~12,300x",
    ]  # fmt: skip
    assert shape_text((20_000, 10_000)) == "20,000 x 10,000"
    assert seconds_text(200.0, 2) == "3.3 min"


@given(st.floats(1e-6, 1e12))
def test_numbers_keep_three_digits_and_have_no_exponent(value: float) -> None:
    assert number(seconds_text(value), UNITS) == pytest.approx(value, rel=0.0051)
    assert "e" not in seconds_text(value)
    assert len(seconds_text(value).split()[0].replace(".", "")) <= 3 or value > 8e7
    assert number(count_text(1e3 + value), COUNTS) == pytest.approx(1e3 + value, rel=0.0051)
    assert "e" not in count_text(1e3 + value)


def test_numbers_and_times_as_people_read_them() -> None:
    assert [value_text(v) for v in (0.123456789, 1e-9, 3, True, None, math.nan)] == [
        "0.12346",
        "1e-09",
        "3",
        "True",
        "None",
        "NaN",
    ]
    assert [duration_text(s) for s in (0.04, 59.94, 59.96, 3599.4, 3599.6, 90_000)] == [
        "0.0 s",
        "59.9 s",
        "1 min 00 s",
        "59 min 59 s",
        "1 h 00 min",
        "25 h 00 min",
    ]


def test_bytes() -> None:
    sizes = (0, 999, 1000, 123_456_789, 2.164e12, 5e21)
    assert [bytes_text(size) for size in sizes] == [
        "0 B",
        "999 B",
        "1 kB",
        "123.5 MB",
        "2.164 TB",
        "5000 EB",
    ]
    assert [bytes_text(size, ("bytes", "kB", "MB", "GB")) for size in sizes[1:5]] == [
        "999 bytes",
        "1 kB",
        "123.5 MB",
        "2164 GB",
    ]
