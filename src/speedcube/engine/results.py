"""What parts are given and where results go; records merged, and rounded once to numbers."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from dataclasses import field
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .. import dtypes
from ..dataclass import dataclass
from ..errors import ParameterError
from ..expr.nodes import Deferred, Expr, Reduced, StageResult, Tiled, c_strides
from ..kernel.exact.digits import many
from ..kernel.exact.integers import FINISH, carry
from ..kernel.folds import EXTREMES, KEYED
from ..kernel.lower.rules import key_values
from ..kernel.program import LIMBS, Program
from ..plan.plan import Plan
from ..plan.stages import Stage
from .staging.sent import sent

if TYPE_CHECKING:
    from .rungs import Rung

Array: TypeAlias = NDArray[Any]


class ResultMemory(Enum):
    """What `compute` takes as ``to`` besides the names that users give."""

    OF_RUNG = auto()  # a GPU's on a GPU rung, the host's on others


PLACES: Final = ("numpy", "cupy", ResultMemory.OF_RUNG)
PLACES_HERE: Final = ("numpy", ResultMemory.OF_RUNG)  # of a rung in the host's memory


def check_place(to: str | ResultMemory, rung: Rung) -> None:
    """Raise `ParameterError` where results cannot be left in the memory ``to`` names."""
    if to not in PLACES or (to == "cupy" and not rung.devices):
        raise ParameterError(f"to={to!r} is not possible on {rung.name}; use to='numpy'")


@dataclass(eq=False)
class Interleaved:
    """Memory for complex numbers, of which two stages write a part each; made when first needed."""

    shape: tuple[int, ...]
    dtype: str  # of a part
    device: int | None = None
    order: tuple[int, ...] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _array: Any = None

    def part(self, number: int) -> Any:
        """The real parts (0), or the imaginary ones (1): a view."""
        with self._lock:
            if self._array is None:
                whole = dtypes.OF_PARTS[self.dtype]
                self._array = new_array(self.shape, whole, self.device, self.order)
            return self._array.imag if number else self._array.real


def combined(re: Any, im: Any) -> Any:
    """The complex numbers of these parts: the memory that both lie in, or new memory."""
    if not np.shape(re):
        return np.dtype(dtypes.OF_PARTS[str(re.dtype)]).type(complex(float(re), float(im)))
    if (whole := _shared_memory(re, im)) is not None:
        return whole
    module = sys.modules["cupy"] if hasattr(type(re), "__cuda_array_interface__") else np
    made = module.empty(re.shape, dtypes.OF_PARTS[str(re.dtype)])
    made.real, made.imag = re, im
    return made


def _shared_memory(re: Any, im: Any) -> Any:
    """The complex array whose parts these are; None where they lie apart."""
    whole, other = (getattr(part, "base", None) for part in (re, im))
    if whole is not other or type(whole) is not np.ndarray:
        return None
    same = whole.dtype.kind == "c" and (whole.shape, whole.strides) == (re.shape, re.strides)
    return whole if same else None


def joined(values: Sequence[Any]) -> Any:
    """A value, or that of complex numbers from those of their parts."""
    return values[0] if len(values) == 1 else combined(*values)


@dataclass(eq=False)
class Destination:
    """The result array that the workers of one process write into; made when first needed."""

    shape: tuple[int, ...]
    dtype: str
    device: int | None = None
    order: tuple[int, ...] | None = None  # of the axes in host memory, where it is not C's
    both: tuple[Interleaved, int] | None = None  # what it is a part of, and which
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _array: Any = None

    def array(self) -> Any:
        with self._lock:
            if self._array is None:
                self._array = self._make()
            return self._array

    def lend(self, array: Any) -> None:
        """Be ``array``, whose owner takes it back."""
        self._array = array

    def take(self) -> Any:
        """The array, of which this keeps nothing: it goes when nobody needs it any more."""
        array = self.array()
        with self._lock:
            self._array = None
        return array

    def _make(self) -> Any:
        if self.both is not None:
            whole, number = self.both
            return whole.part(number)
        return new_array(self.shape, self.dtype, self.device, self.order)


@dataclass(frozen=True, eq=False)
class Destinations:
    """Where the stages of a plan leave their results: parts of complex numbers side by side."""

    plan: Plan
    pairs: dict[int, Interleaved] = field(default_factory=dict)  # by their roots

    def __call__(
        self, stage: Stage, device: int | None, order: tuple[int, ...] | None
    ) -> Destination:
        """The destination of ``stage``, on ``device`` or in host memory."""
        shape, dtype = stage.shape, stage.dtype
        number, part = self.plan.halves.get(id(stage.result), (None, 0))
        if number is None or device is not None:
            return Destination(shape, dtype, device, order)
        whole = self.pairs.setdefault(number, Interleaved(shape, dtype, device, order))
        return Destination(shape, dtype, device, order, (whole, part))


def new_array(
    shape: tuple[int, ...], dtype: str, device: int | None, order: tuple[int, ...] | None
) -> Any:
    """Memory on the host, or on a device in C order."""
    if device is None:
        return room(shape, dtype, order)
    import cupy

    with cupy.cuda.Device(device):
        return cupy.empty(shape, dtype)


def put(share: Any, results: Any) -> None:
    """Copy host or device ``results``, in C order, into ``share``, which may lie on a device."""
    results = results.reshape(share.shape)
    if isinstance(results, np.ndarray) and not isinstance(share, np.ndarray):
        results = sent(results)
    share[...] = results


def room(shape: tuple[int, ...], dtype: DTypeLike, order: tuple[int, ...] | None) -> Array:
    """Memory for an array whose axes lie in ``order``, slowest first; None: C order."""
    if order is None:
        return np.empty(shape, dtype)
    return np.empty([shape[k] for k in order], dtype).transpose(
        [*map(order.index, range(len(order)))]
    )


def strides_of(shape: tuple[int, ...], order: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of such an array, in elements."""
    steps = c_strides(tuple(shape[k] for k in order))
    return tuple(steps[order.index(k)] for k in range(len(shape)))


def shaped(array: Array, shape: tuple[int, ...]) -> Any:
    """What the user gets: ``array`` in the expression's shape, a NumPy scalar for 0-d."""
    if array.shape != shape:
        array = array.reshape(shape)
    elif shape:
        return array  # as nearly always
    return array if hasattr(type(array), "__cuda_array_interface__") else array[()]


def shaped_values(values: Sequence[Any], plan: Plan, roots: Sequence[Expr]) -> list[Any]:
    """What users get of ``plan``, whose results are ``values``."""
    return [
        _own(shaped(joined([values[k] for k in own]), root.shape), plan, own)
        for root, own in zip(roots, plan.roots, strict=True)
    ]


def _own(value: Any, plan: Plan, numbers: Sequence[int]) -> Any:
    """``value``, or a copy of it where it was asked for before: writes are seen by nobody else."""
    result, earlier = plan.results[numbers[0]], plan.results[: numbers[0]]
    again = len(numbers) == 1 and any(one is result for one in earlier)
    return value.copy() if again else value


def as_complex(reals: Any) -> Any:
    """Complex numbers whose parts lie side by side along the last axis; a scalar for 0-d."""
    dtype = "complex64" if reals.itemsize == 4 else "complex128"
    packed = reals if reals.strides[-1] == reals.itemsize else reals.copy()
    return shaped(packed.view(dtype)[..., 0], reals.shape[:-1])


Needs: TypeAlias = Sequence[StageResult | Deferred | Tiled]


def inputs_of(needs: Needs, arrays: Sequence[Any]) -> dict[int, Array]:
    """``arrays`` by the ids of the sources they stand for, laid out as kernels read them."""
    return {
        id(need): array
        if hasattr(type(array), "__cuda_array_interface__")
        else np.ascontiguousarray(array, dtype=need.dtype)
        for need, array in zip(needs, arrays, strict=True)
    }


def merge(op: str, is_float: bool, records: Sequence[Array]) -> Array:
    """One set of records from several over the same kept positions."""
    if len(records) == 1:
        return records[0]
    stack = np.stack(list(records))
    if op in EXTREMES:
        return np.asarray(stack.min(axis=0))
    if op.startswith("arg"):
        order = np.lexsort((stack[:, :, 1], stack[:, :, 0]), axis=0)[0]
        return np.asarray(stack[order, np.arange(stack.shape[1])])
    if is_float:
        carry(stack.reshape(*stack.shape[:2], -1, LIMBS))
    return np.asarray(stack.sum(axis=0, dtype=np.int64))


def is_exact_sum(source: Reduced) -> bool:
    """Whether the records of ``source`` are limbs."""
    return source.op in ("mean", "var", "std") or dtypes.is_float(source.arg.dtype)


def merge_pieces(program: Program, records: Array) -> Array:
    """The records of a GPU's pieces, merged: (count, pieces, words) -> (count, words)."""
    kind = program.sink.kind
    if records.shape[1] == 1:
        return np.ascontiguousarray(records[:, 0])
    if kind == "min":
        return np.asarray(records.min(axis=1))
    if kind == "argmin":  # the least key, and the first place that has it
        keys, places = records[:, :, 0], records[:, :, 1]
        least = keys.min(axis=1)
        here = np.where(keys == least[:, None], places, np.iinfo(np.int64).max)
        return np.stack([least, here.min(axis=1)], axis=1)
    if kind == "exact":
        carry(records.reshape(*records.shape[:2], -1, LIMBS))
    return np.asarray(records.sum(axis=1, dtype=np.int64))


_WORDS: Final = {name: f"uint{8 * dtypes.itemsize(name)}" for name in dtypes.FLOATS}


def values(source: Reduced, records: Array) -> Array:
    """The results of ``source`` for each record, flat."""
    arg = source.arg.dtype
    if source.op in EXTREMES:
        keys, (_, highest, skips) = np.ascontiguousarray(records[:, 0]), KEYED[source.op]
        return key_values(keys, arg, highest, skips).astype(source.dtype, copy=False)
    if source.op.startswith("arg"):
        return records[:, 1].astype(source.dtype)
    if records.shape[1] == 1:  # a wrapping integer sum
        return records[:, 0].astype(source.dtype)
    rounded = source.dtype if dtypes.is_float(source.dtype) else "float64"
    word = _WORDS[rounded]
    bits = _bits(source, records.reshape(len(records), -1, LIMBS), rounded)
    return bits.astype(word, copy=False).view(rounded).astype(source.dtype, copy=False)


_FEW: Final = 8  # records up to which one at a time is quicker than NumPy's calls


def _bits(source: Reduced, groups: Array, dtype: str) -> Array:
    """The exact results of ``groups`` (records, groups, limbs), rounded once, as bits."""
    if source.op in ("var", "std") and source.count == 1 <= source.ddof:
        one = np.array(np.nan, dtype).view(_WORDS[dtype])  # 0 / 0, whatever the elements are
        return np.full(len(groups), one, np.uint64)
    if len(groups) > _FEW:
        bits = many(source.op, groups, dtype, source.count, source.ddof)
        if bits is not None:
            return bits
    finish = FINISH[source.op]
    one_by_one = [finish(record, dtype, source.count, source.ddof) for record in groups]
    return np.array(one_by_one, np.uint64)
