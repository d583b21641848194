"""Examples of property tests: the same in ordinary runs, new ones where they are asked for."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).with_name("conftest.py")
DRAWING = """
import pytest
from hypothesis import given, settings, strategies as st

@given(st.lists(st.integers()))
@settings(max_examples=20)
def test_draws(numbers):
    with open("drawn.txt", "a") as file:
        print(numbers, file=file)

def test_other():
    pass
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copy(CONFTEST, tmp_path)
    (tmp_path / "test_drawing.py").write_text(DRAWING)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    slow: long\n    gpu: one\n")
    return tmp_path


def drawn(folder: Path, *options: str) -> tuple[str, str]:
    """What a run draws, and what it prints."""
    file = folder / "drawn.txt"
    file.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return file.read_text(), ended.stdout


def test_ordinary_runs_draw_the_same(folder: Path) -> None:
    first, output = drawn(folder, "-m", "not gpu and not slow")
    assert drawn(folder)[0] == first
    assert "2 passed" in output
    assert "examples were new" not in output


@pytest.mark.slow
def test_slow_runs_draw_new_ones_and_say_what_repeats_them(folder: Path) -> None:
    first, output = drawn(folder, "-m", "slow and not gpu")
    second, _ = drawn(folder, "-m", "slow and not gpu")
    assert first != second
    assert "1 passed, 1 deselected" in output
    seed = re.search(r"examples were new; (--hypothesis-seed=\d+) draws them again", output)
    assert seed is not None
    assert drawn(folder, "-m", "slow", seed[1])[0] == first
    assert drawn(folder, seed[1], "-n", "1")[0] == first  # a seed alone, and in a worker
