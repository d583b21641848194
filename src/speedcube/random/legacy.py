"""The legacy interface: `RandomState`, and functions of one that the process shares.

NumPy froze both when `Generator` came. Their names and signatures are kept here; the numbers are
stream v1's, and the methods are `Generator`'s.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, Final

from ..api.array import Array
from ..errors import MissingError, UnsupportedError
from .documents import OF_MODULE, OF_STATE, described
from .generator import Generator
from .seeds import Seed, StreamV1


class RandomState:
    """The legacy interface, with NumPy's and Dask's old names and signatures.

    It draws what ``default_rng(seed)`` draws: every method of `Generator` is here too, those that
    NumPy's `RandomState` has without the parameters that came later (``dtype``, ``method``,
    ``axis``, ``shuffle``).

    Parameters
    ----------
    seed : int, sequence of ints, numpy.random.SeedSequence or None
        Any integer >= 0; None draws 128 bits from the system, and ``repr`` shows them.
    RandomState : class, optional
        ``cupy.random.RandomState`` means: on the GPU, as in Dask.
    """

    def __init__(self, seed: Seed = None, RandomState: Any = None) -> None:
        gpu = "cupy" in getattr(RandomState, "__module__", "")
        self._generator = Generator(StreamV1(seed), gpu)

    @property
    def bit_generator(self) -> StreamV1:
        """The seed, and how far it has been used."""
        return self._generator.bit_generator

    @property
    def entropy(self) -> tuple[int, ...]:
        """The integers of the seed."""
        return self.bit_generator.entropy

    @property
    def spawn_key(self) -> tuple[int, ...]:
        """Which child this is of whose child: () of a seed itself."""
        return self.bit_generator.spawn_key

    def __repr__(self) -> str:
        gpu = ", RandomState=cupy.random.RandomState" if self._generator._gpu else ""
        return f"RandomState({self.bit_generator.seed_text()}{gpu})"

    def __copy__(self) -> RandomState:
        other = type(self).__new__(type(self))
        other._generator = self._generator.__copy__()  # a copy goes on by itself
        return other

    def __getattr__(self, name: str) -> Callable[..., Any]:
        raise MissingError(f"RandomState has no {name!r}; it has {', '.join(METHODS)}")

    def seed(self, seed: Seed = None) -> None:
        """Start again, from ``seed``."""
        self.bit_generator.restart(seed)

    def get_state(self, legacy: bool = True) -> dict[str, Any]:
        """Where the stream is: a dict for `set_state`, the same for both values of ``legacy``."""
        return self.bit_generator.state

    def set_state(self, state: dict[str, Any]) -> None:
        """Go on from where `get_state` was called."""
        self.bit_generator.state = state

    def rand(self, *size: int, chunks: Any = None) -> Array:
        """Uniform in [0, 1), with one argument for each axis."""
        return self._generator.random(size, chunks=chunks)

    def randn(self, *size: int, chunks: Any = None) -> Array:
        """Normals of mean 0 and standard deviation 1, with one argument for each axis."""
        return self._generator.standard_normal(size, chunks=chunks)

    def random_sample(self, size: Any = None, chunks: Any = None) -> Array:
        """Uniform in [0, 1)."""
        return self._generator.random(size, chunks=chunks)

    def ranf(self, size: Any = None, chunks: Any = None) -> Array:
        """Uniform in [0, 1): `random_sample` under another name."""
        return self._generator.random(size, chunks=chunks)

    def sample(self, size: Any = None, chunks: Any = None) -> Array:
        """Uniform in [0, 1): `random_sample` under another name."""
        return self._generator.random(size, chunks=chunks)

    def randint(
        self, low: Any, high: Any = None, size: Any = None, dtype: Any = "int64", chunks: Any = None
    ) -> Array:
        """Integers in [low, high), or in [0, low) without ``high``."""
        return self._generator.integers(low, high, size, dtype, chunks=chunks)

    def random_integers(
        self, low: Any, high: Any = None, size: Any = None, chunks: Any = None
    ) -> Array:
        """Integers in [low, high], or in [1, low] without ``high``: int64."""
        first, last = (1, low) if high is None else (low, high)
        return self._generator.integers(first, last, size, endpoint=True, chunks=chunks)

    def tomaxint(self, size: Any = None, chunks: Any = None) -> Array:
        """Integers in [0, 2**63 - 1], the largest int64 included."""
        return self._generator.integers(0, 2**63 - 1, size, endpoint=True, chunks=chunks)


# What NumPy's RandomState has not: methods, and parameters of methods that it has.
_LATER_METHODS: Final = ("integers", "multivariate_hypergeometric", "permuted", "spawn")
_LATER_PARAMETERS: Final = ("dtype", "method", "axis", "shuffle")


def _methods(kind: type) -> list[str]:
    """The public methods of a class."""
    return [name for name in dir(kind) if name[0] != "_" and callable(getattr(kind, name))]


def _inherited(name: str) -> Callable[..., Any]:
    """The method ``name`` of `Generator` as a method of `RandomState`."""
    method = getattr(Generator, name)
    signature = inspect.signature(method)
    later = () if name in _LATER_METHODS else _LATER_PARAMETERS
    generator, *others = signature.parameters.values()
    parameters = [p for p in others if p.name not in later]
    own = signature.replace(parameters=[generator.replace(annotation=generator.empty), *parameters])

    @functools.wraps(method)
    def forward(self: RandomState, *arguments: Any, **options: Any) -> Any:
        try:
            values = own.bind(self._generator, *arguments, **options).arguments
        except TypeError as err:
            takes = ", ".join(str(p.replace(annotation=p.empty)) for p in parameters)
            raise UnsupportedError(f"{name}: {err}; it takes ({takes})") from None
        return method(**values)

    forward.__qualname__ = f"RandomState.{name}"
    forward.__module__ = __name__
    forward.__signature__ = own  # type: ignore[attr-defined]
    return forward


for _name in _methods(Generator):
    setattr(RandomState, _name, _inherited(_name))
for _name, _method in vars(RandomState).items():
    if _name[0] != "_" and callable(_method):
        _method.__doc__ = described(_name, _method, OF_STATE)

METHODS: Final = tuple(_methods(RandomState))

_SHARED: Final = RandomState()


def _function(name: str) -> Callable[..., Any]:
    """The method ``name`` of the `RandomState` that the process shares, as a function."""
    method = getattr(RandomState, name)
    signature = inspect.signature(method)
    _, *parameters = signature.parameters.values()

    @functools.wraps(method)
    def forward(*arguments: Any, **options: Any) -> Any:
        return method(_SHARED, *arguments, **options)

    forward.__qualname__ = name
    forward.__module__ = __package__
    forward.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    forward.__doc__ = described(name, forward, OF_MODULE)
    return forward


FUNCTIONS: Final = {name: _function(name) for name in METHODS}
