"""The element body: what one element of an expression is, from the leaves of its space.

What constants alone go into is computed here, by the IR's evaluator, and becomes a parameter: a
kernel takes no logarithm of a number that all its elements share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import dtypes
from ...dataclass import dataclass
from ...expr.analysis import analyse
from ...expr.gather import is_moved
from ...expr.nodes import Const, Expr, Leaf, Map, Random, const, walk
from ...expr.space import Space
from ...ops import EXACT, OPS, SEARCHES
from ..builder import Builder, Value
from ..evaluate import evaluate, is_faithful
from ..ir import Body
from ..math.bits import canonical
from ..math.elementary import ONE_NAN
from ..math.float16 import narrowed, rounded, widened
from ..math.samplers import SAMPLER_RULES
from ..math.streams import Stream
from .parameters import Parameters, constant_of, stream_of
from .rules import RULES, cast
from .searching import searched

Array = NDArray[Any]


def elements(
    b: Builder, roots: Sequence[Expr], space: Space, parameters: Parameters
) -> list[Value]:
    """The instructions that compute one element of each root."""
    emitted = _Elements(b, {id(leaf): k for k, leaf in enumerate(space.leaves)}, parameters)
    for root in roots:
        for node in walk(root):
            emitted.add(node)
    return [emitted.value(root) for root in roots]


@dataclass
class _Elements:
    """Values and constants of the nodes so far."""

    b: Builder
    place: dict[int, int]  # the number of each leaf
    parameters: Parameters
    values: dict[int, Value] = field(default_factory=dict)
    known: dict[int, Array] = field(default_factory=dict)

    def add(self, node: Expr) -> None:
        """``node``, whose arguments have been added."""
        if id(node) in self.values or id(node) in self.known:
            return
        if isinstance(node, Leaf):
            if isinstance(node.source, Const):
                self.known[id(node)] = constant_of(node.source)
        elif all(id(arg) in self.known for arg in node.args) and is_faithful():
            self.known[id(node)] = _folded(node, [self.known[id(arg)] for arg in node.args])
        elif node.op == "gather":
            self.values[id(node)] = self.gathered(node)
        elif node.op in SEARCHES:
            self.values[id(node)] = self.searched(node)
        else:
            args = [self.value(arg) for arg in node.args]
            self.values[id(node)] = _operation(self.b, node, args)

    def value(self, node: Expr) -> Value:
        """The value of ``node``: a leaf is loaded, a constant made a parameter, when first used."""
        if id(node) not in self.values:
            if id(node) in self.known:
                constant = self.known[id(node)]
                name = str(constant.dtype)
                self.values[id(node)] = self.b.param(self.parameter(node, constant), name)
            else:
                self.values[id(node)] = self.loaded(node)
        return self.values[id(node)]

    def parameter(self, node: Expr, constant: Array) -> int:
        """The parameter that is ``constant``, the value of ``node``."""
        if isinstance(node, Leaf) and isinstance(node.source, Const):
            place = self.parameters.given(node.source)
        else:
            place = self.parameters.add(constant, str(constant.dtype))
        self.parameters.fixed.append((place, node))
        return place

    def loaded(self, leaf: Expr) -> Value:
        element = self.b.input(f"leaf{self.place[id(leaf)]}", dtypes.stored(leaf.dtype))
        return widened(self.b, element) if leaf.dtype == "float16" else element

    def gathered(self, node: Map) -> Value:
        """What a source has at a position that is computed, held between the ends it has."""
        b, base = self.b, node.args[1]
        assert isinstance(base, Leaf)
        index, first, last = (self.value(node.args[k]) for k in (0, 2, 3))
        index = b.select(index.compare("lt", first), first, index)
        index = b.select(index.compare("gt", last), last, index)
        if isinstance(base.source, Random):
            return _drawn(b, stream_of(base.source, self.parameters), index)
        element = b.gather(self.place[id(base)], index, dtypes.stored(base.dtype))
        return widened(b, element) if base.dtype == "float16" else element

    def searched(self, node: Map) -> Value:
        """Where a value belongs in a sorted line, which is read at positions on the way."""
        base = node.args[1]
        line = tuple(self.value(arg) for arg in node.args[2:])
        wanted = self.value(node.args[0])
        return searched(self.b, node.op, self.place[id(base)], base.dtype, wanted, line)


def numbers_of(roots: Sequence[Expr]) -> dict[int, Array]:
    """The values of ``roots``, and of what is below, by their ids: constants alone go into them."""
    known: dict[int, Array] = {}
    left = [*roots]
    while left:
        node = left[-1]
        needs = [arg for arg in node.args if id(arg) not in known] if type(node) is Map else []
        if needs:
            left += needs
            continue
        left.pop()
        if isinstance(node, Map):
            known[id(node)] = _folded(node, [known[id(arg)] for arg in node.args])
        else:
            assert isinstance(node.source, Const)
            known[id(node)] = constant_of(node.source)
    return known


def _folded(node: Map, args: Sequence[Array]) -> Array:
    """``node`` of constants, by the same instructions as an element's."""
    types = tuple(str(arg.dtype) for arg in args)
    if node.op in ("bitcast", "signbit"):  # which look at what they are of
        return _value_of(_body_of(node, types), args)
    given = tuple(arg.dtype for arg in node.args)
    return _known_value(node.op, node.dtype, given, types, tuple(arg.tobytes() for arg in args))


def _value_of(body: Body, args: Sequence[Array]) -> Array:
    value = evaluate(body, {f"a{k}": arg for k, arg in enumerate(args)})["x"]
    return np.asarray(value).reshape(())


@lru_cache(maxsize=4096)
def _known_value(
    op: str, dtype: str, given: tuple[str, ...], types: tuple[str, ...], bits: tuple[bytes, ...]
) -> Array:
    """`_folded` of numbers of these ``bits``: several programs of a loop's step have the same."""
    args = [np.frombuffer(one, t).reshape(()) for one, t in zip(bits, types, strict=True)]
    return _value_of(_known_body(op, dtype, given, types), args)


def _body_of(node: Map, types: tuple[str, ...]) -> Body:
    """The instructions of ``node`` alone."""
    b = Builder()
    b.output("x", _operation(b, node, [b.input(f"a{k}", t) for k, t in enumerate(types)]))
    return b.body()


@lru_cache(maxsize=256)
def _known_body(op: str, dtype: str, given: tuple[str, ...], types: tuple[str, ...]) -> Body:
    """The same of any node of these dtypes: functions have hundreds of instructions."""
    return _body_of(Map(op, tuple(const(0, one, ()) for one in given), (), dtype), types)


def _drawn(b: Builder, stream: Stream, position: Value) -> Value:
    """The value of ``stream`` at ``position``."""
    values = {"position": position}
    for body in stream.from_position:
        values |= b.inline(body, values)
    return values["x"]


def _operation(b: Builder, node: Map, args: list[Value]) -> Value:
    """The value of ``node``, in the `dtypes.carrier` of its dtype."""
    if node.op == "cast":
        return _converted(b, args[0], node.args[0], node.dtype)
    if node.op in ("bitcast", "signbit"):
        args = [one_nan(b, value, arg) for value, arg in zip(args, node.args, strict=True)]
    if node.op == "bitcast":
        return _bits_as(b, args[0], node.args[0].dtype, node.dtype)
    if node.op in SAMPLER_RULES:
        inputs = {f"a{k}": arg for k, arg in enumerate(args)}
        body = _sampler(node.op, tuple(arg.type for arg in args))
        return b.inline(body, inputs)["x"]
    rule = OPS[node.op].rule
    if rule == "select":
        pairs = zip(args[1:], node.args[1:], strict=True)
        chosen = [_converted(b, value, arg, node.dtype) for value, arg in pairs]
        return RULES[node.op](b, cast(b, args[0], "bool"), *chosen)
    if rule in ("compare", "test"):
        return RULES[node.op](b, *args)
    common = "bool" if rule == "logical" else node.dtype
    pairs = zip(args, node.args, strict=True)
    result = RULES[node.op](b, *(_converted(b, value, arg, common) for value, arg in pairs))
    return rounded(b, result) if common == "float16" and node.op not in EXACT else result


@lru_cache(maxsize=64)
def _sampler(op: str, types: tuple[str, ...]) -> Body:
    """The sampler ``op`` of arguments of ``types``: thousands of instructions, made once."""
    b = Builder()
    b.output("x", SAMPLER_RULES[op](b, *(b.input(f"a{k}", t) for k, t in enumerate(types))))
    return b.body()


def _bits_as(b: Builder, value: Value, dtype: str, wanted: str) -> Value:
    """The bits of a ``dtype`` as one that is ``wanted`` and as wide; between integers they wrap."""
    bits = narrowed(b, value) if dtype == "float16" else value
    if wanted == "float16":
        return widened(b, bits.cast("uint16"))
    if dtypes.is_float(bits.type) or dtypes.is_float(wanted):
        return bits.bitcast(wanted)
    return bits.cast(wanted)


def _converted(b: Builder, value: Value, node: Expr, dtype: str) -> Value:
    """The value of ``node`` as ``dtype``."""
    return value if node.dtype == dtype else cast(b, value, dtype)


def one_nan(b: Builder, value: Value, node: Expr) -> Value:
    """The value of ``node`` with one NaN, where a NaN may come out of arithmetic."""
    if isinstance(node, Leaf) or not dtypes.is_float(value.type) or analyse(node).known:
        return value  # data are copied as they are
    if is_moved(node):
        return value
    if (node.op, node.dtype) in ONE_NAN:
        return value
    return canonical(b, value)
