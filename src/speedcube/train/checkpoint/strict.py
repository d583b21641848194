"""JSON from files that nobody vouches for: an error of ours for whatever is not ours."""

from __future__ import annotations

import json
import math
from typing import Any, Final

from ...errors import CheckpointError
from ...strict_json import constant, members

# Python needs up to about 100 bytes for a value, so this many stay below 400 MB.
MOST_VALUES: Final = 4_000_000


def parse(text: bytes | str, what: str) -> Any:
    """Return the JSON value that ``text`` holds; ``what`` names it in errors.

    Raises
    ------
    CheckpointError
        Where the text is no JSON, nests too deep, holds too many values, a key twice in an
        object, NaN, an infinity, or an integer of thousands of digits.
    """
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8")
        if most_values(text) > MOST_VALUES:
            raise CheckpointError(f"{what} holds more than {MOST_VALUES} values")
        return json.loads(
            text,
            object_pairs_hook=members,
            parse_constant=constant,
            parse_float=_finite,
        )
    except RecursionError:
        raise CheckpointError(f"{what} nests too deep") from None
    except ValueError as error:  # of the decoder, of UTF-8, of huge integers
        raise CheckpointError(f"{what} is not what a checkpoint has there: {error}") from None


def most_values(text: str) -> int:
    """Return a number that the values in a JSON text do not exceed; found without reading it."""
    return text.count(",") + text.count("[") + text.count("{")


def fields(value: Any, names: frozenset[str], what: str) -> dict[str, Any]:
    """Return ``value`` if it is an object with exactly these keys."""
    if type(value) is not dict or value.keys() != names:
        raise CheckpointError(f"{what} is not an object with the keys {', '.join(sorted(names))}")
    return value


def count(value: Any, what: str, least: int = 0) -> int:
    """Return ``value`` if it is an integer that can be a size: at least ``least``, below 2**63."""
    if type(value) is not int or not least <= value < 2**63:
        raise CheckpointError(f"{what} is not an integer of at least {least}: {value!r:.80}")
    return value


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError("a number is too large")
    return value
