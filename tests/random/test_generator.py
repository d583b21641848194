"""Generators: what they refuse, how they are split, copied and shared by threads."""

from __future__ import annotations

import copy
import inspect
import json
import os
import pickle
import re
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube.errors import ParameterError, ShapeError


def rng() -> sc.random.Generator:
    return sc.random.default_rng(7)


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "low above high": (
        lambda: rng().uniform(3, 1, 2),
        ParameterError,
        "low > high: low is 3.0, high is 1.0",
    ),
    "spawn -1": (
        lambda: rng().spawn(-1),
        ParameterError,
        "n_children must be 0 or more and below 2**32, not -1",
    ),
    "spawn text": (
        lambda: rng().spawn("a"),
        ParameterError,
        "n_children must be an integer, not 'a'",
    ),
    "spawn '2'": (
        lambda: rng().spawn("2"),
        ParameterError,
        "n_children must be an integer, not '2'",
    ),
    "spawn 1.5": (
        lambda: rng().spawn(1.5),
        ParameterError,
        "n_children must be an integer, not 1.5",
    ),
    "spawn None": (
        lambda: rng().spawn(None),
        ParameterError,
        "n_children must be an integer, not None",
    ),
    "size of floats": (
        lambda: rng().normal(size=np.array([2.0, 3.0])),
        ShapeError,
        "sizes must be integers, not 2.0",
    ),
    "size of two axes": (
        lambda: rng().normal(size=np.array([[2, 3]])),
        ShapeError,
        "sizes must be integers, not [2, 3]",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    ask, kind, message = REFUSED[name]
    with pytest.raises(kind, match=re.escape(message)):
        ask()


def test_sizes_of_numpy() -> None:
    for size in (np.array([2, 3]), [np.int64(2), 3], (2, np.uint8(3))):
        assert rng().normal(size=size).shape == (2, 3)
    assert rng().normal(size=np.array(4)).shape == (4,)
    assert sc.zeros(np.array([2, 3])).shape == (2, 3)
    assert rng().uniform(2, 2, 3).compute().tolist() == [2.0, 2.0, 2.0]
    assert rng().spawn(0) == []
    assert len(rng().spawn(np.int64(2))) == 2


def streams(generators: list[sc.random.Generator]) -> set[tuple[Any, ...]]:
    return {(g.entropy, g.spawn_key) for g in generators}


def test_threads_that_share_a_generator_get_a_stream_each() -> None:
    """Every call has its own key and every child its own stream, whoever makes them."""
    shared, threads, calls = rng(), 8, 400

    def work(_: int) -> tuple[list[int], list[sc.random.Generator]]:
        keys, children = [], []
        for _ in range(calls):
            keys.append(shared.normal(size=3)._expr.source.key)
            children += shared.spawn(2)
        return keys, children

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(threads) as pool:
            results = list(pool.map(work, range(threads)))
    finally:
        sys.setswitchinterval(before)
    alone = rng()
    wanted = {alone.normal(size=3)._expr.source.key for _ in range(threads * calls)}
    keys = [k for part, _ in results for k in part]
    assert len(wanted) == threads * calls
    assert set(keys) == wanted
    assert len(streams([c for _, part in results for c in part])) == 2 * threads * calls


class Yielding(int):
    """A count that gives other threads their turn in the middle of ``n += 1``."""

    turns = 0

    def __add__(self, other: int) -> Yielding:
        Yielding.turns += 1
        time.sleep(0.002)
        return Yielding(int(self) + other)


class SlowSpawning(np.random.SeedSequence):
    """A seed that sees how many threads spawn from it at once."""

    inside = most_inside = spawned = 0

    def spawn(self, n_children: int) -> Any:
        self.inside += 1
        self.most_inside = max(self.most_inside, self.inside)
        time.sleep(0.002)
        self.spawned += n_children
        self.inside -= 1
        return super().spawn(n_children)


def test_a_turn_is_not_interrupted() -> None:
    """The same, where a thread would surely be interrupted between reading and writing."""
    seed = SlowSpawning(7)
    shared = sc.random.default_rng(seed)
    shared.bit_generator.calls = Yielding(0)
    with ThreadPoolExecutor(8) as pool:
        keys = list(pool.map(lambda _: shared.normal(size=3)._expr.source.key, range(40)))
        children = list(pool.map(lambda _: shared.spawn(1)[0], range(40)))
    assert Yielding.turns >= 40
    assert (seed.spawned, seed.most_inside) == (40, 1)
    assert len(set(keys)) == 40
    assert len(streams(children)) == 40


def test_processes_that_fork_go_on_alike_and_their_children_do_not() -> None:
    """As with NumPy's: each process of a pool takes a child of its own."""
    program = """
import os, sys
import speedcube as sc
rng = sc.random.default_rng(7)
one, other = rng.spawn(2)
rng.normal(size=3)
child = os.fork()
mine = one if child else other
if child:
    os.waitpid(child, 0)
pairs = [g.random(2).compute(on="core").tolist() for g in (rng, mine)]
os.write(1, (repr(pairs) + "\\n").encode())  # at once
os._exit(0)
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, timeout=60
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 2, (done.stdout, done.stderr)
    (same, one), (again, other) = (json.loads(line) for line in lines)
    assert same == again
    assert one != other


FORK = """
import os, threading, time
import speedcube as sc
rng, turn = sc.random.default_rng(7), sc.random.seeds.TURN
held = threading.Event()
def hold():
    with turn:
        held.set()
        time.sleep(0.3)
threading.Thread(target=hold).start()
held.wait()
child = os.fork()
rng.normal(size=3)
if child == 0:
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform cannot fork")
def test_a_fork_in_the_middle_of_a_turn() -> None:
    """The child has none of the threads that could give the lock back."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORK], capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.stderr) == ("7\n", "")


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g))]
)
@pytest.mark.parametrize(
    "make",
    [rng, lambda: sc.random.RandomState(7), lambda: sc.random.default_rng([3, 1]).spawn(2)[1]],
)
def test_a_copy_goes_on_where_it_was_made(make: Callable[[], Any], again: Any) -> None:
    first = make()
    first.normal(size=3)
    first.spawn(3)
    second = again(first)
    assert type(second) is type(first)
    for _ in range(2):
        a, b = (g.normal(size=5).compute(on="core").tolist() for g in (first, second))
        assert a == b
    assert repr(first) == repr(second)
    assert first.bit_generator.state == second.bit_generator.state
    assert streams(first.spawn(2)) == streams(second.spawn(2))
    first.normal(size=3)  # by itself
    assert (first.bit_generator.calls, second.bit_generator.calls) == (4, 3)


def test_methods_are_functions_of_whatever_has_a_place_in_the_stream() -> None:
    """None knows `Generator`, and each is public under its own name."""

    class Place:
        def __init__(self) -> None:
            self.bit_generator, self._gpu = sc.random.default_rng(7).bit_generator, False

    own = {"entropy", "spawn_key", "spawn"}
    methods = {n: m for n, m in vars(sc.random.Generator).items() if n[0] != "_" and n not in own}
    assert len(methods) == 43
    for name, method in methods.items():
        assert (method.__name__, method.__qualname__) == (name, name)
        assert getattr(sys.modules[method.__module__], name) is method
        assert next(iter(inspect.signature(method).parameters)) == "self"
    for name, parameters in [("normal", (2, 3)), ("beta", (0.5, 2)), ("choice", (9, 4, False))]:
        drawn, wanted = methods[name](Place(), *parameters), getattr(rng(), name)(*parameters)
        assert (drawn.compute() == wanted.compute()).all()
