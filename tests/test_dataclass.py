"""Our dataclasses are those of the standard library."""

from __future__ import annotations

import dataclasses
import math
import pickle
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from pathlib import Path
from typing import Any

import pytest

from speedcube import dataclass as ours

OPTIONS: list[dict[str, Any]] = [
    {},
    {"frozen": True},
    {"eq": False},
    {"frozen": True, "eq": False},
    {"repr": False},
    {"frozen": True, "slots": True},
]


def classes(make: Any) -> dict[str, type]:
    """The same classes, made by one of the two decorators."""

    @make
    class Nothing:
        """No field."""

    @make
    class One:
        """A field."""

        a: Any

    @make
    class Some:
        """Fields that are not all compared, shown, hashed."""

        a: Any
        b: Any = 2
        c: Any = field(default=3, compare=False)
        d: Any = field(default=4, repr=False)
        e: Any = field(default_factory=lambda: 5, hash=False)

    @make
    class Child(Some):
        """One that has more."""

        f: Any = 6

    @make
    class Own:
        """One that says itself how it is compared and shown."""

        a: Any

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 7

        def __repr__(self) -> str:
            return "own"

    return {cls.__name__: cls for cls in (Nothing, One, Some, Child, Own)}


def said(of: Any, *args: Any) -> Any:
    """What it gives, or raises."""
    try:
        return of(*args)
    except Exception as err:
        return type(err), str(err)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_methods_give_what_those_of_the_standard_library_do(options: dict[str, Any]) -> None:
    nan = math.nan
    arguments = [(), (1,), (nan,), ([],), (1, 2), (1, 3), (1, 2, 9), (1, 2, 3, 9), (1, 2, 3, 4, 9)]
    mine = classes(ours.dataclass(**options))
    theirs = classes(dataclasses.dataclass(**options))
    for name, cls in theirs.items():
        pairs = [(said(mine[name], *a), said(cls, *a)) for a in arguments]
        assert [isinstance(b, tuple) for _, b in pairs] == [isinstance(a, tuple) for a, _ in pairs]
        made = [pair for pair in pairs if not isinstance(pair[0], tuple)]
        assert made
        for a, b in made:
            if options.get("repr", True) or name == "Own":
                assert repr(a) == repr(b)
            if options.get("eq", True) or name == "Own":
                assert said(hash, a) == said(hash, b)
            assert [a == c for c, _ in made] == [b == c for _, c in made]
            assert (a == 1) is (b == 1)
            assert dataclasses.asdict(a) == dataclasses.asdict(b)
            assert said(setattr, a, "a", 8) == said(setattr, b, "a", 8)


@ours.dataclass(frozen=True)
class Kept:
    """One that can be pickled."""

    a: int
    b: Any = None


def test_instances_are_pickled_replaced_and_shown_within_themselves() -> None:
    kept = Kept(1, [2])
    assert pickle.loads(pickle.dumps(kept)) == kept
    assert dataclasses.replace(kept, a=3) == Kept(3, [2])
    assert {Kept(1, 2): 5}[Kept(1, 2)] == 5
    kept.b.append(kept)
    assert repr(kept) == "Kept(a=1, b=[2, ...])"
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'a'"):
        kept.a = 2  # type: ignore[misc]


def test_the_package_makes_its_dataclasses_by_it() -> None:
    """But for one, which needs an option that it does not have."""
    package = Path(ours.__file__).parent
    plain = [
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if re.search(r"^from dataclasses import .*\bdataclass\b", path.read_text(), re.MULTILINE)
    ]
    assert plain == ["expr/sources/read.py"]


class _Slow:
    """A value that two threads find at once, each its own."""

    def __init__(self) -> None:
        self.both = threading.Barrier(2)

    @ours.cached_property
    def value(self) -> object:
        """Another object each time that it is made."""
        self.both.wait(10)
        return object()


def test_threads_that_find_a_value_at_once_get_the_same_one() -> None:
    """As nodes of expressions, which are known by their identity, have to be."""
    slow = _Slow()
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: slow.value, range(2))
    assert first is second is slow.value
    assert isinstance(_Slow.__dict__["value"], type(_Slow.value))
