"""`vectorize` and `frompyfunc`: a Python function of numbers becomes a part of the kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import dtypes
from ...errors import DTypeError, ParameterError, ParameterTypeError
from ...expr import views
from ...late import dask
from ..array import Array, array_of
from ..sources import asarray
from .changing import changes
from .symbols import ValueAskedError, instead, symbol


def traced(
    who: str, function: Callable[..., Any], args: list[Any], named: dict[str, Any]
) -> Array | tuple[Array, ...]:
    """``function`` of each element of ``args`` and ``named``, arrays that broadcast.

    Others are given to it as they are: those that are `_AsItIs`.
    """
    given = {
        k: array_of(v) for k, v in (*enumerate(args), *named.items()) if type(v) is not _AsItIs
    }
    shape = views.broadcast_shapes(*(one.shape for one in given.values()))
    arrays = {key: _broadcast(one, shape) for key, one in given.items()}
    asked: list[ValueAskedError] = []
    symbols = {k: symbol(who, f"x{k}", one._expr.dtype, asked) for k, one in given.items()}
    placed = [symbols[k] if k in symbols else args[k].value for k in range(len(args))]
    by_name = {k: symbols[k] if k in symbols else named[k].value for k in named}
    result = function(*placed, **by_name)
    if asked:  # and the function caught that
        raise asked[0]

    def over(value: Any) -> Array:
        try:
            one = array_of(value)
        except DTypeError as err:
            raise DTypeError(
                f"{who} returned {type(value).__name__}; it has to return a number"
            ) from err
        return instead(who, one, list(symbols.values()), list(arrays.values()))

    return tuple(map(over, result)) if isinstance(result, tuple) else over(result)


class _AsItIs:
    """An argument that is no array of numbers for the function."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _broadcast(array: Array, shape: tuple[int, ...]) -> Array:
    if array.shape == shape:
        return array
    return Array(views.broadcast_to(array._expr, shape), gpu=array._gpu)


class vectorize(np.vectorize):
    """A Python function of numbers as a function of arrays: lazy, and a part of the kernel.

    The function is called once, with numbers whose values are not known yet, to see what it
    computes; so the law holds. What it prints happens once then. One that asks for a value, as
    ``if`` and `math` do, or for its kind, as `isinstance` does, that sets names outside of itself
    or names what draws numbers, as `random` does, is called for each element instead, at once, as
    NumPy does: say `where` for a branch.

    Parameters
    ----------
    pyfunc : callable
        Takes numbers, and gives one, or a tuple of them.
    otypes : str or list of dtypes, optional
        What it gives.
    doc : str, optional
        The docstring.
    excluded : set of int and str, optional
        Arguments that are given as they are.
    cache : bool
        NumPy's; it changes nothing here.
    signature : str, optional
        As ``"(n)->()"``: then it is called at once, for each part, as NumPy does.

    Raises
    ------
    TypeError
        When it is called: for functions that give no numbers.

    Examples
    --------
    >>> import speedcube as sc
    >>> bend = sc.vectorize(lambda x, a: np.where(x > a, np.sqrt(x), x * a))
    >>> bend(sc.asarray([4.0, 9.0, 1.0]), 2.0).compute()
    array([2., 3., 2.])
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function of each element, as arrays."""
        if not callable(self.pyfunc):  # a decorator with arguments gets its function
            return super().__call__(*args, **kwargs)
        if self.signature is not None or changes(self.pyfunc):
            return self._at_once(args, kwargs)
        excluded = self.excluded or ()
        placed = [_AsItIs(one) if k in excluded else one for k, one in enumerate(args)]
        named = {k: _AsItIs(one) if k in excluded else one for k, one in kwargs.items()}
        who = f"vectorize: {dask.utils.funcname(self.pyfunc)}"
        try:
            found = traced(who, self._called, placed, named)
        except ValueAskedError:
            return self._at_once(args, kwargs)
        return self._of_otypes(found)

    def _called(self, *args: Any, **kwargs: Any) -> Any:
        """The function of symbols; what Python's numbers have and they have not is asked for."""
        try:
            return self.pyfunc(*args, **kwargs)
        except (AttributeError, TypeError) as err:
            raise ValueAskedError(str(err)) from err

    def _of_otypes(self, found: Any) -> Any:
        if self.otypes is None:
            return found
        several = found if isinstance(found, tuple) else (found,)
        if len(several) != len(self.otypes):
            raise ParameterError(
                f"vectorize: the function gives {len(several)} numbers, and otypes= has "
                f"{len(self.otypes)}"
            )
        kinds = (dtypes.check(np.dtype(kind)) for kind in self.otypes)
        cast = tuple(one.astype(kind) for one, kind in zip(several, kinds, strict=True))
        return cast if isinstance(found, tuple) else cast[0]

    def _at_once(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        known = [np.asarray(one) if isinstance(one, Array) else one for one in args]
        named = {k: np.asarray(v) if isinstance(v, Array) else v for k, v in kwargs.items()}
        found = super().__call__(*known, **named)
        return tuple(map(asarray, found)) if isinstance(found, tuple) else asarray(found)


class _OfNumbers:
    """What `frompyfunc` gives: a function of arrays, as NumPy's ufuncs are."""

    def __init__(self, func: Callable[..., Any], nin: int, nout: int, identity: Any) -> None:
        self.func, self.nin, self.nout, self.identity = func, nin, nout, identity
        self.nargs = nin + nout
        self.__name__ = f"{dask.utils.funcname(func)} (vectorized)"

    def __repr__(self) -> str:
        return f"<speedcube.frompyfunc {self.__name__!r}>"

    def __call__(self, *args: Any) -> Any:
        if len(args) != self.nin:
            raise ParameterTypeError(f"{self.__name__} takes {self.nin} arrays, not {len(args)}")
        if changes(self.func):
            return self._at_once(args)
        found = traced(f"frompyfunc: {dask.utils.funcname(self.func)}", self.func, list(args), {})
        several = found if isinstance(found, tuple) else (found,)
        if len(several) != self.nout:
            raise ParameterError(
                f"{self.__name__} gives {len(several)} numbers, and nout= says {self.nout}"
            )
        return found if self.nout > 1 else several[0]

    def _at_once(self, args: tuple[Any, ...]) -> Any:
        """Called for each element, in their order: what it gives are objects to NumPy."""
        known = [np.asarray(one) if isinstance(one, Array) else one for one in args]
        found = np.frompyfunc(self.func, self.nin, self.nout)(*known)
        several = found if isinstance(found, tuple) else (found,)
        arrays = tuple(asarray(np.asarray(np.asarray(one).tolist())) for one in several)
        return arrays if self.nout > 1 else arrays[0]


def frompyfunc(func: Any, /, nin: int, nout: int, **kwargs: Any) -> Any:
    """A Python function of numbers as a function of arrays: a part of the kernel.

    Results have the dtype that follows from what it computes; NumPy's are objects. A function that
    sets names outside of itself, or draws from `random`, is called for each element, at once.

    Parameters
    ----------
    func : callable
        Takes `nin` numbers, and gives `nout`; as in `vectorize`.
    nin, nout : int
        How many.
    **kwargs
        NumPy's ``identity``, which is kept.

    Returns
    -------
    callable
        Takes arrays that broadcast, and gives an Array, or a tuple of them.

    Raises
    ------
    TypeError
        For what is no function; when it is called, for functions that branch on a value.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.frompyfunc(lambda a, b: (a + b, a - b), 2, 2)(sc.arange(3), 1)[1].compute()
    array([-1,  0,  1])
    """
    if not callable(func):
        raise ParameterTypeError(f"frompyfunc takes a function, not {func!r}")
    if unknown := set(kwargs) - {"identity"}:
        raise ParameterTypeError(f"frompyfunc takes no {', '.join(sorted(unknown))}")
    return _OfNumbers(func, int(nin), int(nout), kwargs.get("identity"))
