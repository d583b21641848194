"""Names of NumPy, the Array API and Dask that are not here: refused, or later; and why.

`docs/functions.md` is made of this table, and the messages of names that are missing.
"""

from __future__ import annotations

from types import ModuleType
from typing import Final

import numpy as np

# Reason and way out -> names.
REFUSED: Final[dict[str, str]] = {
    "text and files are read and written with NumPy: read first, then speedcube.asarray; write "
    "x.compute()": "fromstring",
    "there are no dates: convert them to integers first": """
        busday_count busday_offset busdaycalendar datetime64 datetime_as_string datetime_data
        is_busday isnat timedelta64""",
    "there are no texts and no objects: arrays hold numbers": """
        bytes_ char character flexible object_ rec recarray record str_ strings void""",
    "arrays have no layout in memory: results lie in C order, of x.compute()": """
        flatiter nested_iters""",
    "kernels raise no floating-point warnings: see isnan and isfinite": """
        geterrcall getbufsize setbufsize seterrcall""",
    "matrices are arrays of two axes: asarray": "asmatrix bmat matrix",
    "there is no wider float than float64": "clongdouble complex256 float128 longdouble",
    "it is of NumPy itself: take it from numpy": """
        core ctypeslib dtypes emath f2py get_include lib show_config show_runtime test
        ufunc""",
    "it is of Dask itself: take it from dask.array": """
        ARRAY_EXPR_ENABLED PerformanceWarning annotations array_expr_enabled assert_eq backends
        builtins chunk chunk_types creation dispatch einsumfuncs importlib numpy_compat optimization
        optimize reductions register_chunk_type routines slicing tiledb_io utils warnings wrap""",
}

LATER: Final[dict[str, str]] = {}

# Of NumPy's arrays: what ours have not.
METHODS: Final[dict[str, str]] = {
    "arrays have no memory of their own before they are computed: of x.compute()": """
        base byteswap ctypes data getfield setfield setflags""",
    "values are computed first: x.compute()": "dump dumps",
    "pandas takes NumPy's arrays there: pd.factorize(np.asarray(x))": "factorize",
}


def refused(name: str) -> str | None:
    """Why ``name`` will not be there, and what to do instead; None where nothing is said of it."""
    return _reason(name, REFUSED)


def later(name: str) -> str:
    """Why a name of NumPy or Dask is not there yet, and who has it."""
    why = _reason(name, LATER) or "it is not there yet"
    if not hasattr(np, name):
        return f"{why}: give it to Dask, x.to_dask_array()"
    is_module = isinstance(getattr(np, name), ModuleType)
    return f"{why}: {f'numpy.{name} of x.compute()' if is_module else f'np.{name}(x.compute())'}"


def of_array(name: str) -> str | None:
    """Why NumPy's or Dask's arrays have ``name`` and ours have not; None where they have not."""
    why = _reason(name, METHODS)
    return why or (f"NumPy's has: x.compute().{name}" if hasattr(np.ndarray, name) else None)


def is_later(name: str) -> bool:
    """Whether NumPy or Dask has ``name``."""
    return hasattr(np, name) or _reason(name, LATER) is not None


def _reason(name: str, table: dict[str, str]) -> str | None:
    for why, names in table.items():
        if name in names.split():
            return why
    return None
