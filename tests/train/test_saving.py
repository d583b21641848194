"""What ranks tell each other when they make a checkpoint together, and when one of them cannot."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="training needs speedcube[train]")

from speedcube.errors import CheckpointError  # noqa: E402
from speedcube.train import checkpoint  # noqa: E402
from speedcube.train.ranks import saving  # noqa: E402
from speedcube.train.ranks.peers import Peers, Wait  # noqa: E402
from speedcube.train.ranks.saving import Saver  # noqa: E402


class Job:
    """Ranks as threads, each with a connection of its own to one store."""

    def __init__(self, *roots: Path) -> None:
        self.server = torch.distributed.TCPStore("127.0.0.1", 0, is_master=True)
        size = len(roots)
        stores = [
            torch.distributed.TCPStore("127.0.0.1", self.server.port, is_master=False)
            for _ in roots
        ]
        self.ranks = [
            Saver(store, root, rank, size, 2, Peers(store.clone(), rank))
            for rank, (store, root) in enumerate(zip(stores, roots, strict=True))
        ]

    def each(self, *calls: Callable[[Saver], Any]) -> list[Any]:
        """What each rank's call returned, or the text of the `CheckpointError` it raised."""

        def call(function: Callable[[Saver], Any], rank: Saver) -> Any:
            try:
                return function(rank)
            except CheckpointError as err:
                return str(err)

        with ThreadPoolExecutor(len(self.ranks)) as pool:
            return list(pool.map(call, calls, self.ranks))

    def all(self, function: Callable[[Saver], Any]) -> list[Any]:
        return self.each(*[function] * len(self.ranks))


def test_every_rank_takes_the_checkpoint_that_rank_0_takes(tmp_path: Path) -> None:
    job = Job(tmp_path, tmp_path, tmp_path)
    assert job.all(Saver.newest) == [None] * 3
    for step in (1, 2):
        saved = job.all(lambda rank, step=step: rank.save(step, {"x": step}, False, {}))
        assert (saved[0].step, saved[1:]) == (step, [None, None])
    newest = job.all(Saver.newest)
    assert [(one.step, one.rank, one["x"]) for one in newest] == [(2, 0, 2), (2, 1, 2), (2, 2, 2)]
    assert sorted(newest[0].manifest.files[0].name for one in newest) == ["rank-0.safetensors"] * 3
    assert {tuple(newest[0].rng(rank)) for rank in range(3)} == {
        ("python", "numpy", "torch", "cuda")
    }
    (newest[0].path / "rank-0.safetensors").write_bytes(b"")  # only rank 0's choice counts
    late = checkpoint.save(tmp_path, 3, {"x": 3}, world_size=3)
    job = Job(tmp_path, tmp_path, tmp_path)
    assert [one.path for one in job.all(Saver.newest)] == [late.path] * 3


def test_a_rank_that_does_not_see_rank_0s_checkpoint_does_not_start_anew(tmp_path: Path) -> None:
    checkpoint.save(tmp_path / "a", 7, 1, world_size=2)
    first, second = Job(tmp_path / "a", tmp_path / "b").all(Saver.newest)
    assert first.step == 7
    assert second.startswith("rank 0 goes on from step-00000007, rank 1 cannot: ")
    assert second.endswith(
        "all hosts of a job that goes on from checkpoints need to share its directory"
    )
    # Nor does it go on from one of its own where rank 0 has none, or from a newer one.
    assert Job(tmp_path / "none", tmp_path / "a").all(Saver.newest) == [None, None]
    checkpoint.save(tmp_path / "b", 7, 2, world_size=2)
    checkpoint.save(tmp_path / "b", 8, 2, world_size=2)
    assert Job(tmp_path / "a", tmp_path / "b").all(Saver.newest)[1].step == 7


def test_where_rank_0_can_take_none_every_rank_says_so(tmp_path: Path) -> None:
    (checkpoint.save(tmp_path, 1, 1).path / "manifest.json").unlink()
    first, second = Job(tmp_path, tmp_path).all(Saver.newest)
    assert "none of the 1 checkpoints in" in first
    assert second == f"rank 0: {first}"


@pytest.mark.parametrize("per_rank", [False, True])
def test_a_rank_that_cannot_save_keeps_no_other_waiting(
    tmp_path: Path, per_rank: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seconds in ("PEER_SECONDS", "WRITE_SECONDS"):  # which nobody waits here
        monkeypatch.setattr(saving, seconds, 10_000)
    job = Job(tmp_path, tmp_path, tmp_path)
    bad = 1 if per_rank else 0
    write = checkpoint.write_rank

    def slow(pending: Any, rank: int, *what: Any) -> Any:
        time.sleep(rank // 2)  # rank 2 still writes when the others have failed
        return write(pending, rank, *what)

    monkeypatch.setattr(checkpoint, "write_rank", slow)

    def save(rank: Saver) -> Any:
        return rank.save(1, {1} if rank.rank == bad else rank.rank, per_rank, {})

    ends = job.all(save)
    assert all("checkpoint cannot be saved: it is of type set" in text for text in ends)
    assert ends[0].startswith("rank 1: ") == per_rank
    assert ends[2].startswith("rank 0: ")
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]
    # A function that catches it goes on, and the next one is kept.
    saved = job.all(lambda rank: rank.save(2, rank.rank, per_rank, {}))
    assert saved[1:] == [None, None]
    assert [saved[0].of(rank).value for rank in range(3)] == ([0, 1, 2] if per_rank else [0, 0, 0])


def test_ranks_that_do_not_agree_on_per_rank_are_told_at_once(tmp_path: Path) -> None:
    ends = Job(tmp_path, tmp_path).each(
        lambda rank: rank.save(4, 0, True, {}), lambda rank: rank.save(4, 0, False, {})
    )
    assert ends[0].startswith(
        "rank 0 saves a checkpoint at step 4 with per_rank=True, rank 1 with per_rank=False: "
        "every rank has to call report(..., checkpoint=..., per_rank=True) at the same steps"
    )
    assert ends[1] == f"rank 0: {ends[0]}"


def test_a_rank_that_writes_for_long_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[tuple[str, float]] = []
    plain = Saver._answer

    def answer(self: Saver, wait: Wait, seconds: float) -> bytes:
        waited.append((wait.answer, seconds))
        return plain(self, wait, seconds)

    monkeypatch.setattr(Saver, "_answer", answer)
    Job(tmp_path, tmp_path).all(lambda rank: rank.save(1, rank.rank, True, {}))
    assert sorted(waited) == [
        ("begun/1", 600),
        ("file/1/1", 3600),
        ("kept/1", 4200),
        ("part/1/1", 600),
    ]


def test_who_does_not_come_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saving, "PEER_SECONDS", 0.2)
    monkeypatch.setattr(saving, "ALONE_SECONDS", 0.2)
    ends = Job(tmp_path, tmp_path).each(lambda rank: rank.save(1, 0, True, {}), lambda rank: None)
    assert ends[0].startswith("rank 0 saves a checkpoint at step 1 with per_rank=True, but rank 1 ")
    alone = Job(tmp_path, tmp_path).each(lambda rank: rank.save(1, 7, False, {}), lambda rank: None)
    assert alone[0].value == 7, "whoever is not needed is left out"
    assert alone[0].rng(1) is None


def test_what_was_told_does_not_pile_up(tmp_path: Path) -> None:
    job = Job(tmp_path, tmp_path)
    left = []
    for step in range(1, 5):
        job.all(Saver.newest)
        job.all(lambda rank, step=step: rank.save(step, 0, step % 2 == 0, {}))
        left.append(job.server.num_keys())
    assert left[0] == left[2]
    assert left[1] == left[3]
