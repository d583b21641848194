"""Chaos: programs whose workers are killed, stopped, retired or added give the same bits.

With ``SPEEDCUBE_ENDURANCE=1`` the slow ones take hours: 2,000 faults, and an hour of churn.
"""

from __future__ import annotations

import faulthandler
import json
import os
import subprocess
import sys
from pathlib import Path

import churn
import faults
import pytest

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
    # What was connecting to a worker that has gone is cancelled in the middle of TLS.
    pytest.mark.filterwarnings("ignore:unclosed <ssl:ResourceWarning"),
]
pytest.importorskip("distributed")

LONG = os.environ.get("SPEEDCUBE_ENDURANCE") == "1"
FAULTS, MINUTES, EVERY = (2000, 60, 3) if LONG else (20, 1, 4)


@pytest.fixture
def patient() -> None:
    """No end after five minutes, as other tests have it, where hours were asked for."""
    if LONG:
        faulthandler.cancel_dump_traceback_later()


def _check(count: int, seed: int, folder: Path) -> list[faults.Row]:
    before = faults.children()
    rows = faults.run(count, workers=3, seed=seed, folder=folder)
    assert [row for row in rows if row.wrong] == []
    assert len(rows) == count
    assert faults.left_behind(before, folder) == []
    return rows


def test_a_few_faults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = ["sum", "to_zarr"]
    monkeypatch.setattr(faults, "PROGRAMS", {name: faults.PROGRAMS[name] for name in few})
    kinds = ["SIGKILL", "retire", "SIGTERM"]
    monkeypatch.setattr(faults, "FAULTS", {name: faults.FAULTS[name] for name in kinds})
    assert len({row.fault for row in _check(3, 1, tmp_path)}) == 3


@pytest.mark.slow
@pytest.mark.usefixtures("patient")
def test_many_faults_over_twelve_programs(tmp_path: Path) -> None:
    rows = _check(FAULTS, 2, tmp_path)
    assert {row.program for row in rows} == {*faults.PROGRAMS}
    assert {row.fault for row in rows} == {*faults.FAULTS}


@pytest.mark.slow
@pytest.mark.usefixtures("patient")
def test_churn(tmp_path: Path) -> None:
    """A worker comes or goes every few seconds while program after program computes."""
    file = tmp_path / "churn.json"
    pace = [f"--minutes={MINUTES}", f"--every={EVERY}", "--json", str(file)]
    command = [sys.executable, str(Path(churn.__file__)), "--forked", *pace]
    limit = 60 * MINUTES + 240
    done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(file.read_text())
    assert (found["wrong"], found["left"]) == ([], [])
    assert {*found["events"]} == {*churn.EVENTS}
    assert found["programs"] >= len(faults.PROGRAMS)
    threads = [row["threads"] for row in found["held"][1:]]
    assert max(threads) - min(threads) <= 12, "none is left for each worker that has gone"


def test_a_wrong_result_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a check that sees nothing cannot pass."""
    values = iter(range(10))

    def broken(*_: object) -> bytes:
        number = next(values)
        if number == 3:
            raise ValueError("no")
        return bytes([number // 2])

    monkeypatch.setattr(faults, "PROGRAMS", {"changing": broken})
    monkeypatch.setattr(faults, "FAULTS", {"none": lambda _: None})
    rows = faults.run(2, workers=1, seed=0, folder=tmp_path)
    assert [row.wrong for row in rows] == ["other bits", "ValueError: no"]
    (tmp_path / ".speedcube-1.part").touch()
    assert faults.left_behind(faults.children(), tmp_path) == [str(tmp_path / ".speedcube-1.part")]
