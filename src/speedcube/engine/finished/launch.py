"""The one launch that makes all results of a part: only where arrays lie is left to be said.

Preparing a launch takes as long as reading a hundred megabytes, so it is done once for a program
that is run again. One thread at a time has it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..gpu import Launcher
from ..prepare import Prepared
from ..staging.packed import Packed, address_word
from .gpu import KEPT, launches_with


class OnceForAll:
    """The launch of ``prepared`` on the current device, and which results it could not make.

    ``words`` are its arguments: ``params`` and the leaves' ``addresses`` lie there.
    """

    def __init__(self, prepared: Prepared, device: int) -> None:
        import cupy

        self.prepared, self.wait = prepared, cupy.cuda.runtime.streamSynchronize
        launcher = Launcher(prepared, None, device)
        self.launches = launches_with(launcher)
        # Many words of parts are the pool's between two calls: it finds them in microseconds.
        self.waiting = self.launches.partial.size if self.launches.bytes > KEPT else 0
        if self.waiting:
            self.launches = replace(self.launches, partial=cupy.empty(0, np.float64))
        (geometry, self.blocks), *others = self.launches.geometries
        self.is_all = not others and self.launches.bytes <= KEPT
        first = len(geometry)
        words = [*geometry, *launcher.params, *launcher.addresses, *launcher.tables, 0]
        self.out = len(words) - 1
        words += map(address_word, self.launches.memory)
        self.packed = Packed(launcher.kernel, len(words))
        self.words: Any = self.packed.words
        self.words[:] = words
        self.params = slice(first, first + launcher.count)
        self.addresses = first + launcher.count

    def __call__(self, out: int, stream: int) -> NDArray[np.int64] | None:
        """Make the results at ``out``, and wait: the places of those that are not certain.

        None where these are too many.
        """
        self.words[self.out] = out
        partial = self._partial()
        if partial is not None:
            self.words[-1] = address_word(partial)
        self.packed.launch(self.blocks, stream)
        self.wait(stream)
        return self.launches.failed()

    def _partial(self) -> Any:
        """Memory where parts wait, for one call; None: it has its own."""
        import cupy

        return cupy.empty(self.waiting, np.float64) if self.waiting else None
