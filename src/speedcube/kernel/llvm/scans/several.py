"""A scan of several lines in one call: of each as many elements, and a state of its own.

Elements and results of a line lie together, line after line; the states do so, too. The words are
those of one line, and `LINES` more.
"""

from __future__ import annotations

from ...program import Scan
from ..memory import ALIGN
from ..text import SCALAR
from .layout import COUNT, LINES, STATE


def several(program: Scan, text: str) -> str:
    """The kernel of ``text``, that of one line, for several."""
    one = text.replace("define void @kernel(", "define internal void @line(", 1)
    size, made = (ALIGN[SCALAR[dtype]] for dtype in (program.dtype, program.out))
    return f"""{one}
define void @kernel(ptr %words, ptr %values, ptr %state, ptr %scratch, ptr %out) #0 {{
entry:
  %pcount = getelementptr i64, ptr %words, i64 {COUNT}
  %count = load i64, ptr %pcount
  %plines = getelementptr i64, ptr %words, i64 {LINES}
  %lines = load i64, ptr %plines
  %read = mul i64 %count, {size}
  %made = mul i64 %count, {made}
  br label %head
head:
  %k = phi i64 [ 0, %entry ], [ %next, %body ]
  %more = icmp slt i64 %k, %lines
  br i1 %more, label %body, label %done
body:
  %at = mul i64 %k, %read
  %there = mul i64 %k, %made
  %own = mul i64 %k, {8 * STATE}
  %pv = getelementptr i8, ptr %values, i64 %at
  %ps = getelementptr i8, ptr %state, i64 %own
  %po = getelementptr i8, ptr %out, i64 %there
  call void @line(ptr %words, ptr %pv, ptr %ps, ptr %scratch, ptr %po)
  %next = add i64 %k, 1
  br label %head
done:
  ret void
}}
"""
