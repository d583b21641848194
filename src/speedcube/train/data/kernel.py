"""What a speedcube array computes, as torch tensors: the kernel writes into torch's own memory."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from ...api.array import Array
from ...dataclass import dataclass
from ...engine.writer import Writer
from ...expr.nodes import Leaf


@dataclass(frozen=True)
class _Stream:
    """A CUDA stream by its address, as the protocol that CuPy reads wants it."""

    address: int

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.address


class Kernel:
    """``array`` as a function of ``inputs``, arrays of stored data that it reads.

    Called with tensors of the same layout on ``device``, it gives a tensor there. On a GPU all is
    done in the order of torch's current stream, and the call returns at once.
    """

    def __init__(self, array: Array, inputs: Sequence[Array], device: Any) -> None:
        self.shape, self.dtype, self.device = array.shape, array.dtype.name, device
        self.sources = [leaf.source for leaf in (x._expr for x in inputs) if isinstance(leaf, Leaf)]
        self.write = Writer(array._expr, device.index if device.type == "cuda" else None)

    def __call__(self, *tensors: Any) -> Any:
        import torch

        out = torch.empty(self.shape, dtype=getattr(torch, self.dtype), device=self.device)
        if not out.numel():
            return out
        with ExitStack() as stack:
            array_of = torch.Tensor.numpy
            if self.device.type == "cuda":
                import cupy

                stream = torch.cuda.current_stream(self.device).cuda_stream
                stack.enter_context(cupy.cuda.Device(self.device.index))
                stack.enter_context(cupy.cuda.Stream.from_external(_Stream(stream)))
                array_of = cupy.from_dlpack
            pairs = zip(self.sources, tensors, strict=True)
            self.write(array_of(out), {id(source): array_of(t) for source, t in pairs})
        return out
