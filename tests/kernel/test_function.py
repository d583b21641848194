"""The function around a kernel's lines."""

from __future__ import annotations

import ctypes
from typing import Any

from speedcube.kernel.llvm.compile import compile_object, load_object
from speedcube.kernel.llvm.function import function
from speedcube.kernel.llvm.text import Text


def deep(levels: int, call: Any) -> Any:
    """What ``call`` gives, that many calls of C functions deeper on the stack."""
    return call() if not levels else next(map(deep, [levels - 1], [call]))


def test_the_stack_lies_alike_however_deep_the_caller_is() -> None:
    text = Text(1)
    text.allocas.append("  %kept = alloca [8 x i64], align 64")
    text.lines.append("  store ptr %kept, ptr %out")
    names = ("geometry", "buffers", "params", "scratch", "out")
    kernel = load_object(compile_object(function(text, names, ()), "plain"))

    def place() -> int:
        out = ctypes.c_int64()
        kernel.function(0, 0, 0, 0, ctypes.addressof(out))
        return out.value

    places = {deep(levels, place) for levels in range(0, 160, 8)}
    assert len(places) > 1
    assert len({one % 4096 for one in places}) == 1
