"""The documentation's programs run, and say what their pages say."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"


def test_from_scratch_runs() -> None:
    """The whole idea in one file: any number of workers gives the same bits."""
    done = subprocess.run(
        [sys.executable, "-W", "error", str(DOCS / "from-scratch.py")],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    total, by_workers = done.stdout.splitlines()[-2:]
    value = float(re.fullmatch(r"sum of \(x \+ 1\)\[::2, ::2\]: (\S+)", total)[1])  # type: ignore[index]
    hexes = re.findall(r"(\d+): '(0x[^']+)'", by_workers)
    assert [int(count) for count, _ in hexes] == [1, 2, 3, 7]
    assert {float.fromhex(text) for _, text in hexes} == {value}


def test_from_scratch_stays_short_and_explained() -> None:
    """About 300 lines; the parts are numbered and in order."""
    text = (DOCS / "from-scratch.py").read_text()
    assert len(text.splitlines()) <= 320
    parts = [int(n) for n in re.findall(r"^# (\d+)\. ", text, re.MULTILINE)]
    assert parts == list(range(1, len(parts) + 1))
    assert len(parts) >= 5


def python_blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


PAGES = [page for page in (ROOT / "README.md", *sorted(DOCS.glob("*.md"))) if python_blocks(page)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_programs_on_a_page_compile(page: Path) -> None:
    for block in python_blocks(page):
        compile(block, str(page), "exec")


def test_the_readmes_first_program_runs() -> None:
    """At a smaller size, for 2 TB take minutes on a core; on cores where the page says GPUs."""
    (first, *_) = python_blocks(ROOT / "README.md")
    small = re.sub(r"\d{3}_000", "1_000", first).replace('"gpus"', '"cores"')
    assert small != first
    done = subprocess.run(
        [sys.executable, "-c", small],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr


def test_what_same_bits_shows_is_there() -> None:
    """Every measurement that the page names exists, and says equal."""
    page = (DOCS / "same-bits.md").read_text()
    named = re.findall(r"`([\w-]+\.json)`", page)
    assert len(named) >= 4
    found = {name: json.loads((ROOT / "measurements" / name).read_text()) for name in named}
    runs = found["verify-2cores.json"]["runs"]
    assert [run["machine"]["simd"] for run in runs] == ["avx512", "avx2", "plain"]
    assert all(run["equal"] and run["list"] == "stream v1" for run in runs)
    figures = found["h200-elementary.json"]["figures"].values()
    assert all(figure["bits of the CPU"] for figure in figures)
    by_name: dict[str, set[str]] = {}
    for row in found["h200x4-bench-gpu.json"]["rows"]:
        by_name.setdefault(row["name"], set()).add(row["bits"])
    assert all(len(bits) == 1 for bits in by_name.values())
    for target in re.findall(r"\]\(([^)]+)\)", page):
        assert (DOCS / target).exists(), target
