"""What an error shows of a rank's log, and programs written for torchrun."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from speedcube import train
from speedcube.errors import ParameterError
from speedcube.train.driver import words

pytestmark = pytest.mark.cluster


@pytest.fixture(autouse=True)
def _in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    job = train.run(function, *args, on="cores:2", progress=False, **options)
    return job.results()


def mismatched() -> None:
    import torch
    from torch import distributed as dist

    print("\x1b[31mred\x1b[0m\x07 line")
    for _ in range(3):
        dist.all_reduce(torch.ones(4 if train.rank() else 1_000_000))


def test_a_death_shows_the_last_lines_of_the_log() -> None:
    with pytest.raises(train.RankError) as caught:
        run(mismatched)
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("rank 1 on 127.0.0.1 failed at step 0: it was killed by SIGABRT.")
    assert lines[1] == "--- last lines of rank 1's log ---"
    assert lines[2] == "red line"
    assert "collective mismatch in your code?" in lines[4]
    assert lines[5] == "Fatal Python error: Aborted"
    assert lines[6].endswith(" in mismatched")
    assert len(lines) < 12


def test_only_the_lines_of_this_attempt_count() -> None:
    def fit() -> None:
        for k in range(100):
            print("attempt", k, "of old" if train.latest() is None else "of new")
        train.report({}, checkpoint={})
        os._exit(3)

    with pytest.raises(train.RankError) as caught:
        run(fit, max_restarts=1)
    *_, last = str(caught.value).splitlines()
    assert last == "attempt 99 of new"
    assert str(caught.value).count("attempt ") == words.LINES


def test_lines_are_cleaned_and_short(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"before\n" + b"10 %\r20 %\r\n\x1b[2Jx\ty\x00\xff\n" + b"l" * 9000)
    assert words.last_lines(log, 7).splitlines() == [
        "20 %",
        "x    y\N{REPLACEMENT CHARACTER}",
        "l" * words.WIDTH + " ...",
    ]
    assert words.last_lines(tmp_path / "none") == ""


def torchrun_program() -> tuple[int, int]:
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    dist.init_process_group(backend="gloo", init_method="env://", timeout=timedelta(seconds=60))
    rank, local, size = (int(os.environ[k]) for k in ("RANK", "LOCAL_RANK", "WORLD_SIZE"))
    assert os.environ["MASTER_ADDR"]
    assert int(os.environ["MASTER_PORT"])
    assert (rank, size, local) == (dist.get_rank(), dist.get_world_size(), rank)
    model = DistributedDataParallel(torch.nn.Linear(4, 1))
    model(torch.ones(2, 4)).sum().backward()
    dist.barrier()
    dist.destroy_process_group()
    return rank, size


def again() -> float:
    import torch
    import torch.distributed as dist

    dist.destroy_process_group()
    dist.init_process_group("gloo")
    one = torch.ones(1)
    dist.all_reduce(one)
    return float(one)


def test_programs_for_torchrun_run_as_they_are() -> None:
    assert run(torchrun_program) == [(0, 2), (1, 2)]
    assert run(again) == [2.0, 2.0]


def begin(**asked: Any) -> None:
    from torch.distributed import init_process_group

    init_process_group(**asked)


@pytest.mark.parametrize(
    ("asked", "there"),
    [({"world_size": 4}, "2"), ({"rank": 7}, "0"), ({"backend": "nccl"}, "'gloo'")],
)
def test_a_call_that_contradicts_the_group_names_both_values(
    asked: dict[str, Any], there: str
) -> None:
    ((name, value),) = asked.items()
    with pytest.raises(ParameterError) as caught:
        run(functools.partial(begin, **asked))
    assert f"init_process_group({name}={value!r}) contradicts {name}=" in str(caught.value)
    if name != "rank":
        assert f"{name}={there} of the group" in str(caught.value)
