"""Seeds: what is one, what it is shown as, and how a place in its stream is kept."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.random import SeedSequence

import speedcube as sc
from speedcube.errors import MissingError, ParameterError, ParameterTypeError, SpeedcubeError
from speedcube.philox import derive_key
from speedcube.random.seeds import StreamV1

default_rng, RandomState = sc.random.default_rng, sc.random.RandomState


def first_key(generator: Any) -> int:
    key: int = generator.random(3)._expr.source.key
    return key


# seed -> the integers of it
SEEDS: dict[str, tuple[Any, tuple[int, ...]]] = {
    "0": (0, (0,)),
    "2**200": (2**200, (2**200,)),
    "NumPy's integer": (np.uint64(2**64 - 1), (2**64 - 1,)),
    "array without axes": (np.array(5), (5,)),
    "list of one": ([7], (7,)),
    "tuple": ((1, 2), (1, 2)),
    "array": (np.arange(3), (0, 1, 2)),
    "rows": (np.array([[1, 2], [3, 4]], "u1"), (1, 2, 3, 4)),
    "nested": ([[1, np.int8(2)], (3,), np.array([4])], (1, 2, 3, 4)),
    "range": (range(2, 4), (2, 3)),
    "nothing in it": ([], ()),
    "SeedSequence": (SeedSequence(7), (7,)),
    "SeedSequence of several": (SeedSequence([3, 4]), (3, 4)),
}


@pytest.mark.parametrize("name", SEEDS)
@pytest.mark.parametrize("kind", [default_rng, RandomState])
def test_seeds(name: str, kind: Callable[[Any], Any]) -> None:
    seed, entropy = SEEDS[name]
    generator = kind(seed)
    assert (generator.entropy, generator.spawn_key) == (entropy, ())
    assert first_key(generator) == derive_key(entropy, (), 0)
    np.random.SeedSequence(generator.bit_generator.seed_seq.entropy)  # NumPy takes all of them


NUMPYS = {
    "Generator": np.random.default_rng(0),
    "RandomState": np.random.RandomState(0),
    "PCG64": np.random.PCG64(0),
    "MT19937": np.random.MT19937(0),
}
NO_SEEDS: dict[str, Any] = {
    "text": "x",
    "digits": "0x12",
    "bytes": b"ab",
    "half": 1.5,
    "float": np.float64(1.0),
    "True": True,
    "a list with True": [True],
    "floats": np.array([1.0]),
    "nested None": [[1], None],
    "complex": 1j,
    "set": {1},
    "lazy": sc.arange(3),
    "object": object(),
    "module": np.random,
}


@pytest.mark.parametrize("take", [default_rng, RandomState, lambda s: RandomState(1).seed(s)])
def test_no_seeds(take: Callable[[Any], Any]) -> None:
    for seed in NO_SEEDS.values():
        with pytest.raises(
            ParameterTypeError, match="a seed is an integer >= 0 or a sequence"
        ) as e:
            take(seed)
        assert isinstance(e.value, (TypeError,))
    for seed in (-1, [3, -1], np.array([-1])):
        with pytest.raises(ParameterError, match=re.escape(f"not {seed!r}")) as e:
            take(seed)
        assert not isinstance(e.value, TypeError)
    for generator in NUMPYS.values():
        with pytest.raises(ParameterError, match=r"stream is sequential .* pass the seed it was"):
            take(generator)


def test_generators_are_their_own_seeds() -> None:
    one = default_rng(3)
    one.random(2)
    assert default_rng(one) is one
    assert default_rng(one.bit_generator).bit_generator is one.bit_generator
    state = RandomState(3)
    assert default_rng(state).bit_generator is state.bit_generator
    for wrong in (7, NUMPYS["PCG64"]):
        with pytest.raises(ParameterTypeError, match=r"call default_rng\(7\)|sequential"):
            sc.random.Generator(wrong)  # type: ignore[arg-type]


# repr --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: default_rng(7), "default_rng(7)"),
        (lambda: default_rng([7]), "default_rng(7)"),
        (lambda: default_rng([1, 2]), "default_rng([1, 2])"),
        (lambda: default_rng([]), "default_rng([])"),
        (lambda: default_rng(7).spawn(2)[1], "default_rng(SeedSequence(7, spawn_key=(1,)))"),
        (
            lambda: default_rng([1, 2]).spawn(2)[1].spawn(4)[3],
            "default_rng(SeedSequence([1, 2], spawn_key=(1, 3)))",
        ),
        (lambda: RandomState(2**70), f"RandomState({2**70})"),
        (lambda: RandomState(7).spawn(1)[0], "default_rng(SeedSequence(7, spawn_key=(0,)))"),
    ],
)
def test_what_is_shown_makes_it_again(make: Callable[[], Any], text: str) -> None:
    generator = make()
    assert repr(generator) == text
    again = eval(text, vars(sc.random))
    assert type(again) is type(generator)
    assert first_key(again) == first_key(generator)


@pytest.mark.parametrize("kind", [default_rng, RandomState])
def test_a_seed_of_the_system_is_shown(kind: Callable[[], Any]) -> None:
    one, other = kind(), kind()
    assert one.entropy != other.entropy
    assert 0 <= one.entropy[0] < 2**128
    again = eval(repr(one), vars(sc.random))
    assert (again.normal(size=5).compute() == one.normal(size=5).compute()).all()


# SeedSequence ------------------------------------------------------------------------------------


def test_children_of_a_seed_are_children_of_its_generator() -> None:
    by_seed = [default_rng(child) for child in SeedSequence(7).spawn(3)]
    by_generator = default_rng(7).spawn(3)
    by_bit_generator = [default_rng(s) for s in default_rng(7).bit_generator.seed_seq.spawn(3)]
    keys = [[first_key(g) for g in each] for each in (by_seed, by_generator, by_bit_generator)]
    assert keys[0] == keys[1] == keys[2]
    assert len(set(keys[0])) == 3
    state = RandomState(SeedSequence(7).spawn(2)[1])
    assert first_key(state) == keys[0][1]


def test_a_seed_that_is_shared_never_gives_a_child_twice() -> None:
    seed = SeedSequence(7)
    seed.spawn(2)
    generator = default_rng(seed)
    keys = [(g.entropy, g.spawn_key) for g in generator.spawn(2)]
    keys += [((7,), child.spawn_key) for child in seed.spawn(1)]
    keys += [(g.entropy, g.spawn_key) for g in generator.bit_generator.spawn(1)]
    assert [key[1] for key in keys] == [(2,), (3,), (4,), (5,)]


# The state ---------------------------------------------------------------------------------------


def test_a_state_restores_the_position() -> None:
    generator = default_rng([5, 6]).spawn(3)[2]
    generator.normal(size=3)
    generator.spawn(2)
    state = generator.bit_generator.state
    assert state == {
        "bit_generator": "speedcube stream v1",
        "state": {"entropy": (5, 6), "spawn_key": (2,), "calls": 1, "children": 2},
    }
    wanted = first_key(generator), generator.spawn(1)[0].spawn_key
    for place in (state, json.loads(json.dumps(state))):
        other = default_rng(0)
        other.bit_generator.state = place
        assert (first_key(other), other.spawn(1)[0].spawn_key) == wanted
    assert wanted == (derive_key((5, 6), (2,), 1), (2, 2))


def broken(**changes: Any) -> dict[str, Any]:
    state = default_rng(7).bit_generator.state
    return state | {"state": state["state"] | changes}


@pytest.mark.parametrize(
    ("state", "kind", "text"),
    [
        (3, TypeError, "a state is what get_state() or bit_generator.state gave, not 3"),
        (np.random.RandomState(0).get_state(), TypeError, "not of a NumPy generator"),
        (
            np.random.default_rng(0).bit_generator.state,
            ValueError,
            "not of 'PCG64'; for a NumPy generator pass the seed it was made from",
        ),
        ({}, ValueError, "not of None"),
        ({"bit_generator": "speedcube stream v1"}, ValueError, "a state has the integers entropy"),
        (broken(calls=-1), ValueError, "a state has the integers"),
        (broken(calls=1.5), ValueError, "a state has the integers"),
        (broken(calls=[1, 2]), ValueError, "a state has the integers"),
        (broken(children=-1), ValueError, "a state has the integers"),
        (broken(children="a"), ValueError, "a state has the integers"),
        (broken(entropy="a"), ValueError, "a state has the integers"),
        (broken(spawn_key=None), ValueError, "a state has the integers"),
    ],
    ids=str,
)
def test_a_state_that_is_none(state: Any, kind: type[Exception], text: str) -> None:
    generator = default_rng(7)
    with pytest.raises(ParameterError, match=re.escape(text)) as caught:
        generator.bit_generator.state = state
    assert isinstance(caught.value, kind)
    assert generator.bit_generator.state == default_rng(7).bit_generator.state


def test_what_other_bit_generators_have() -> None:
    """Every name of NumPy's is here, or is refused with what to do."""
    stream = default_rng(7).bit_generator
    names = {name for name in dir(np.random.PCG64) if name[0] != "_"}
    assert names - set(dir(stream)) == {
        *("advance", "capsule", "cffi", "ctypes", "jumped", "lock", "random_raw")
    }
    for name in names - set(dir(stream)):
        assert not hasattr(stream, name)
        with pytest.raises(MissingError, match=f"stream v1 has no {name}: "):
            getattr(stream, name)
    with pytest.raises(MissingError, match=r"stream v1 has no 'seeds'; it has calls, entropy"):
        _ = stream.seeds
    assert issubclass(MissingError, (SpeedcubeError, AttributeError))
    assert repr(StreamV1([1, 2])) == "StreamV1([1, 2])"
