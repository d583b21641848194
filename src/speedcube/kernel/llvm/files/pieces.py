"""Pieces of a file that lie evenly apart, read one after the other, and perhaps computed at once.

    void kernel(words, pread, memory, call, -)

``words`` (int64): the file's handle; where the first piece begins, and how far the next one is from
there; how many bytes a piece has, and how far the next one goes from it in ``memory``; how many
pieces a tile has; where the first piece of the next tile lies, in the file and in ``memory``; how
many tiles there are. The kernel stops at the first that it does not get whole, and says how many it
got. ``pread`` is the system's.

``call`` (int64; null: there is none) has the addresses of another kernel and of its arguments, and
the six words of its box. It is called behind each tile, the last argument ``step`` further on each
time. What it leaves in the first word of its geometry is added up.
"""

from __future__ import annotations

from typing import Final

from ....dataclass import dataclass

HANDLE, START, STEP, LENGTH, APART, PIECES = range(6)
TILE_STEP, TILE_APART, TILES, OUT_STEP, DONE, FAILURES = range(6, 12)
WORDS: Final = 12
KERNEL, GEOMETRY, OUT, BOX, CALL_WORDS = 0, 1, 5, 6, 12


@dataclass(frozen=True)
class PiecesOfFile:
    """The kernel, of which there is one."""


def emit_pieces(_: PiecesOfFile) -> str:
    """The LLVM text."""
    return "\n".join(
        [
            "define void @kernel(ptr %words, ptr %pread, ptr %memory, ptr %call, ptr %unused) #0 {",
            "entry:",
            *_loaded("words", "w", range(WORDS)),
            f"  %handle = trunc i64 %w{HANDLE} to i32",
            f"  store i64 0, ptr %wp{FAILURES}",
            "  %alone = icmp eq ptr %call, null",
            "  br label %head",
            "head:",
            "  %k = phi i64 [ 0, %entry ], [ %next, %behind ]",
            f"  %more = icmp slt i64 %k, %w{TILES}",
            "  br i1 %more, label %tile, label %done",
            "tile:",
            f"  %past = mul i64 %k, %w{TILE_STEP}",
            f"  %first = add i64 %w{START}, %past",
            f"  %before = mul i64 %k, %w{TILE_APART}",
            "  %begin = getelementptr i8, ptr %memory, i64 %before",
            "  br label %piece",
            "piece:",
            "  %p = phi i64 [ 0, %tile ], [ %later, %got.it ]",
            "  %from = phi i64 [ %first, %tile ], [ %from.next, %got.it ]",
            "  %to = phi ptr [ %begin, %tile ], [ %to.next, %got.it ]",
            f"  %got = call i64 %pread(i32 %handle, ptr %to, i64 %w{LENGTH}, i64 %from)",
            f"  %all = icmp eq i64 %got, %w{LENGTH}",
            "  br i1 %all, label %got.it, label %done",
            "got.it:",
            "  %later = add i64 %p, 1",
            f"  %from.next = add i64 %from, %w{STEP}",
            f"  %to.next = getelementptr i8, ptr %to, i64 %w{APART}",
            f"  %others = icmp slt i64 %later, %w{PIECES}",
            "  br i1 %others, label %piece, label %whole",
            "whole:",
            "  br i1 %alone, label %behind, label %compute",
            "compute:",
            *_called(),
            "  br label %behind",
            "behind:",
            "  %next = add i64 %k, 1",
            "  br label %head",
            "done:",
            f"  store i64 %k, ptr %wp{DONE}",
            "  ret void",
            "}",
            'attributes #0 = { nounwind "no-builtins" }',
            "",
        ]
    )


def _loaded(table: str, name: str, words: range) -> list[str]:
    lines = []
    for k in words:
        lines.append(f"  %{name}p{k} = getelementptr i64, ptr %{table}, i64 {k}")
        lines.append(f"  %{name}{k} = load i64, ptr %{name}p{k}")
    return lines


def _called() -> list[str]:
    """The other kernel's box put into place, the call, and what it says of failures."""
    lines = _loaded("call", "c", range(CALL_WORDS))
    lines += [f"  %a{k} = inttoptr i64 %c{k} to ptr" for k in range(OUT)]
    for k in range(CALL_WORDS - BOX):
        lines.append(f"  %g{k} = getelementptr i64, ptr %a{GEOMETRY}, i64 {k}")
        lines.append(f"  store i64 %c{BOX + k}, ptr %g{k}")
    arguments = ", ".join(f"ptr %a{k}" for k in range(GEOMETRY, OUT))
    return [
        *lines,
        f"  %further = mul i64 %k, %w{OUT_STEP}",
        f"  %place = add i64 %c{OUT}, %further",
        "  %out = inttoptr i64 %place to ptr",
        f"  call void %a{KERNEL}({arguments}, ptr %out)",
        "  %failed = load i64, ptr %g0",
        f"  %known = load i64, ptr %wp{FAILURES}",
        "  %sum = add i64 %known, %failed",
        f"  store i64 %sum, ptr %wp{FAILURES}",
    ]
