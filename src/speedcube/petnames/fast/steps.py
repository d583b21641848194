"""Training steps and validation as CUDA graphs, over rows that stay on the device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import distributed

from ..model import DROPOUT
from .network import losses


class GraphSteps:
    """One training step after the other; a step of each size is captured once and then replayed.

    A step sums the gradients over all ranks and lets ``optimizer``, whose settings must be
    ``capturable=True``, change ``model``. Its graph reads the numbers of its rows where each step
    of its size puts them.

    Parameters
    ----------
    model
        One of `speedcube.petnames.model.make_model`, alike on all ranks.
    optimizer
        Of the parameters of ``model``. Its state is loaded before the first step or never: the
        graphs hold its addresses.
    rows
        All rows, codes of shape (rows, WINDOW + 1), uint8.
    scale
        A step minimises ``scale / whole`` times the sum of its losses, where ``whole`` is the
        number of rows of all ranks in that step.
    ignore
        The target that counts for nothing.
    """

    def __init__(
        self, model: Any, optimizer: Any, rows: torch.Tensor, *, scale: float, ignore: int = -100
    ) -> None:
        self.total = torch.zeros((), device=rows.device)  # the losses' sum since `start`
        self._model, self._optimizer, self._rows = model, optimizer, rows
        self._scale, self._ignore = scale, ignore
        self._parameters = list(model.parameters())
        # The numbers of an epoch's rows on their way to the GPU, and how many have set out.
        self._leaving = torch.empty(len(rows), dtype=torch.int64, pin_memory=True)
        self._left = 0
        # Of each size, the graph and the numbers that it reads.
        self._graphs: dict[tuple[int, int], tuple[torch.cuda.CUDAGraph, torch.Tensor]] = {}
        self._pool = torch.cuda.graph_pool_handle()
        if not optimizer.state:
            _make_state(optimizer)

    def start(self) -> None:
        """Begin an epoch, once the GPU has done the steps of the one before."""
        torch.cuda.current_stream().synchronize()
        self._left = 0
        self.total.zero_()

    def prepare(self, size: int, whole: int) -> tuple[torch.cuda.CUDAGraph, torch.Tensor]:
        """The graph of a step of ``size`` of ``whole`` rows, and where it reads their numbers.

        It is captured where it is the first of its size; that takes seconds on a new machine.
        """
        if (size, whole) not in self._graphs:
            numbers = torch.zeros(size, dtype=torch.int64, device=self._rows.device)
            state = [*self._parameters, self.total]
            state += [each for of_one in self._optimizer.state.values() for each in of_one.values()]
            graph = capture(lambda: self._step(numbers, whole), state, self._pool)
            self._graphs[size, whole] = graph, numbers
        return self._graphs[size, whole]

    def step(self, numbers: torch.Tensor, whole: int) -> None:
        """Train on the rows of these ``numbers``, of ``whole`` rows of all ranks.

        The numbers are in host memory. The call does not wait for the GPU.
        """
        graph, place = self.prepare(len(numbers), whole)
        leaving = self._leaving[self._left : self._left + len(numbers)]
        self._left += len(numbers)
        place.copy_(leaving.copy_(numbers), non_blocking=True)
        graph.replay()

    def _step(self, numbers: torch.Tensor, whole: int) -> None:
        rows = self._rows[numbers]
        loss = losses(self._model, rows, dropout=DROPOUT, ignore=self._ignore).sum()
        (loss * (self._scale / whole)).backward()
        self._sum_gradients()
        self._optimizer.step()
        self._optimizer.zero_grad()
        self.total += loss.detach()

    def _sum_gradients(self) -> None:
        if not distributed.is_initialized() or distributed.get_world_size() == 1:
            return
        gradients = [parameter.grad for parameter in self._parameters]
        flat = torch.cat([gradient.flatten() for gradient in gradients])
        distributed.all_reduce(flat)
        parts = flat.split([gradient.numel() for gradient in gradients])
        torch._foreach_copy_([gradient.view(-1) for gradient in gradients], parts)


class GraphValidation:
    """The sum of the losses of all ``rows``, dropout off, as one graph."""

    def __init__(self, model: Any, rows: torch.Tensor, *, ignore: int = -100) -> None:
        self._model, self._rows, self._ignore = model, rows, ignore
        self._total = torch.zeros((), device=rows.device)
        self._graph: torch.cuda.CUDAGraph | None = None

    def __call__(self) -> torch.Tensor:
        """The sum, a float32 scalar that the next call overwrites."""
        if self._graph is None:
            self._graph = capture(self._sum, [], torch.cuda.graph_pool_handle())
        self._graph.replay()
        return self._total

    def _sum(self) -> None:
        with torch.no_grad():
            each = losses(self._model, self._rows, dropout=0.0, ignore=self._ignore)
            self._total.copy_(each.sum())


def capture(work: Callable[[], None], state: list[Any], pool: Any) -> torch.cuda.CUDAGraph:
    """``work`` as a graph; the tensors ``state`` and torch's generator are as before.

    ``work`` runs once for real first: libraries allocate and kernels compile on their first call.
    """
    before = [tensor.detach().clone() for tensor in state]
    random = torch.cuda.get_rng_state()
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        work()
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    # Other threads may call CUDA meanwhile: NCCL's watchdog does.
    with torch.cuda.graph(graph, pool=pool, capture_error_mode="thread_local"):
        work()
    with torch.no_grad():
        for tensor, value in zip(state, before, strict=True):
            tensor.copy_(value)
    torch.cuda.set_rng_state(random)
    return graph


def _make_state(optimizer: Any) -> None:
    """Make the optimizer's state without a change: a step whose gradients are all zero."""
    parameters = [each for group in optimizer.param_groups for each in group["params"]]
    for parameter in parameters:
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    for state in optimizer.state.values():
        state["step"].zero_()
    optimizer.zero_grad()
