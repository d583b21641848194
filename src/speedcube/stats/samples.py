"""Samples along an axis, or along all of them: what Dask's tests leave to who calls them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, TypeVar, cast

from ..api.sources import asarray
from ..errors import ParameterError
from ..expr import build

F = TypeVar("F", bound=Callable[..., Any])


def of_samples(least: int = 0) -> Callable[[F], F]:
    """What gives a test its samples ``a`` and ``b``: of all axes as one line where axis is None.

    `ParameterError` where they have fewer numbers than ``least``, `AxisError` for no such axis.
    """

    def decorate(test: F) -> F:
        parameters = signature(test)

        @wraps(test)
        def function(*args: Any, **kwargs: Any) -> Any:
            given = parameters.bind(*args, **kwargs)
            given.apply_defaults()
            values = given.arguments
            for name in {"a", "b"}.intersection(values):
                values[name] = asarray(values[name])
                if values["axis"] is None:
                    values[name] = values[name].ravel()
            axis = 0 if values["axis"] is None else values["axis"]
            (axis,) = build.normalise_axes(axis, values["a"].ndim)
            values["axis"] = axis
            count = values["a"].shape[axis]
            if count < least:
                raise ParameterError(
                    f"{test.__name__} takes {least} numbers or more; along axis {axis} of shape "
                    f"{values['a'].shape} there are {count}"
                )
            return test(*given.args, **given.kwargs)

        return cast(F, function)

    return decorate
