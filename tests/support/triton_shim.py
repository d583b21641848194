"""Just enough of Triton, in NumPy, to run this project's kernels on a host without a GPU.

A block is an array, a pointer is a tensor's memory with an offset for each element; blocks run one
after the other. Only float32 memory holds fractions, as NumPy has no bfloat16. Reading or writing
outside of a tensor is an error, and what a kernel does not write stays as it was.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import torch

_program = 0


class Block(np.ndarray):
    def to(self, dtype: Any) -> Block:
        return self.astype(dtype)


def _block(values: Any) -> Block:
    return np.asarray(values).view(Block)


class Pointer:
    def __init__(self, memory: np.ndarray, offset: Any = 0) -> None:
        self.memory, self.offset = memory, offset
        self.dtype = SimpleNamespace(element_ty=memory.dtype)

    def __add__(self, offset: Any) -> Pointer:
        return Pointer(self.memory, self.offset + offset)

    def __sub__(self, offset: Any) -> Pointer:
        return self + -offset

    def places(self, mask: Any) -> tuple[np.ndarray, np.ndarray]:
        offset, mask = np.broadcast_arrays(self.offset, mask)
        used = offset[mask]
        assert ((used >= 0) & (used < len(self.memory))).all(), "outside of the tensor"
        return np.where(mask, offset, 0), mask


def _load(pointer: Pointer, mask: Any = True, other: float = 0) -> Block:
    offset, mask = pointer.places(mask)
    return _block(np.where(mask, pointer.memory[offset], pointer.memory.dtype.type(other)))


def _store(pointer: Pointer, value: Block, mask: Any = True) -> None:
    assert value.dtype == pointer.memory.dtype, "stored in another type than the tensor's"
    offset, mask = pointer.places(mask)
    pointer.memory[offset[mask]] = np.broadcast_to(value, mask.shape)[mask]


def _dot(left: Block, right: Block, onto: Any = 0) -> Block:
    assert left.dtype == right.dtype, "operands of different types"
    return _block(left @ right + onto)


class Kernel:
    """A kernel: called within another, or launched with ``kernel[grid](...)``."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, *arguments: Any) -> Any:
        return self.function(*arguments)

    def __getitem__(self, grid: tuple[int]) -> Callable[..., None]:
        def launch(*arguments: Any, num_warps: int, **constants: Any) -> None:
            global _program
            passed = [
                Pointer(each.detach().view(-1).numpy()) if isinstance(each, torch.Tensor) else each
                for each in arguments
            ]
            for _program in range(*grid):
                self.function(*passed, **constants)

        return launch


def _jit(function: Any = None, **_options: Any) -> Any:
    return Kernel if function is None else Kernel(function)


def install(monkeypatch: Any) -> None:
    """Let ``import triton`` find this until the test ends."""
    triton, language = ModuleType("triton"), ModuleType("triton.language")
    triton.jit, triton.language = _jit, language  # type: ignore[attr-defined]
    vars(language).update(
        arange=lambda start, stop: _block(np.arange(start, stop, dtype=np.int32)),
        dot=_dot,
        float32=np.float32,
        int32=np.int32,
        load=_load,
        program_id=lambda axis: _program,
        range=lambda steps, num_stages: range(steps),
        sigmoid=lambda x: 1 / (1 + np.exp(-x)),
        store=_store,
        sum=lambda block, axis: _block(block.sum(axis)),
        uint32=np.uint32,
        where=lambda mask, x, y: _block(np.where(mask, x, y).astype(np.float32)),
        zeros=lambda shape, dtype: _block(np.zeros(shape, dtype)),
    )
    monkeypatch.setitem(sys.modules, "triton", triton)
    monkeypatch.setitem(sys.modules, "triton.language", language)
