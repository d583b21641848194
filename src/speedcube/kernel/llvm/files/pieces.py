"""Pieces of a file that lie evenly apart, read one after the other into memory.

    void kernel(words, pread, memory, -, -)

``words`` (int64): the file's handle; where the first piece begins, and how far the next one is from
there; how many bytes a piece has; how many pieces there are. The kernel stops at the first that it
does not get whole, and says in the last word how many it got. ``pread`` is the system's.
"""

from __future__ import annotations

from typing import Final

from ....dataclass import dataclass

HANDLE, START, STEP, LENGTH, COUNT, DONE = range(6)
WORDS: Final = 6


@dataclass(frozen=True)
class PiecesOfFile:
    """The kernel, of which there is one."""


def emit_pieces(_: PiecesOfFile) -> str:
    """The LLVM text."""
    loads = (
        f"  %p{k} = getelementptr i64, ptr %words, i64 {k}\n  %w{k} = load i64, ptr %p{k}"
        for k in range(WORDS)
    )
    return "\n".join(
        [
            "define void @kernel(ptr %words, ptr %pread, ptr %memory, ptr %a, ptr %b) #0 {",
            "entry:",
            *loads,
            f"  %handle = trunc i64 %w{HANDLE} to i32",
            "  br label %head",
            "head:",
            "  %k = phi i64 [ 0, %entry ], [ %next, %whole ]",
            f"  %more = icmp slt i64 %k, %w{COUNT}",
            "  br i1 %more, label %piece, label %done",
            "piece:",
            f"  %past = mul i64 %k, %w{STEP}",
            f"  %from = add i64 %w{START}, %past",
            f"  %before = mul i64 %k, %w{LENGTH}",
            "  %to = getelementptr i8, ptr %memory, i64 %before",
            f"  %got = call i64 %pread(i32 %handle, ptr %to, i64 %w{LENGTH}, i64 %from)",
            f"  %all = icmp eq i64 %got, %w{LENGTH}",
            "  br i1 %all, label %whole, label %done",
            "whole:",
            "  %next = add i64 %k, 1",
            "  br label %head",
            "done:",
            f"  store i64 %k, ptr %p{DONE}",
            "  ret void",
            "}",
            'attributes #0 = { nounwind "no-builtins" }',
            "",
        ]
    )
