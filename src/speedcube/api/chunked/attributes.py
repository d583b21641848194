"""What an array tells of its chunks, and shows of them."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any, Final

import numpy as np

from ...files import write_whole
from ..pictures.stages import stages_picture
from .views import BlockView, PointView

_BACKENDS: Final = {"numpy": "cpu", "cupy": "cuda:0"}


class Gridded:
    """An array that is cut into chunks, for functions that take blocks."""

    __slots__ = ()
    to_device: Any
    plan: Any
    dtype: Any

    @property
    def chunks(self) -> tuple[tuple[int, ...], ...]:
        """The sizes of the chunks along every axis."""
        raise NotImplementedError

    def to_dask_array(self) -> Any:
        """The array as one of Dask's."""
        raise NotImplementedError

    @property
    def chunksize(self) -> tuple[int, ...]:
        """The largest chunk along each axis."""
        return tuple(max(axis) for axis in self.chunks)

    @property
    def npartitions(self) -> int:
        """How many chunks there are."""
        return math.prod(map(len, self.chunks))

    @property
    def blocks(self) -> BlockView:
        """The chunks by their numbers: ``x.blocks[0, 1:]`` is an array of these chunks."""
        return BlockView(self)

    @property
    def partitions(self) -> BlockView:
        """`blocks` by another name of Dask's."""
        return BlockView(self)

    @property
    def vindex(self) -> PointView:
        """Elements at points: ``x.vindex[i, j]`` has an element for each pair of numbers."""
        return PointView(self)

    @property
    def _meta(self) -> Any:
        """An array of no elements with its dtype and axes, as Dask's have: ``meta=x._meta``."""
        return np.empty((0,) * len(self.chunks), self.dtype)

    @property
    def name(self) -> str:
        """The name of its task, where Dask computes it."""
        return str(self._key())  # type: ignore[attr-defined]

    @property
    def dask(self) -> Any:
        """Its graph for Dask: one task, which has the whole result."""
        return self.__dask_graph__()  # type: ignore[attr-defined]

    @property
    def A(self) -> Any:
        """The array itself, as Dask has it."""
        return self

    def to_backend(self, backend: str | None = None, **kwargs: Any) -> Any:
        """The array with its values in the memory of a library: NumPy's, or CuPy's.

        Parameters
        ----------
        backend : {"numpy", "cupy"}, optional
            Which library's; None changes nothing.
        **kwargs
            Dask's, for its own.

        Returns
        -------
        Array
            The same elements.

        Examples
        --------
        >>> import speedcube as sc
        >>> sc.arange(3).to_backend("numpy").device
        'cpu'
        """
        return self if backend is None else self.to_device(_BACKENDS.get(backend, backend))

    def to_svg(self, size: int = 500) -> str:
        """A drawing of the chunks.

        Parameters
        ----------
        size : int
            How many points the longest side has.

        Returns
        -------
        str
            A text of SVG.

        Examples
        --------
        >>> import speedcube as sc
        >>> sc.ones((4, 6), chunks=2).to_svg().startswith("<svg")
        True
        """
        from dask.array.svg import svg

        return str(svg(self.chunks, size=size))

    def compute_chunk_sizes(self) -> Any:
        """The array itself: its chunks are known always.

        Returns
        -------
        Array
            This one.

        Examples
        --------
        >>> import speedcube as sc
        >>> x = sc.arange(5)
        >>> x[x > 2].compute_chunk_sizes().shape
        (2,)
        """
        return self

    def visualize(
        self,
        filename: str | os.PathLike[str] | None = None,
        format: str | None = None,
        optimize_graph: bool = False,
        *,
        on: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Draw the stages of the plan as SVG; nothing is computed.

        With another `format`, or other words of Dask's, Dask draws the graph of chunks that it
        would compute, by graphviz.

        Parameters
        ----------
        filename : str or path, optional
            A file for the picture, which ends in ``.svg`` if it says no other.
        format : str, optional
            ``"svg"``; any other (``"png"``, ``"dot"`` ...) is Dask's.
        optimize_graph : bool
            Whether Dask's graph is optimized before.
        on : str, Client or rung, optional
            The rung of the plan, as in `plan`.
        **kwargs
            What else `dask.visualize` takes.

        Returns
        -------
        PlanPicture
            Its ``str`` is the text of the SVG, and a notebook shows it. Of Dask's drawing,
            IPython's image or None.

        Examples
        --------
        >>> import speedcube as sc
        >>> str(sc.ones(4).visualize()).startswith("<svg")
        True
        """
        ending = "" if filename is None else Path(filename).suffix.lower()
        if kwargs or optimize_graph or format not in (None, "svg") or ending not in ("", ".svg"):
            name = "mydask" if filename is None else os.fspath(filename)
            return self.to_dask_array().visualize(name, format, optimize_graph, **kwargs)
        made = stages_picture(self.plan(on))
        if filename is not None:
            file = Path(filename)
            write_whole(file if ending else file.with_name(f"{file.name}.svg"), str(made).encode())
        return made
