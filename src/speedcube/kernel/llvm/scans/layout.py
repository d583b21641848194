"""Where a scan's kernel finds its numbers: the words, the state and the scratch memory.

``words`` (int64): how many elements there are, the first one's position in its line, a line's
length, whether no more elements follow; then two answers: how many elements were taken, and how
many results a product gave. Where a call takes several lines: how many.

``state`` is what goes on from one call to the next, in 8-byte words:

* of a running product the number of pieces before, then the products of the aligned groups of 2**k
  pieces that they make up;
* of a running sum of integers the sum so far;
* of a running sum of floats whether the sum so far is in limbs, its three parts, its limbs.
"""

from __future__ import annotations

from typing import Final

from ....expr.space import TILE
from ...program import LIMBS

COUNT, POSITION, LENGTH, LAST, TAKEN, RESULTS = range(6)
WORDS: Final = 6
LINES: Final = 6
SEVERAL_WORDS: Final = 7
PARTS: Final = 3  # of a running sum
LIMBS_AT: Final = 4  # of a state
STATE: Final = LIMBS_AT + LIMBS  # 8-byte words
SCRATCH: Final = (PARTS * TILE + 256) * 8  # bytes
