"""What a sweep was asked for is checked before anything starts: each error names the argument."""

from __future__ import annotations

import functools
import importlib
import inspect
import math
from collections.abc import Collection, Mapping
from numbers import Real
from typing import Any, Final

from ...errors import ParameterError
from ..driver import run as launch
from . import record
from . import space as spaces
from .space import RANKS, Space

PACKAGES: Final = ("optuna", "pandas", "pyarrow", "matplotlib")


def words(method: Any, metric: Any, direction: Any) -> None:
    """`ParameterError` unless the method and the direction are known and the metric has a name."""
    for name, value, known in (
        ("method", method, record.METHODS),
        ("direction", direction, record.DIRECTIONS),
    ):
        if value not in known:
            raise ParameterError(f"{name}={value!r}: give {' or '.join(map(repr, known))}")
    if not isinstance(metric, str) or not metric or spaces.SURROGATES.search(metric):
        raise ParameterError(f"metric={metric!r}: give a name that the function reports")


def target_value(target: Any) -> float | None:
    """The value of the metric that ``target=`` asks for."""
    if target is None:
        return None
    if isinstance(target, bool) or not isinstance(target, Real) or not math.isfinite(target):
        raise ParameterError(f"target={target!r}: give a finite value of the metric, or None")
    return float(target)


def count(trials: Any, method: str, space: Space) -> int:
    """How many trials there will be."""
    if method == "grid":
        if trials is not None:
            raise ParameterError(
                f"trials={trials!r}: a grid has as many trials as combinations; give "
                "method='random' or 'tpe' for another number"
            )
        return sum(1 for _ in spaces.grid(space))
    if trials is None:
        raise ParameterError(f"method={method!r} needs to know how many: give trials=")
    launch.at_least("trials", trials, 1)
    if trials > spaces.MOST_TRIALS:
        raise ParameterError(f"trials={trials}: a sweep has at most {spaces.MOST_TRIALS} trials")
    return int(trials)


def passed(
    function: Any, space: Space, fixed: Mapping[str, Any], options: Collection[str]
) -> frozenset[str]:
    """The names of the space that are arguments; `ParameterError` where they do not fit.

    ``options`` are the sweep's own.
    """
    for name in space:
        if name in launch.OWN and name not in RANKS:
            raise ParameterError(
                f"{name!r} is an option of train.run, which a sweep cannot vary; rename the "
                "parameter of the function"
            )
        if name in fixed:
            raise ParameterError(f"{name!r} is in the space, and given as a fixed argument too")
    spaces.ranks_key(space)
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return frozenset(space) - set(RANKS)
    _check_own(function, signature, {*options} - set(launch.OWN) - set(space))
    arguments = frozenset(k for k in space if k not in RANKS or k in signature.parameters)
    try:
        signature.bind(**dict.fromkeys([*arguments, *fixed]))
    except TypeError as err:
        raise ParameterError(
            f"the function cannot be called with {', '.join([*arguments, *fixed])}: {err}; its "
            f"parameters are {signature}"
        ) from None
    return arguments


def _check_own(function: Any, signature: inspect.Signature, own: Collection[str]) -> None:
    """`ParameterError` where an argument could be meant for the function or for the sweep."""
    bound = function.keywords if isinstance(function, functools.partial) else {}
    for name in signature.parameters:
        if name in own and name not in bound:
            raise ParameterError(
                f"{name!r} is both a parameter of the function and an option of train.sweep; bind "
                f"it with functools.partial(function, {name}=...), or put it into the space"
            )


def ranks_key(space: Space, ranks: int, workers: int) -> str | None:
    """The key that says how many ranks a trial has, all of them numbers that can run."""
    key = spaces.ranks_key(space)
    if key is not None:
        spaces.check_ranks(space, key, workers)
    elif ranks > workers:
        raise ParameterError(f"ranks={ranks}, and there are {workers} workers, one for each rank")
    return key


def need_packages() -> None:
    """`ParameterError` unless what a sweep needs at its end is there at its start."""
    for name in PACKAGES:
        try:
            importlib.import_module(name)
        except ImportError as err:
            raise ParameterError(
                f"a sweep needs {name}, which cannot be imported ({err}); "
                "pip install speedcube[sweep]"
            ) from err
