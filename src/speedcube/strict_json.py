"""JSON from files that nobody vouches for: either what programs write, or a reason in words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from .late import json

DEEPEST: Final = 64  # lists and objects in each other


class NotStrictError(ValueError):
    """Why a text is no JSON, in words to follow the name of what holds it."""


def parse(raw: bytes | str) -> Any:
    """The value that ``raw`` holds, of finite numbers and whole characters.

    Raises
    ------
    NotStrictError
        The text is no UTF-8 or no JSON, nests too deep, or holds a key twice in one object, NaN,
        an infinity, an integer of thousands of digits, or half a character.
    """
    try:
        text = raw if isinstance(raw, str) else raw.decode("utf-8")
        value = json.loads(text, object_pairs_hook=members, parse_constant=constant)
        _check((value,), 0)
        if "\\u" in text or text is raw:  # else there was nothing to make a surrogate of
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except NotStrictError:
        raise
    except json.JSONDecodeError as err:
        above = f"line {err.lineno}, " if err.lineno > 1 else ""
        raise NotStrictError(f"not JSON: {err.msg} at {above}column {err.colno}") from None
    except UnicodeDecodeError as err:
        raise NotStrictError(f"byte {err.start + 1} is not UTF-8") from None
    except UnicodeEncodeError:
        raise NotStrictError("it holds half a character") from None
    except RecursionError:
        raise NotStrictError("it nests too deep") from None
    except ValueError:  # Python reads no longer ones
        raise NotStrictError("it holds an integer of thousands of digits") from None
    return value


def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of these keys and values: json's ``object_pairs_hook``."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise NotStrictError("an object has a key twice")
    return found


def constant(name: str) -> float:
    """Refuse NaN and infinities: json's ``parse_constant``."""
    raise NotStrictError(f"{name} is not JSON")


def _check(values: Iterable[Any], depth: int) -> None:
    if depth > DEEPEST:
        raise NotStrictError("it nests too deep")
    for value in values:
        kind = type(value)
        if kind is float:
            if value - value != 0.0:
                raise NotStrictError("a number is too large")
        elif kind is dict:
            _check(value.values(), depth + 1)
        elif kind is list:
            _check(value, depth + 1)
