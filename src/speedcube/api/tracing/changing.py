"""Which functions may give another result at each call: those that count, and those that draw."""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache
from types import CodeType, ModuleType
from typing import Any, Final

_MODULES: Final = frozenset(("random", "secrets", "time", "uuid", "numpy.random"))
# Kinds of generators, by their modules, which whoever has a generator has loaded.
_KINDS: Final = {"random": ("Random",), "numpy.random": ("Generator", "RandomState")}


def changes(function: Callable[..., Any]) -> bool:
    """Whether the next call of ``function`` may give another result, as far as its names tell."""
    if _draws(function):
        return True
    function = getattr(function, "__func__", function)
    code = getattr(function, "__code__", None)
    if code is None:
        return False
    return _sets_names(code) or any(map(_draws, _named(function, code)))


@lru_cache(maxsize=256)
def _sets_names(code: CodeType) -> bool:
    """Whether a function sets names that are not its own."""
    return any(
        one.opname == "STORE_GLOBAL"
        or (one.opname == "STORE_DEREF" and one.argval in code.co_freevars)
        for one in dis.get_instructions(code)
    )


def _named(function: Any, code: CodeType) -> Iterator[Any]:
    """What a function's names are: of its module, of the functions around it, of modules' own."""
    known = [function.__globals__[name] for name in code.co_names if name in function.__globals__]
    for cell in function.__closure__ or ():
        try:
            known.append(cell.cell_contents)
        except ValueError:  # not set yet
            continue
    yield from known
    if "random" in code.co_names:  # as in np.random
        yield from (getattr(one, "random", None) for one in known if isinstance(one, ModuleType))


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
