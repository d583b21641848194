"""Seeds, and `StreamV1`: where a generator is in the stream that its seed starts."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.random import SeedSequence

from ..errors import MissingError, ParameterError, ParameterTypeError
from ..philox import derive_key
from .parameters import whole_number

Seed = int | Sequence[int] | SeedSequence | None

TURN = threading.Lock()  # one for all, so that generators can be copied and pickled
if hasattr(os, "register_at_fork"):  # a child never gets it locked by a thread it has not
    os.register_at_fork(
        before=TURN.acquire, after_in_parent=TURN.release, after_in_child=TURN.release
    )

_SEQUENTIAL: Final = (
    "a NumPy generator's stream is sequential and cannot be continued position by position; "
    "pass the seed it was made from"
)
_SEQUENTIAL_TYPES: Final = (np.random.Generator, np.random.BitGenerator, np.random.RandomState)


def seed_sequence(seed: Any) -> SeedSequence:
    """``seed`` as NumPy's object for it; without one, 128 bits from the system.

    A `SeedSequence` is itself, so that all who hold it spawn different children.
    """
    if isinstance(seed, SeedSequence):
        return seed
    if isinstance(seed, _SEQUENTIAL_TYPES):
        raise ParameterTypeError(_SEQUENTIAL)
    if seed is None:
        return SeedSequence(secrets.randbits(128))
    entropy = list(_integers(seed, seed))
    return SeedSequence(entropy[0] if len(entropy) == 1 else entropy)


def _integers(part: Any, seed: Any) -> Iterator[int]:
    """The integers in a part of ``seed``, in order; sequences may hold sequences, as in NumPy."""
    if isinstance(part, np.ndarray):
        part = part.tolist()
    if isinstance(part, Sequence) and not isinstance(part, (str, bytes, bytearray)):
        for inner in part:
            yield from _integers(inner, seed)
    elif isinstance(part, (int, np.integer)) and not isinstance(part, bool):
        if part < 0:
            raise ParameterError(_REFUSED.format(seed=seed))
        yield int(part)
    else:
        raise ParameterTypeError(_REFUSED.format(seed=seed))


_REFUSED: Final = "a seed is an integer >= 0 or a sequence of them, not {seed!r}"


class StreamV1:
    """A seed, and how far it has been used: what NumPy calls a bit generator.

    The draws of a generator have the call numbers 0, 1, 2 ...; a number's key is the hash of
    the seed's integers ``entropy``, of ``spawn_key`` and of the call number (docs/stream-v1.md).
    Threads may share one: each draw gets a call number of its own.

    Parameters
    ----------
    seed : int, sequence of ints, SeedSequence or None
        Where the stream starts; None draws 128 bits from the system.

    Attributes
    ----------
    seed_seq : numpy.random.SeedSequence
        The seed; its ``spawn`` gives seeds of further children.
    entropy : tuple of ints
        The integers of the seed.
    spawn_key : tuple of ints
        Which child this is of whose child: () of a seed itself.
    calls : int
        The call numbers taken so far.
    """

    def __init__(self, seed: Seed = None) -> None:
        self._go_to(seed_sequence(seed), 0)

    def _go_to(self, seed: SeedSequence, calls: int) -> None:
        entropy = tuple(_integers(seed.entropy, seed.entropy))
        with TURN:
            self.seed_seq, self.calls = seed, calls
            self.entropy, self.spawn_key = entropy, tuple(map(int, seed.spawn_key))

    def keys(self, count: int) -> list[int]:
        """The keys of the next ``count`` calls."""
        with TURN:  # threads that share a generator get streams of their own
            first = self.calls
            self.calls += count
            seed = self.entropy, self.spawn_key
        return [derive_key(*seed, first + k) for k in range(count)]

    def spawn(self, n_children: int) -> list[StreamV1]:
        """``n_children`` independent streams; different ones at each call."""
        count = whole_number("n_children", n_children)
        if not 0 <= count < 2**32:
            raise ParameterError(f"n_children must be 0 or more and below 2**32, not {count}")
        with TURN:
            children = self.seed_seq.spawn(count)
        return [StreamV1(child) for child in children]

    @property
    def state(self) -> dict[str, Any]:
        """The seed and the position in it: a dict of integers and tuples, which can be set."""
        with TURN:
            position = {
                "entropy": self.entropy,
                "spawn_key": self.spawn_key,
                "calls": self.calls,
                "children": self.seed_seq.n_children_spawned,
            }
        return {"bit_generator": _NAME, "state": position}

    @state.setter
    def state(self, state: Any) -> None:
        self._go_to(*_position(state))

    def restart(self, seed: Seed) -> None:
        """Become the stream of ``seed``, at its start."""
        self._go_to(seed_sequence(seed), 0)

    def __getstate__(self) -> dict[str, Any]:
        return self.state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.state = state

    def __repr__(self) -> str:
        return f"StreamV1({self.seed_text()})"

    def seed_text(self) -> str:
        """The seed as the text of a program."""
        numbers = list(self.entropy)
        text = str(numbers[0] if len(numbers) == 1 else numbers)
        return f"SeedSequence({text}, spawn_key={self.spawn_key})" if self.spawn_key else text

    def __getattr__(self, name: str) -> Any:
        if name in _ABSENT:
            raise MissingError(f"stream v1 has no {name}: {_ABSENT[name]}")
        raise MissingError(
            f"stream v1 has no {name!r}; it has calls, entropy, spawn_key, seed_seq, spawn, state"
        )


_NAME: Final = "speedcube stream v1"
# What NumPy's bit generators have and a function of position cannot, and what to do.
_ABSENT: Final = {
    "advance": "its numbers are addressed by call and position; set state to choose the call",
    "capsule": "no other library can draw from it; draw arrays here",
    "cffi": "no other library can draw from it; draw arrays here",
    "ctypes": "no other library can draw from it; draw arrays here",
    "jumped": "spawn(n) gives independent streams",
    "lock": "none is needed, threads may share a generator",
    "random_raw": "integers(0, 2**64, size, dtype='uint64') draws 64 bits an element",
}


def _position(state: Any) -> tuple[SeedSequence, int]:
    """The seed and the number of calls that ``state`` says."""
    if not isinstance(state, Mapping):
        what = "of a NumPy generator" if isinstance(state, tuple) else f"{state!r}"
        raise ParameterTypeError(
            f"a state is what get_state() or bit_generator.state gave, not {what}"
        )
    if state.get("bit_generator") != _NAME:
        raise ParameterError(
            f"a state is one of {_NAME!r}, not of {state.get('bit_generator')!r}; for a NumPy "
            "generator pass the seed it was made from"
        )
    try:
        entropy, spawn_key, calls, children = (
            state["state"][key] for key in ("entropy", "spawn_key", "calls", "children")
        )
        numbers = list(_integers(entropy, entropy))
        seed = SeedSequence(
            numbers[0] if len(numbers) == 1 else numbers,
            spawn_key=tuple(_integers(spawn_key, spawn_key)),
            n_children_spawned=children,
        )
        (count,) = _integers(calls, calls)
    except (KeyError, TypeError, ValueError, OverflowError) as err:
        raise ParameterError(
            f"a state has the integers entropy, spawn_key, calls and children, not {state!r}"
        ) from err
    return seed, count
