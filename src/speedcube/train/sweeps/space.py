"""What a sweep varies: lists of choices and ranges, checked before anything starts."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping
from numbers import Integral, Real
from typing import Any, Final, TypeAlias

from ...dataclass import dataclass
from ...errors import ParameterError
from ...shown import line as shown
from ..metrics.rows import Scalar

Params: TypeAlias = dict[str, Scalar]

RANKS: Final = ("gpus", "ranks")  # the keys that say how many ranks a trial has
MOST_TRIALS: Final = 100_000
INTEGERS: Final = range(-(2**63), 2**63)
SURROGATES: Final = re.compile("[\ud800-\udfff]")
NUMBERS: Final = ("NaN", "Infinity", "-Infinity")  # what these words mean in files of rows


@dataclass(frozen=True)
class Range:
    """All numbers from ``low`` to ``high``, both included; integers where both are.

    Parameters
    ----------
    low, high
        The ends; ``low`` below ``high``.
    log
        Draw the logarithm uniformly instead of the number; then ``low`` is above 0.
    """

    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        for end in (self.low, self.high):
            wide = isinstance(end, Integral) and int(end) not in INTEGERS
            real = isinstance(end, Real) and not isinstance(end, bool)
            if not real or wide or not math.isfinite(end):
                raise ParameterError(f"{self}: both ends are finite numbers, not {end!r}")
        if not self.low < self.high:
            raise ParameterError(f"{self}: the low end has to be below the high end")
        if self.log and self.low <= 0:
            raise ParameterError(f"{self}: a logarithmic range begins above 0")
        kind = int if self.whole else float
        object.__setattr__(self, "low", kind(self.low))  # numbers of NumPy become Python's
        object.__setattr__(self, "high", kind(self.high))

    @property
    def whole(self) -> bool:
        """Whether it holds integers only."""
        return isinstance(self.low, Integral) and isinstance(self.high, Integral)


Axis: TypeAlias = Range | tuple[Scalar, ...]
Space: TypeAlias = dict[str, Axis]


def parse(space: Mapping[str, Any]) -> Space:
    """Check a search space as users write it.

    A list holds choices; a tuple ``(low, high)`` or ``(low, high, "log")`` or a `Range` is a range.

    Raises
    ------
    ParameterError
        Names the key, and what is wrong with its values.
    """
    if not isinstance(space, Mapping) or not space:
        raise ParameterError(
            f'the space of a sweep is a dict such as {{"lr": [1e-3, 1e-2]}}, not {space!r}'
        )
    for name in space:
        if not isinstance(name, str) or not name.isidentifier():
            raise ParameterError(f"{name!r} cannot be the name of a parameter")
    return {name: _axis(name, values) for name, values in space.items()}


def _axis(name: str, values: Any) -> Axis:
    if isinstance(values, Range):
        return values
    if isinstance(values, tuple):
        return _range(name, values)
    if isinstance(values, str | bytes | Mapping) or not hasattr(values, "__iter__"):
        raise ParameterError(
            f"{name!r} is {values!r}: give a list of choices, or a range as (low, high) or "
            '(low, high, "log")'
        )
    choices = tuple(_choice(name, value) for value in values)
    if not choices:
        raise ParameterError(f"{name!r} has no choices: give at least one, or leave it out")
    for k, value in enumerate(choices):
        if value in choices[:k]:
            raise ParameterError(f"{name!r} has the choice {value!r} twice")
    return choices


def _range(name: str, ends: tuple[Any, ...]) -> Range:
    if len(ends) not in (2, 3) or ends[2:] not in ((), ("log",)):
        raise ParameterError(
            f'{name!r} is {ends!r}: a tuple is a range, (low, high) or (low, high, "log"); '
            "give choices as a list"
        )
    try:
        return Range(ends[0], ends[1], log=len(ends) == 3)
    except ParameterError as err:
        raise ParameterError(f"{name!r}: {err}; give choices as a list") from None


def _choice(name: str, value: Any) -> Scalar:
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        value = value.item()  # a scalar of NumPy's
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and value in INTEGERS:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, str) and value not in NUMBERS and not SURROGATES.search(value):
        return value
    raise ParameterError(
        f"{name!r} has the choice {value!r}: choices are finite numbers, strings (other than "
        f"{', '.join(NUMBERS)}), bools and None, so that a sweep can be read back from its files; "
        "sweep over a name, and look the rest up in the function"
    )


def ranks_key(space: Space) -> str | None:
    """The key that says how many ranks a trial has, if there is one."""
    keys = [name for name in RANKS if name in space]
    if len(keys) > 1:
        raise ParameterError("'gpus' and 'ranks' both name the number of ranks: give one of them")
    return keys[0] if keys else None


def check_ranks(space: Space, key: str, workers: int) -> None:
    """`ParameterError` unless every number of ranks is one that ``workers`` workers can run."""
    axis = space[key]
    numbers = (axis.low, axis.high) if isinstance(axis, Range) else axis
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            raise ParameterError(
                f"{key!r} holds {number!r}: a trial has 1 rank or more, a whole number"
            )
        if number > workers:
            raise ParameterError(
                f"{key!r} asks for {number}, and there are {workers} workers, one for each rank; "
                f"ask for at most {workers}, or name more of them with on="
            )


def grid(space: Space) -> Iterator[Params]:
    """Every combination of the choices, the last key changing fastest."""
    names = list(space)
    for name, axis in space.items():
        if isinstance(axis, Range):
            raise ParameterError(
                f"{name!r} is a range, which a grid cannot count out: give a list of choices, or "
                "method='random' or 'tpe'"
            )
    axes = [axis for axis in space.values() if not isinstance(axis, Range)]
    size = math.prod(len(axis) for axis in axes)
    if size > MOST_TRIALS:
        raise ParameterError(
            f"the grid has {size} trials, more than {MOST_TRIALS}: give fewer choices, or "
            "method='random' with trials="
        )
    return (dict(zip(names, values, strict=True)) for values in itertools.product(*axes))


def to_json(space: Space) -> dict[str, Any]:
    """The space as JSON values: a list, or a dict with the fields of a `Range`."""
    return {
        name: vars(axis) if isinstance(axis, Range) else list(axis) for name, axis in space.items()
    }


def check_params(space: Space, params: Params) -> None:
    """`ValueError`, with the name, unless ``params`` are a trial's of ``space``."""
    if params.keys() != space.keys():
        raise ValueError(f"its params are {shown(', '.join(params))}, not {', '.join(space)}")
    for name, axis in space.items():
        value = params[name]
        if isinstance(axis, Range):
            number = isinstance(value, int | float) and not isinstance(value, bool)
            holds = number and axis.low <= value <= axis.high  # type: ignore[operator]
        else:
            holds = any(type(value) is type(one) and value == one for one in axis)
        if not holds:
            raise ValueError(f"its {name} is {shown(repr(value), 40)}, which is not in the sweep")


def from_json(space: Mapping[str, Any]) -> Space:
    """The space that `to_json` wrote; `ValueError` where it did not."""
    known = {"low", "high", "log"}
    for name, axis in space.items():
        whole = type(axis) is list or (type(axis) is dict and axis.keys() == known)
        if not whole or (type(axis) is dict and type(axis["log"]) is not bool):
            raise ValueError(f"its space holds {shown(name)} as {shown(repr(axis), 40)}")
    return parse({k: Range(**axis) if type(axis) is dict else axis for k, axis in space.items()})
