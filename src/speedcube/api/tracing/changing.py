"""Which functions may give another result at each call, or ask of which kind their number is.

Those that count, and those that draw; what a function calls counts, too. A number that is not known
yet is no Python number, so that `isinstance` would say no where NumPy's call says yes.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final

_MODULES: Final = frozenset(("random", "secrets", "time", "uuid", "numpy.random"))
# Kinds of generators, by their modules, which whoever has a generator has loaded.
_KINDS: Final = {"random": ("Random",), "numpy.random": ("Generator", "RandomState")}


_LIBRARIES: Final = frozenset(("numpy", "scipy", "dask", "cupy", __name__.partition(".")[0]))
_OF_KINDS: Final = frozenset(("isinstance", "issubclass", "type", "hasattr", "__class__"))
_STORES: Final = frozenset(("STORE_GLOBAL", "STORE_ATTR", "STORE_SUBSCR"))


def changes(function: Callable[..., Any]) -> bool:
    """Whether the next call of ``function`` may differ, or asks for kinds, as its names tell."""
    seen: set[int] = set()
    waiting = [function]
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if _draws(one):
            return True
        code = _code(one)
        if code is not None:
            if _stores_or_asks(code):
                return True
            waiting += _named(one, code)
    return False


def _code(value: Any) -> CodeType | None:
    """The code of a function in Python that is no library's: these know what they are given."""
    function = getattr(value, "__func__", value)
    if not isinstance(function, FunctionType):
        return None
    known = (function.__module__ or "").partition(".")[0] in _LIBRARIES
    return None if known else function.__code__


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A function's code, and that of functions within it."""
    yield code
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _codes(one)


@lru_cache(maxsize=256)
def _stores_or_asks(code: CodeType) -> bool:
    """Whether a function sets what is not its own, or asks of which kind something is."""
    return any(
        one.opname in _STORES
        or one.opname.startswith("MATCH_")
        or (one.opname == "STORE_DEREF" and one.argval in code.co_freevars)
        or one.argval in _OF_KINDS
        for each in _codes(code)
        for one in dis.get_instructions(each)
    )


def _named(value: Any, code: CodeType) -> list[Any]:
    """What a function's names are: of its module, of functions around it, of what it belongs to."""
    function = getattr(value, "__func__", value)
    names = {name for each in _codes(code) for name in each.co_names}
    known = [function.__globals__[name] for name in names if name in function.__globals__]
    for cell in function.__closure__ or ():
        try:
            known.append(cell.cell_contents)
        except ValueError:  # not set yet
            continue
    own = getattr(getattr(value, "__self__", None), "__dict__", {})
    known += [own[name] for name in names if name in own]
    if "random" in names:  # as in np.random
        known += [getattr(one, "random", None) for one in known if isinstance(one, ModuleType)]
    return known


def _draws(value: Any) -> bool:
    """Whether ``value`` gives another number each time: a generator, an iterator, their modules."""
    if isinstance(value, ModuleType):
        return value.__name__ in _MODULES
    owner = getattr(value, "__self__", None)
    if isinstance(owner, ModuleType):  # of a builtin function
        return owner.__name__ in _MODULES
    kinds = _kinds()
    return isinstance(value, kinds) or isinstance(owner, kinds) or _is_iterator(value)


def _kinds() -> tuple[type, ...]:
    loaded = [
        (sys.modules[module], names) for module, names in _KINDS.items() if module in sys.modules
    ]
    return tuple(getattr(module, name) for module, names in loaded for name in names)


def _is_iterator(value: Any) -> bool:
    return hasattr(type(value), "__next__")
