"""What a block of `on` says besides its rung: whether laws are asked for, where records go."""

from __future__ import annotations

from contextlib import AbstractContextManager
from contextvars import ContextVar, Token
from typing import Any

from ..engine.keeping.where import checked_folder, folder
from ..engine.routines.strictness import is_strict


class Also:
    """What a block has changed besides the rung: laws that are asked for, where records are kept.

    And its rung's block.
    """

    __slots__ = ("_block", "_tokens")

    def __init__(
        self, strict: bool | None, checkpoint: Any, block: AbstractContextManager[Any] | None
    ) -> None:
        place = None if checkpoint is None else checked_folder(checkpoint)
        if block is not None:
            block.__enter__()
        self._block, self._tokens = block, list[tuple[ContextVar[Any], Token[Any]]]()
        if strict is not None:
            self._tokens.append((is_strict, is_strict.set(bool(strict))))
        if place is not None:
            self._tokens.append((folder, folder.set(place)))

    def leave(self, *error: Any) -> None:
        """Put everything back."""
        for variable, token in self._tokens:
            variable.reset(token)
        if self._block is not None:
            self._block.__exit__(*error)
