"""What plain Dask needs to make CuPy chunks: an array backend, its random numbers, a plugin.

Dask has a backend for CuPy, but ``da.random.default_rng()`` fails on it: CuPy's Generator lacks
``normal`` and two dozen others. Dask finds the library behind a bit generator by the first word of
its module, here ``speedcube``, and calls ``speedcube.random.default_rng(bit_generator)`` for each
chunk, which gives `CupyGenerator`: NumPy's names on a ``cupy.random.RandomState``.

The RandomState rather than CuPy's Generator, because it draws every distribution, and because its
numbers do not depend on how many multiprocessors the GPU has. As everywhere in Dask they depend on
the seed and on the chunks; law 1 holds for speedcube's own arrays only.

Nothing here imports Dask's arrays or CuPy before a block on a GPU is entered.
"""

from __future__ import annotations

from functools import cache
from numbers import Integral
from typing import Any, Final

import numpy as np

from ..engine.staging.sent import sent
from ..errors import ParameterError

NAME: Final = "speedcube-cupy"  # of the backend, in Dask's setting array.backend


@cache
def register() -> str:
    """Make the backend known to Dask; its name."""
    from dask.array.backends import array_creation_dispatch

    array_creation_dispatch.register_backend(NAME, backend())
    return NAME


def backend() -> Any:
    """Dask's own CuPy backend with `BitGenerator` as its default bit generator."""
    from dask.array.cupy_entry_point import CupyBackendEntrypoint

    return type("Backend", (CupyBackendEntrypoint,), {"default_bit_generator": BitGenerator})()


class BitGenerator:
    """A seed that Dask can split into one for each chunk; no bits are made here.

    ``seed`` is None, an integer of 0 or more, a sequence of them or a `numpy.random.SeedSequence`.
    """

    def __init__(self, seed: Any = None) -> None:
        is_sequence = isinstance(seed, np.random.SeedSequence)
        self._seed_seq = seed if is_sequence else np.random.SeedSequence(seed)

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        seeds = self._seed_seq
        return type(self).__name__, seeds.entropy, seeds.spawn_key, seeds.pool_size

    def generator(self) -> CupyGenerator:
        """A generator on the current GPU; equal seeds give equal numbers."""
        return CupyGenerator(int(self._seed_seq.generate_state(1, np.uint64)[0]))


_INTEGERS: Final = {
    *("binomial", "geometric", "hypergeometric", "integers", "logseries"),
    *("negative_binomial", "poisson", "zipf"),
}
_RENAMED: Final = {"random": "random_sample"}


class CupyGenerator:
    """The methods of `numpy.random.Generator`, drawing CuPy arrays; ``seed`` is below ``2**64``.

    Every distribution of ``cupy.random.RandomState`` is here under its name. Parameters may be
    NumPy arrays, which are copied to the GPU.
    """

    def __init__(self, seed: int) -> None:
        import cupy

        self._cupy = cupy
        self._state = cupy.random.RandomState(seed)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        method = getattr(self._state, _RENAMED.get(name, name), None)
        if method is None:
            raise AttributeError(
                f"CuPy draws no {name!r}; make the array inside sc.on('cores') and move it with "
                "to_backend()"
            )

        def draw(*parameters: Any, size: Any = None, **options: Any) -> Any:
            if options.get("out", 0) is None:  # Dask passes NumPy's default on
                del options["out"]
            if _is_symbolic(parameters) or _is_symbolic(options.values()):
                dtype = options.get("dtype", "int64" if name in _INTEGERS else "float64")
                return self._cupy.empty(size, dtype)
            options = {key: self._moved(value) for key, value in options.items()}
            return method(*map(self._moved, parameters), size=size, **options)

        return draw

    def integers(
        self,
        low: Any,
        high: Any = None,
        size: Any = None,
        dtype: Any = "int64",
        endpoint: bool = False,
    ) -> Any:
        """Integers in ``[low, high)``, or ``[0, low)``; with ``endpoint`` the upper end, too."""
        if _is_symbolic((low, high)):
            return self._cupy.empty(size, dtype)
        low, high = (0, low) if high is None else (low, high)
        if not (np.isscalar(low) and np.isscalar(high)):
            low, high = self._cupy.asarray(low), self._cupy.asarray(high)
        if np.dtype(dtype) == bool:  # RandomState.randint knows integers only
            return self._state.randint(low, high + endpoint, size, "int64").astype(bool)
        return self._state.randint(low, high + endpoint, size, dtype)

    def choice(
        self,
        a: Any,
        size: Any = None,
        replace: bool = True,
        p: Any = None,
        axis: int = 0,
        shuffle: bool = True,
    ) -> Any:
        """``size`` elements of ``a``, 1-d, or of ``range(a)``."""
        if p is not None and not replace:
            raise ParameterError(
                "CuPy chooses with p= or with replace=False, not with both; make the array inside "
                "sc.on('cores')"
            )
        a = int(a) if isinstance(a, Integral) else self._moved(a)
        return self._state.choice(a, () if size is None else size, replace, self._moved(p))

    def shuffle(self, x: Any, axis: int = 0) -> None:
        """Shuffle a 1-d array in place: NumPy's, CuPy's or the index of Dask's `permutation`."""
        order = self._state.permutation(len(x))
        if isinstance(x, self._cupy.ndarray):
            x[:] = x[order]
        elif isinstance(x, np.ndarray):
            x[:] = x[self._cupy.asnumpy(order)]
        else:
            _become(x, self._cupy.asnumpy(order))

    def _moved(self, value: Any) -> Any:
        return self._cupy.asarray(value) if isinstance(value, np.ndarray) else value


def _become(index: Any, order: Any) -> None:
    """Make ``index`` read as the NumPy array ``order``.

    Dask makes the index of a permutation with ``speedcube.arange``, whose elements are computed:
    there is no memory to shuffle, and Dask then sorts pieces of it with NumPy.
    """

    def call(self: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return func(*(order if one is self else one for one in args), **kwargs)

    methods = {"__getitem__": lambda self, key: order[key], "__array_function__": call}
    index.__class__ = type("Index", (type(index),), {"__slots__": (), **methods})


def _is_symbolic(parameters: Any) -> bool:
    """Whether Dask asks for a type only: it then passes 0-d pieces of its arrays as parameters."""
    return any(hasattr(value, "__dask_graph__") for value in parameters)


# What CuPy has of NumPy's dtypes: booleans, integers, floats, complex numbers up to 16 bytes.
_KINDS: Final = "biufc"


def to_gpu(chunk: Any) -> Any:
    """Task: a NumPy chunk as a CuPy array on the current GPU; anything else as it is."""
    return sent(chunk) if isinstance(chunk, np.ndarray) else chunk


def plugin(array: Any) -> Any:
    """For Dask's setting array_plugins: arrays made of NumPy data become CuPy arrays.

    Dask's backend covers ``ones``, ``zeros``, ``empty``, ``full``, ``arange`` and random numbers.
    Without this ``from_array``, ``linspace``, ``eye`` and the NumPy operands of ``x + a`` would
    give NumPy chunks, which CuPy chunks do not mix with. An array that depends on another one is
    left alone, so that ``map_blocks(cupy.asnumpy)`` and ``to_backend("numpy")`` do what they say.
    """
    meta, layers = array._meta, array.dask.dependencies
    if type(meta) is not np.ndarray or meta.dtype.kind not in _KINDS:
        return None
    if meta.dtype in (np.longdouble, np.clongdouble):
        return None
    if chooses(array):
        return _with_cupy_meta(array)
    parents = layers.get(array.name, set()) - {f"original-{array.name}"}
    if parents:
        return _with_cupy_meta(array) if _is_mixed(array, parents) else None
    return array.map_blocks(to_gpu, meta=_cupy_meta(array))


def chooses(array: Any) -> bool:
    """Whether its chunks are drawn by `CupyGenerator.choice`, for which Dask takes NumPy's type."""
    layer = array.dask.layers.get(array.name)
    is_choice = layer is not None and array.name.startswith("da.random.choice-")
    task = next(iter(layer.values()), None) if is_choice else None
    return isinstance(next(iter(getattr(task, "args", ())), None), BitGenerator)


def _is_mixed(array: Any, parents: set[str]) -> bool:
    """Whether ``array`` is a NumPy function of CuPy chunks, which gives CuPy chunks.

    Dask could not tell when an operand was given as a NumPy array, and assumes NumPy.
    """
    layers = array.dask.layers
    function = getattr(getattr(layers[array.name], "task", None), "func", None)
    module, name = (getattr(function, key, None) for key in ("__module__", "__name__"))
    if module not in ("numpy", "_operator") and name != "_enforce_dtype":
        return False
    notes = (layers[parent].collection_annotations or {} for parent in parents)
    return any(note.get("chunk_type") == "cupy.ndarray" for note in notes)


def _with_cupy_meta(array: Any) -> Any:
    return type(array)(array.dask, array.name, array.chunks, meta=_cupy_meta(array))


def _cupy_meta(array: Any) -> Any:
    import cupy

    return cupy.empty((0,) * array.ndim, array.dtype)
