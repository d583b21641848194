"""Statements that change an array, and those that NumPy refuses."""

from __future__ import annotations

import numpy as np

from .keys import key
from .reading import fits, number
from .values import Value, last_place
from .writer import Unfit, Writer


def target(value: Value) -> bool:
    return value.own and value.ndim > 0


def _rounded(value: Value, into: Value) -> float:
    """The error of ``value`` where it is kept in the dtype of ``into``."""
    if value.exact:
        return 0.0
    return value.error + last_place(np.asarray(value.array).astype(into.dtype))


def assignment(writer: Writer) -> None:
    x = writer.name(target)
    value = writer.values[x]
    if writer.rng.random() < 0.22:
        _by_function(writer, x)
        return
    spot = key(writer, x)
    part = np.shape(writer.peek(f"{x}[{spot}]"))
    source, made = _source(writer, x, part)
    if not fits(made.array, value.dtype) or (not made.exact and not value.floats):
        raise Unfit
    writer.change(x, f"{x}[{spot}] = {source}", _rounded(made, value), made.loose)


def _source(writer: Writer, x: str, shape: tuple[int, ...]) -> tuple[str, Value]:
    """What is assigned to a part of ``shape``."""
    value = writer.values[x]
    kind = writer.one("number", "number", "array", "array", "list", "made")
    if kind == "array":
        name = writer.name(lambda other: _fits_into(other.shape, shape))
        return name, writer.values[name]
    if kind == "made" and 0 < np.prod(shape) < 200:
        text = f"np.arange({int(np.prod(shape))}).reshape({shape}) % 7"
        return text, Value(writer.peek(text))
    if kind == "list" and shape and 0 < shape[-1] < 10:
        numbers = [int(number(writer, Value(np.zeros(1, "uint8")))) for _ in range(shape[-1])]
        return str(numbers), Value(np.array(numbers))
    text = number(writer, value)
    return text, Value(np.asarray(float(text)))


def _fits_into(shape: tuple[int, ...], part: tuple[int, ...]) -> bool:
    pairs = zip(reversed(shape), reversed(part), strict=False)
    return len(shape) <= len(part) and all(a in (1, b) for a, b in pairs)


def _by_function(writer: Writer, x: str) -> None:
    value = writer.values[x]
    if not value.exact or not value.size:
        raise Unfit
    n = value.size
    places = [writer.rng.randrange(-n, n) for _ in range(writer.rng.randint(1, 4))]
    c = number(writer, value)
    y = writer.name(lambda v: v.exact and _fits_into(v.shape, value.shape))
    other = writer.values[y]
    texts = [f"np.put({x}, {places}, {c})", f"np.put({x}, {places}, [1, 2])", f"{x}.fill({c})"]
    texts += [f"np.place({x}, {x} > 1, [1, 2, 3])", f"np.putmask({x}, {x} < 1, {c})"]
    if value.ndim > 1:
        texts.append(f"np.fill_diagonal({x}, {c})")
    if fits(other.array, value.dtype):
        texts.append(f"np.copyto({x}, {y}, where={x} > 0)")
    writer.change(x, writer.one(*texts), loose=other.loose)


def in_place(writer: Writer) -> None:
    x = writer.name(lambda value: target(value) and value.exact)
    value = writer.values[x]
    kind = writer.one("number", "number", "array", "part", "part", "loop", "function", "alias")
    c = number(writer, value)
    sign = writer.one("+", "-", "*", "/") if value.floats else writer.one("+", "*", "-", "//", "|")
    if sign == "/" and value.loose:
        raise Unfit
    if kind == "array":
        y = writer.other(x, lambda v: v.exact and not v.loose)
        writer.change(x, f"{x} {sign}= {y}")
    elif kind == "part":
        spot = key(writer, x)
        if "..." in spot and not np.ndim(writer.peek(f"{x}[{spot}]")):
            raise Unfit  # an array of no axes, which is a number here (docs/indexing.md)
        writer.change(x, f"{x}[{spot}] {sign}= {c}")
    elif kind == "loop":
        text = f"for i in range({min(value.shape[0], 4)}): {x}[i] {writer.one('+=', '=')} i"
        writer.change(x, text)
    elif kind == "function":
        function = (
            "(lambda v: v.__iadd__(1))" if value.dtype.kind != "b" else "(lambda v: v.fill(1))"
        )
        writer.change(x, f"{function}({x})")
    elif kind == "alias":
        writer.own_memory(x)
        name = f"v{writer.made}"
        writer.make(x, value.error, value.loose)
        writer.change(x, f"{name} {sign}= {c}")
    else:
        writer.change(x, f"{x} {sign}= {c}")


def mistakes(writer: Writer) -> None:
    """What NumPy refuses."""
    a = writer.name(target)
    n, extent = writer.values[a].ndim, writer.values[a].shape[0]
    texts = [f"{a}[{extent}]", f"{a}[{-extent - 1}]", f"{a}[[0, {extent}]]", f"{a}[{'0, ' * n}0]"]
    texts += [f"{a}.sum(axis={n})", f"{a}.reshape(-1, 7, 11)", f"{a} + np.ones({(*(11,) * n,)})"]
    texts += [
        f"np.concatenate([{a}, np.ones((11,) * {n + 1})])",
        f"{a}.transpose(0, 0)",
        f"{a}[1.5]",
    ]
    texts += [f"{a}[np.ones(({extent + 1},) * {n}, dtype=bool)]", f"np.stack([{a}, {a}[:0]])"]
    texts += [f"np.broadcast_to({a}, (13, 13, 13))", f"{a}['a']", f"np.expand_dims({a}, {n + 2})"]
    texts += [f"{a}.squeeze({extent})", f"np.max({a}[:0], axis=0)", f"np.argmin({a}[:0])"]
    texts += [
        f"np.take({a}, {writer.values[a].size})",
        f"np.swapaxes({a}, 0, {n})",
        f"np.pad({a}, -1)",
    ]
    texts += [f"np.repeat({a}, -1)", f"np.split({a}, {extent + 1})", f"np.delete({a}, {extent}, 0)"]
    text = writer.one(*texts)
    try:
        writer.peek(text)
    except Exception as error:
        writer.mistake(f"wrong = {text}", error)
        return
    raise Unfit
