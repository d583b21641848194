"""Claims of workers: all at once or not at all, first come first served, nothing for the dead."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from speedcube.train.driver import claims


@dataclass
class FakeScheduler:
    """The attributes of a Dask scheduler that claims read; the real one is in test_run."""

    workers: dict[str, Any] = field(default_factory=dict)
    clients: dict[str, Any] = field(default_factory=dict)
    extensions: dict[str, Any] = field(default_factory=dict)
    _broker: Any = field(default_factory=lambda: SimpleNamespace(truncate=lambda topic: None))


def worker(host: str, name: int) -> Any:
    return SimpleNamespace(
        host=host,
        name=name,
        status=SimpleNamespace(name="running"),
        processing=set(),
        long_running=set(),
        last_seen=math.inf,
    )


def scheduler(hosts: dict[str, int], clients: tuple[str, ...] = ("c",)) -> FakeScheduler:
    scheduler = FakeScheduler(clients=dict.fromkeys(clients))
    for host, count in hosts.items():
        for k in range(count):
            scheduler.workers[f"{host}{k}"] = worker(host, k)
    return scheduler


def claim(on: FakeScheduler, job: str, count: int, client: str = "c", **more: Any) -> list[str]:
    granted, why = claims.claim(job, client, count, more.pop("names", None), dask_scheduler=on)
    assert bool(why) != bool(granted)
    return [address for address, _ in granted]


def test_a_job_gets_all_or_nothing_and_those_behind_wait() -> None:
    on = scheduler({"a": 4})
    assert claim(on, "one", 3) == ["a0", "a1", "a2"]
    assert claim(on, "one", 3) == ["a0", "a1", "a2"], "asking again changes nothing"
    assert claim(on, "two", 2) == []
    assert claim(on, "three", 1) == [], "one is free, but two was first"
    claims.release("one", "", dask_scheduler=on)
    assert claim(on, "three", 1) == []
    assert claim(on, "two", 2) == ["a0", "a1"]
    assert claim(on, "three", 1) == ["a2"]


def test_ranks_stay_together() -> None:
    on = scheduler({"a": 4, "b": 2, "c": 3})
    assert claim(on, "pair", 2) == ["b0", "b1"], "the host that it fills"
    assert claim(on, "three", 3) == ["c0", "c1", "c2"]
    assert claim(on, "one", 1) == ["a0"]
    on = scheduler({"a": 2, "b": 3})
    assert claim(on, "four", 4) == ["a0", "b0", "b1", "b2"], "few hosts where one is too small"


def test_jobs_that_want_different_workers_do_not_wait_for_each_other() -> None:
    on = scheduler({"a": 4})
    assert claim(on, "one", 2, names=(0, 1)) == ["a0", "a1"]
    assert claim(on, "two", 2, names=(0, 1)) == []
    assert claim(on, "three", 2, names=(2, 3)) == ["a2", "a3"]


def test_a_restart_keeps_what_it_has_and_goes_first() -> None:
    on = scheduler({"a": 3})
    assert claim(on, "one", 2) == ["a0", "a1"]
    assert claim(on, "two", 2) == []
    del on.workers["a1"]
    assert claim(on, "one", 2) == ["a0", "a2"]
    on.workers["a1"] = worker("a", 1)
    assert claim(on, "two", 2) == []


def test_what_belongs_to_a_dead_client_is_free() -> None:
    on = scheduler({"a": 2}, clients=("c", "d"))
    assert claim(on, "one", 2, client="d") == ["a0", "a1"]
    assert claim(on, "two", 1, client="d") == []
    assert claim(on, "three", 2) == []
    del on.clients["d"]
    assert claim(on, "three", 2) == ["a0", "a1"]


def test_why_a_job_waits_is_said() -> None:
    on = scheduler({"a": 2})
    claim(on, "one", 2)
    _, why = claims.claim("two", "c", 2, None, dask_scheduler=on)
    assert why == "2 workers can be used, 2 are needed; one has 2"


@dataclass(frozen=True)
class Task:
    key: Any


def test_workers_that_compute_something_else_come_last() -> None:
    on = scheduler({"a": 3})
    on.workers["a0"].processing = {Task(("sum", 0, 1))}
    left = Task("left its thread")
    on.workers["a1"].processing = on.workers["a1"].long_running = {left}
    on.workers["a2"].processing = {Task("one-attempt-0-rank-1")}
    assert claim(on, "one", 2) == ["a1", "a2"]
    assert claims.look("one", ("a0", "a1", "a2", "b7"), dask_scheduler=on)[:2] == (["b7"], ["a0"])
    assert claims.look("two", ("a2",), dask_scheduler=on) == ([], ["a2"], ["a2"])
    assert claim(on, "two", 1) == ["a0"], "rather than none"


@given(st.lists(st.integers(1, 8), min_size=1, max_size=12), st.integers(0, 2**32))
def test_every_job_runs_and_no_worker_is_shared(sizes: list[int], seed: int) -> None:
    """Whatever the order of asking, nobody starves and nobody holds what another has."""
    on, chosen = scheduler({"a": 4, "b": 4}), random.Random(seed)
    waiting = {f"job{k}": size for k, size in enumerate(sizes)}
    running: dict[str, list[str]] = {}
    for _ in range(1000):
        if not waiting and not running:
            break
        for job in chosen.sample(sorted(waiting), len(waiting)):
            granted = claim(on, job, waiting[job])
            if granted:
                assert len(granted) == waiting.pop(job)
                running[job] = granted
        held = [worker for workers in running.values() for worker in workers]
        assert len(held) == len(set(held))
        assert running, "somebody always can"
        done = chosen.choice(sorted(running))
        del running[done]
        claims.release(done, "", dask_scheduler=on)
    assert not waiting
