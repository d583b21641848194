"""What the machine has, where a container has less."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from speedcube.engine import machine

HERE = len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    ("limit", "cores"),
    [
        ("max 100000", HERE),
        ("100000 100000", 1),
        ("150000 100000", 1),
        ("50000 100000", 1),
        ("200000 100000", min(2, HERE)),
        ("6400000 100000", min(64, HERE)),
        ("400000 200000", min(2, HERE)),
        ("nonsense", HERE),
        ("", HERE),
    ],
)
def test_a_containers_share_of_the_cores(
    limit: str, cores: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file has the kernel's format; a real group cannot be made where others own them."""
    file = tmp_path / "cpu.max"
    file.write_text(limit + "\n")
    monkeypatch.setattr(machine, "CPU_LIMIT", file)
    assert machine.cores.__wrapped__() == cores


def test_no_group_limits_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "CPU_LIMIT", tmp_path / "absent")
    assert machine.cores.__wrapped__() == HERE
