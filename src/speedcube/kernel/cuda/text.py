"""The text of a CUDA kernel under construction: its lines, where elements lie, computing one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Final

from ...dataclass import dataclass
from ..ir import Body
from ..math.streams import Stream
from ..program import Program
from .emit import CTYPE, Constants, emit

HEADER: Final = 10  # geometry words before the extents


def memory(dtype: str) -> str:
    """``dtype`` as it lies in memory."""
    return "unsigned char" if dtype == "bool" else CTYPE[dtype]


@dataclass
class CudaText:
    """The lines of the kernel of ``program`` so far."""

    program: Program
    lines: list[str] = field(default_factory=list)
    depth: int = 1
    serial: int = 0
    constants: Constants = field(default_factory=Constants)

    # Lines   -------------------------------------------------------------------------------

    @property
    def outer(self) -> int:
        return self.program.kept + self.program.reduced

    def put(self, text: str) -> None:
        self.lines.append("  " * self.depth + text)

    def open(self, text: str) -> None:
        self.put(text + " {")
        self.depth += 1

    def close(self) -> None:
        self.depth -= 1
        self.put("}")

    def word(self, leaf: int, which: int) -> str:
        """Geometry of a leaf: 0 offset, 1.. outer strides, last the tile stride."""
        return f"(i64)g{HEADER + self.outer + leaf * (self.outer + 2) + which}"

    def body(self, body: Body, inputs: dict[str, str]) -> dict[str, str]:
        self.serial += 1
        prefix, indent = f"v{self.serial}_", "  " * self.depth
        return emit(self.lines, body, inputs, prefix, indent, self.constants)

    @property
    def count(self) -> int:
        return len(self.program.leaves)

    # Elements ------------------------------------------------------------------------------

    def element(self, j: str, e: str, fetched: dict[str, str]) -> dict[str, str]:
        """The outputs of element (j, e); what is not among ``fetched`` is fetched."""
        inputs = dict(fetched)
        for name, _ in self.program.element.inputs:
            if name not in inputs:
                inputs[name] = self.fetch(int(name.removeprefix("leaf")), j, e)
        return self.body(self.program.element, inputs)

    def position(self, k: int, j: str, e: str) -> str:
        """The position element (j, e) reads of leaf ``k``."""
        leaves, sink = self.program.leaves, self.program.sink
        unit = leaves[k].mode == "unit" if k < len(leaves) else sink.unit_stride
        stride = "" if unit and not self.program.table else f" * {self.word(k, self.outer + 1)}"
        start = f"base{k} + {j}{stride}"
        return f"({start} + tables{k}[{e}])" if self.program.table else f"({start})"

    def fetch(self, k: int, j: str, e: str) -> str:
        leaf = self.program.leaves[k]
        at = self.position(k, j, e)
        if leaf.kind == "position":
            return at
        if leaf.kind == "stored":
            loaded = f"((const {memory(leaf.dtype)} *)b{k})[{at}]"
            return f"({loaded} != 0)" if leaf.dtype == "bool" else loaded
        assert leaf.stream is not None
        return self.single(leaf.stream, at)

    def single(self, stream: Stream, at: str) -> str:
        """The value of ``stream`` at position ``at``."""
        self.serial += 1
        self.put(f"i64 at{self.serial} = {at};")
        return self.pipeline(stream.from_position, {"position": f"at{self.serial}"})["x"]

    def pipeline(self, bodies: Sequence[Body], names: dict[str, str]) -> dict[str, str]:
        """``bodies`` one after the other; the names of all they are given and give."""
        for body in bodies:
            names = names | self.body(body, names)
        return names
