"""What writes each kernel of fixed text that orders, counts or slides along elements in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ...orders import (
    ByLeadingBits,
    Choose,
    Deal,
    DealLines,
    EvenTally,
    Radix,
    RowPairs,
    RowSizes,
    Slide,
)
from ...program import Sieve, Tally, Weigh
from ..pairs.emit import emit_pairs
from ..pairs.sizes import emit_sizes
from .choose import emit_choose
from .even import emit_even_tally
from .packed import emit_packed
from .part import emit_lines_parted, emit_part
from .radix import emit_radix
from .sieve import emit_sieve
from .slide import emit_slide
from .tally import emit_tally
from .weigh import emit_weigh

EMITTERS: Final[dict[type[Any], Callable[[Any], str]]] = {
    Tally: emit_tally,
    EvenTally: emit_even_tally,
    Sieve: emit_sieve,
    Deal: emit_part,
    DealLines: emit_lines_parted,
    Choose: emit_choose,
    Radix: emit_radix,
    ByLeadingBits: emit_packed,
    Weigh: emit_weigh,
    Slide: emit_slide,
    RowPairs: emit_pairs,
    RowSizes: emit_sizes,
}
