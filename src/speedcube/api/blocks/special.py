"""`scipy.special`'s ufuncs of our arrays: SciPy asks a library's own module of this name for them.

SciPy does so where ``SCIPY_ARRAY_API=1`` is set. Without the module it would compute arrays first.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, Final

import numpy as np

# Which SciPy writes with functions of arrays: these stay parts of kernels.
_FORMULAS: Final = frozenset(("rel_entr", "xlogy"))


def __getattr__(name: str) -> Callable[..., Any]:
    public = getattr(sys.modules.get("scipy.special"), name, None)
    ufunc = getattr(public, "__wrapped__", public)
    if name in _FORMULAS or not isinstance(ufunc, np.ufunc):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    @wraps(ufunc)
    def function(*args: Any, **kwargs: Any) -> Any:
        return ufunc(*args, **kwargs)

    return function
