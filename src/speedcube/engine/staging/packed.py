"""A launch as the driver takes it: addresses and numbers side by side in memory."""

from __future__ import annotations

import threading
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ...kernel.cuda.compile import DeviceKernel
from ...kernel.cuda.prelude import THREADS

_thread: Final = threading.local()


def take_context() -> None:
    """Make the context of the current device this thread's, which the driver asks for.

    A thread has none until its first call of the runtime. CuPy makes none where its pool has the
    memory, and where the first device is asked for, which is the current one from the start.
    """
    import cupy

    cupy.cuda.runtime.free(0)  # frees nothing; later devices are set by CuPy
    _thread.has_context = True


class Packed:
    """The arguments of a launch side by side in memory, all of 8 bytes.

    CuPy takes half a microsecond to look at each that it is given; here the driver reads them.
    """

    def __init__(self, kernel: DeviceKernel, count: int, words: NDArray[Any] | None = None) -> None:
        import cupy

        self.words: Any = np.zeros(count, np.uint64) if words is None else words
        self.pointers = self.words.ctypes.data + 8 * np.arange(count, dtype=np.uint64)
        self.kernel = kernel  # which this keeps loaded
        self.function, self.arguments = kernel.function.ptr, int(self.pointers.ctypes.data)
        self.driver = cupy.cuda.driver.launchKernel

    def launch(self, blocks: int, stream: int) -> None:
        """Launch the kernel with the words as they are."""
        if not hasattr(_thread, "has_context"):
            take_context()
        self.driver(self.function, blocks, 1, 1, THREADS, 1, 1, 0, stream, self.arguments, 0)


def address_word(argument: Any) -> Any:
    """An argument of a kernel as a word: where an array begins."""
    there = hasattr(type(argument), "__cuda_array_interface__")
    return int(argument.data.ptr) if there else argument
