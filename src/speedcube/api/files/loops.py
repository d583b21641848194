"""A loop over time that goes on where a killed program left it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import field
from functools import partial
from numbers import Integral
from typing import Any, Final

import numpy as np

from ...dataclass import dataclass
from ...engine.clusters.fingerprint import sources
from ...engine.clusters.patience import Sayings
from ...engine.keeping.aside import StateWriter
from ...engine.keeping.claims import DamagedError
from ...engine.keeping.identity import Identity, NoIdentityError
from ...engine.keeping.states import KeptState, StateFile
from ...engine.keeping.where import checked_folder
from ...errors import ParameterError, ParameterTypeError
from ..array import Array
from ..sources import asarray
from ..together import persist

EACH: Final = 0.25  # seconds between two writes of the file, at least
_SHARE: Final = 0.03  # of the time, at most, that writing takes of the loop and of a processor


def checkpointed(
    step: Callable[[Any], Any],
    state: Any,
    n: int,
    directory: str | os.PathLike[str],
    *,
    every: int = 1,
    on: Any = None,
) -> Any:
    """The state after `n` steps; a program that is killed and started again goes on.

    The same loop is known by its first state and by what `step` makes of it: so that is computed
    again when it goes on. Other loops may use the same directory. The file is removed at the end.

    Parameters
    ----------
    step : callable
        Gives the next state, of a state; it depends on nothing else that changes.
    state : arrays and numbers, or tuples, lists and dictionaries of them
        Of any shapes and dtypes, speedcube's arrays or NumPy's.
    n : int
        How many steps.
    directory : str or path
        Where the state is kept, up to four times a second; for larger states more seldom.
    every : int, optional
        Steps that are computed together, and after which the state can be kept.
    on : str, Client or rung, optional
        Where, as in `compute`.

    Returns
    -------
    what `step` gives
        Its arrays in memory.

    Raises
    ------
    ParameterTypeError
        For a state of something else.
    ParameterError
        For steps or `every` that are no counts, and for states that nothing tells from others.
    CheckpointError
        If the directory cannot be written to, or another program runs the same loop there.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     sc.checkpointed(lambda x: x * 2, sc.ones(2), 10, directory).compute()
    array([1024., 1024.])
    """
    if not callable(step):
        raise ParameterTypeError(
            f"checkpointed takes a step, a function of the state, not {step!r}"
        )
    loop = Loop(step, _count("n", n, 0), _count("every", every, 1), on)
    if n == 0:
        return loop.in_memory(state)
    place = checked_folder(directory)
    first = step(state)
    file = StateFile(place, _key(state, first, loop.every))
    file.open()
    done = False
    try:
        state = loop.run(file, first)
        done = True
        return state
    finally:
        file.close(done)


def _count(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ParameterError(f"checkpointed takes a number of steps as {name}=, not {value!r}")
    return int(value)


def _key(state: Any, first: Any, every: int) -> str:
    """What tells the loop from others."""
    leaves: list[Any] = []
    trees = repr([_flattened(state, leaves), _flattened(first, leaves)])
    expressions = [one._expr if isinstance(one, Array) else np.asarray(one) for one in leaves]
    try:
        return Identity().of(sources(), every, trees, expressions)
    except NoIdentityError as err:
        raise ParameterError(
            f"checkpointed cannot tell this state from others: it reads {err}; compute it first"
        ) from err


@dataclass(eq=False)
class Loop:
    """``n`` steps, so many at once, and what is said of them."""

    step: Callable[[Any], Any]
    n: int
    every: int
    on: Any
    sayings: Sayings = field(default_factory=Sayings)
    _written: float = field(default_factory=lambda: time.monotonic())

    def run(self, file: StateFile, state: Any) -> Any:
        """The last state, from ``state`` after the first step, or from what ``file`` has."""
        done, kept = 1, self._read(file)
        if kept is not None:
            done, state = kept.step, _built(kept.tree, kept.arrays)
            self.sayings.say(f"goes on with step {done:,} of {self.n:,}, which {file.path} has")
        writer = StateWriter(file, partial(self._failed, file))
        try:
            while done < self.n:
                if done % self.every == 0:
                    state = self._kept(writer, done, state)
                state, done = self.step(state), done + 1
            return self.in_memory(state)
        finally:
            writer.finish()

    def in_memory(self, state: Any) -> Any:
        """``state`` with the values of its arrays."""
        leaves: list[Any] = []
        tree = _flattened(state, leaves)
        lazy = [one for one in leaves if isinstance(one, Array)]
        values = iter(persist(*lazy, on=self.on) if lazy else ())
        return _built(tree, [next(values) if isinstance(one, Array) else one for one in leaves])

    def _kept(self, writer: StateWriter, done: int, state: Any) -> Any:
        """``state`` in memory, and on its way to the file, if it is time."""
        state = self.in_memory(state)
        began = time.monotonic()
        if began - self._written < EACH or not writer.is_free():
            return state
        if began - self._written >= writer.cost / _SHARE:
            leaves: list[Any] = []
            writer.write(done, _flattened(state, leaves), leaves, began)
            self._written = time.monotonic()
        return state

    def _failed(self, file: StateFile, err: OSError) -> None:
        self.sayings.say(
            f"{file.path} cannot be written ({err.strerror}): this loop goes on, and if it is "
            "killed it begins from what the file had before",
            "write",
        )

    def _read(self, file: StateFile) -> KeptState | None:
        try:
            kept = file.read()
        except DamagedError as err:
            self.sayings.say(f"{file.path} is not used: {err}; this loop begins anew")
            return None
        fits = kept is not None and 0 < kept.step <= self.n and kept.step % self.every == 0
        return kept if fits else None


def _flattened(state: Any, leaves: list[Any]) -> list[Any]:
    """How ``state`` is built, in JSON; its arrays are added to ``leaves``."""
    kind = type(state)
    if isinstance(state, (Array, np.ndarray, np.generic)):
        if np.dtype(state.dtype).hasobject:
            raise ParameterTypeError("checkpointed keeps no arrays of objects")
        leaves.append(state)
        name = "array" if isinstance(state, Array) else "numpy"
        return [name if np.ndim(state) or name == "array" else "scalar", len(leaves) - 1]
    if kind in (tuple, list):
        return [kind.__name__, [_flattened(one, leaves) for one in state]]
    if kind is dict and all(type(key) is str for key in state):
        return ["dict", [[key, _flattened(one, leaves)] for key, one in state.items()]]
    if kind is float:
        return ["float", state.hex()]
    if kind is complex:
        return ["complex", [state.real.hex(), state.imag.hex()]]
    if kind in (bool, int, str, type(None)):
        return ["plain", state]
    raise ParameterTypeError(
        "checkpointed: a state is made of arrays, numbers, tuples, lists and "
        f"dictionaries with names, not of {kind.__name__}"
    )


def _built(tree: Any, leaves: Any) -> Any:
    """The state that `_flattened` took apart."""
    kind, told = tree
    if kind == "array":
        return asarray(leaves[told])
    if kind in ("numpy", "scalar"):
        return np.asarray(leaves[told]) if kind == "numpy" else np.asarray(leaves[told])[()]
    if kind in ("tuple", "list"):
        return (tuple if kind == "tuple" else list)(_built(one, leaves) for one in told)
    if kind == "dict":
        return {key: _built(one, leaves) for key, one in told}
    if kind == "float":
        return float.fromhex(told)
    return complex(*map(float.fromhex, told)) if kind == "complex" else told
