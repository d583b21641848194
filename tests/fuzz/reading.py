"""Statements that make new arrays: element by element, by views, joins, sums, scans, searches."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import weights
from .keys import key
from .values import ULPS, Value, largest, last_place, sum_error
from .writer import Unfit, Writer


def exact(value: Value) -> bool:
    return value.exact


def firm(value: Value) -> bool:
    """Exact, with zeros whose signs are known."""
    return value.exact and not value.loose


def number(writer: Writer, of: Value) -> str:
    if of.dtype.kind in "biu":
        return str(writer.rng.randint(0 if of.dtype.kind != "i" else -4, 5))
    return str(writer.one(-2, -1.5, 0.5, 2, 3, 0.25, 10))


def operand(writer: Writer, name: str) -> tuple[str, Value]:
    """What stands on the other side: a number or an array."""
    value = writer.values[name]
    if writer.rng.random() < 0.45:
        text = number(writer, value)
        return text, Value(np.asarray(float(text)))
    other = writer.other(name)
    return other, writer.values[other]


_ROUNDED_ONCE = (
    *("floor", "ceil", "trunc", "rint", "square", "sqrt", "sign"),
    *("isnan", "isfinite", "signbit", "isinf"),
)

# Element by element ------------------------------------------------------------------------------


def elementwise(writer: Writer) -> None:
    writer.one(_sum, _sum, _product, _of_one, _of_one, _smooth, _jump, _compare, _two)(writer)


def _sum(writer: Writer) -> None:
    a = writer.name()
    b, other = operand(writer, a)
    sign = writer.one("+", "-")
    value = writer.values[a]
    near = value.error + other.error
    text = writer.one(f"{a} {sign} {b}", f"{b} {sign} {a}")
    writer.make(text, lambda made: near + last_place(made) if near else 0.0, _loose(value, other))


def _product(writer: Writer) -> None:
    a = writer.name()
    b, other = operand(writer, a)
    value = writer.values[a]
    near = value.error * largest(other.array) + other.error * largest(value.array)
    near += value.error * other.error
    # What is not finite comes of both sides; a bound of it says nothing.
    if not (value.exact and other.exact) and not _all_finite(value, other):
        raise Unfit
    text = writer.one(f"{a} * {b}", f"{b} * {a}")
    writer.make(text, lambda made: near + last_place(made) if near else 0.0, _loose(value, other))


def _all_finite(*values: Value) -> bool:
    return all(np.isfinite(np.asarray(value.array)).all() for value in values)


def _loose(*values: Value) -> bool:
    return any(value.loose for value in values)


def _of_one(writer: Writer) -> None:
    a = writer.name()
    value = writer.values[a]
    if writer.rng.random() < 0.4:
        text = writer.one(f"-{a}", f"abs({a})", f"np.abs({a})", f"np.clip({a}, 0, 5)", f"+{a}")
        writer.make(text, value.error, value.loose or "clip" in text)
        return
    a = writer.name(firm)
    op = writer.one(*_ROUNDED_ONCE)
    if op == "sqrt":
        writer.make(f"np.sqrt(np.abs({a}))")
    else:
        writer.make(writer.one(f"np.{op}({a})", f"np.{op}({a}) * 2"))


def _smooth(writer: Writer) -> None:
    """Functions of slope 1 at most, of anything; steeper ones of what is exact."""
    if writer.rng.random() < 0.5:
        a = writer.name()
        op = writer.one("sin", "cos", "tanh", "arctan", "arcsinh", "hypot")
        error = writer.values[a].error
        text = f"np.hypot({a}, 3)" if op == "hypot" else f"np.{op}({a})"
    else:
        a = writer.name(exact)
        error = 0.0
        text = writer.one(
            *(f"np.exp(-np.abs({a}))", f"np.exp({a})", f"np.log(np.abs({a}) + 1)"),
            *(f"np.log1p(np.abs({a}))", f"np.cbrt({a})", f"np.expm1({a})", f"np.exp2({a})"),
            *(f"np.abs({a}) ** 0.5", f"np.power(np.abs({a}), 1.5)", f"np.deg2rad({a})"),
        )
    writer.make(text, lambda made: error + ULPS * last_place(made), loose=True)


def _jump(writer: Writer) -> None:
    """Operations that jump, of what is exact."""
    a = writer.name(firm)
    b, other = operand(writer, a)
    if not (other.exact and not other.loose):
        raise Unfit
    op = writer.one("/", "/", "//", "%", "fmod", "copysign", "**", "astype", "round")
    if op == "astype":
        astype(writer, a)
    elif op == "round":
        writer.make(f"np.round({a}, {writer.one(0, 1, 2)})")
    elif op == "**":
        if value_is_truth_scalar(writer.values[a]):
            raise Unfit
        writer.make(f"{a} ** 2")
    elif op in ("fmod", "copysign"):
        writer.make(f"np.{op}({a}, {b})")
    else:
        writer.make(writer.one(f"{a} {op} {b}", f"{b} {op} {a}"))


def value_is_truth_scalar(value: Value) -> bool:
    """Powers of np.True_ are int64 in NumPy, those of arrays of bool int8."""
    return not value.own and value.dtype.kind == "b"


def fits(array: Any, dtype: Any) -> bool:
    """Whether numbers are defined in ``dtype``: what does not fit an integer is anything."""
    numbers = np.asarray(array)
    dtype = np.dtype(dtype)
    if numbers.dtype.kind != "f" or dtype.kind not in "iu":
        return True
    info = np.iinfo(dtype)
    low, high = float(max(info.min, -(2**62))), float(min(info.max, 2**62))
    return bool((np.isfinite(numbers) & (numbers >= low) & (numbers <= high)).all())


def astype(writer: Writer, a: str) -> None:
    dtype = writer.draw(weights.DTYPE)
    if not fits(writer.values[a].array, dtype):
        raise Unfit
    writer.make(writer.one(f"{a}.astype({dtype!r})", f"{a}.astype(np.{dtype})"))


def _compare(writer: Writer) -> None:
    a = writer.name(exact)
    b, other = operand(writer, a)
    if not other.exact:
        raise Unfit
    sign = writer.one("<", "<=", "==", "!=", ">", ">=")
    text = f"{a} {sign} {b}"
    if writer.rng.random() < 0.4:
        c = writer.other(a, exact)
        text = f"({text}) {writer.one('&', '|', '^')} ({c} > 0)"
    writer.make(text)


def _two(writer: Writer) -> None:
    a = writer.name()
    b, other = operand(writer, a)
    value = writer.values[a]
    op = writer.one("maximum", "minimum", "fmax", "fmin", "logical_and", "bitwise_xor")
    if op in ("logical_and", "bitwise_xor") and not (value.exact and other.exact):
        raise Unfit
    writer.make(f"np.{op}({a}, {b})", max(value.error, other.error), loose=True)


# Views -------------------------------------------------------------------------------------------


def views(writer: Writer) -> None:
    a = writer.name(lambda value: value.own)
    value = writer.values[a]
    n = value.ndim
    axis = writer.rng.randrange(-n, n) if n else 0
    order = writer.rng.sample(range(n), n)
    texts = [f"{a}.T", f"{a}.reshape(-1)", f"{a}.ravel()", f"np.expand_dims({a}, {axis})"]
    texts += [f"np.atleast_2d({a})", f"np.squeeze({a})", f"{a}.transpose({order})", f"{a}.copy()"]
    texts += [f"np.broadcast_to({a}, {(2, *value.shape)})", f"{a}[..., None]", f"{a}.flatten()"]
    if n:
        texts += [f"np.flip({a}, {axis})", f"{a}[::-1]", f"{a}[1:]", f"{a}[:-1]", f"{a}[..., 1:]"]
        texts += [f"np.moveaxis({a}, {axis}, {writer.rng.randrange(n)})", f"np.flip({a})"]
        texts += [f"{a}.swapaxes(0, {axis})", f"{a}[::2]", f"{a}[..., ::-1]", f"{a}[1:-1]"]
        texts += [f"{a}.reshape({_factors(writer, value.size)})"] * 3
    if n > 1:
        texts += [f"np.rot90({a})", f"np.diagonal({a})", f"{a}[:, 1:]", f"{a}[:, ::-1]"]
        texts += [f"{a}[:, :, None]" if n > 2 else f"{a}[:, None]", f"np.fliplr({a})"]
        texts += [f"{a}.reshape({value.shape[0]}, -1)", f"{a}.reshape(-1, {value.shape[-1]})"]
        texts += [f"np.reshape({a}, -1, order='F')", f"{a}.mT"]
    writer.make(writer.one(*texts), value.error, value.loose)


def _factors(writer: Writer, size: int) -> tuple[int, ...]:
    factors = [k for k in range(1, size + 1) if size % k == 0] or [0]
    first = writer.rng.choice(factors)
    return writer.one((first, size // first if first else 3), (first, -1), (-1, first or 1))


def indices(writer: Writer) -> None:
    a = writer.name(lambda value: value.own)
    value = writer.values[a]
    writer.make(f"{a}[{key(writer, a)}]", value.error, value.loose)


# Joins -------------------------------------------------------------------------------------------


def joins(writer: Writer) -> None:
    a = writer.name(lambda value: value.own and value.ndim > 0)
    value = writer.values[a]
    n, axis = value.ndim, writer.rng.randrange(-value.ndim, value.ndim)
    alike = writer.name(lambda other: other.shape == value.shape)
    other = writer.values[alike]
    k = writer.rng.randint(-3, 3)
    two = [f"np.concatenate([{a}, {alike}], axis={axis})", f"np.stack([{a}, {alike}])"]
    two += [f"np.stack(({a}, {alike}, {a}), axis=-1)", f"np.vstack([{a}, {alike}])"]
    two += [f"np.hstack([{a}, {alike}])", f"np.append({a}, {alike})"]
    two += [f"np.concatenate(({a}, {alike}[:1]))", f"np.dstack(({a}, {alike}))"]
    two += [f"np.column_stack(({a}, {alike}))", f"np.append({a}, {alike}, axis={axis})"]
    two += [f"np.block([[{a}], [{alike}]])", f"np.concatenate(({a}, {alike}), axis=None)"]
    one = [f"np.roll({a}, {k})", f"np.roll({a}, {k}, axis={axis})", f"np.tile({a}, 2)"]
    one += [f"np.repeat({a}, 2)", f"np.repeat({a}, 3, axis={axis})", f"np.tile({a}, (2, 1))"]
    one += [f"np.pad({a}, 1)", f"np.pad({a}, 1, mode={writer.one('edge', 'wrap', 'reflect')!r})"]
    one += [f"np.pad({a}, ((1, 2),) * {n}, constant_values=3)", f"np.split({a}, [1])[1]"]
    one += [f"np.insert({a}, 1, 2, axis={axis})", f"np.delete({a}, {k}, axis={axis})"]
    one += [f"np.insert({a}, [0, 1], 5)", f"np.delete({a}, [0, -1], axis={axis})"]
    one += [f"np.array_split({a}, 2, axis={axis})[{writer.one(0, 1)}]", f"np.tril({a})"]
    one += [f"np.triu({a}, {k})", f"np.diag({a})", f"np.resize({a}, (3, 4))"]
    if writer.rng.random() < 0.5:
        narrow = np.result_type(value.array, other.array)
        rounded = last_place(np.asarray(value.array).astype(narrow))
        error = max(value.error, other.error)
        writer.make(writer.one(*two), error + rounded if error else 0.0, _loose(value, other))
    else:
        writer.make(writer.one(*one), value.error, value.loose)


# Reductions and scans ----------------------------------------------------------------------------


def _along(writer: Writer, value: Value) -> str:
    n = value.ndim
    choices = ["", "", "axis=None"]
    if n:
        choices += [f"axis={writer.rng.randrange(-n, n)}"] * 4 + ["axis=0, keepdims=True"]
        choices += ["axis=-1, keepdims=True", "keepdims=True"]
    if n > 1:
        choices += ["axis=(0, 1)", "axis=(0, -1)"]
    return writer.one(*choices)


def reductions(writer: Writer) -> None:
    kind = writer.one("sum", "sum", "mean", "ends", "ends", "spread", "truth", "nan", "prod")
    a = writer.name(firm if kind in ("spread", "truth", "prod", "nan") else lambda value: True)
    value = writer.values[a]
    along = _along(writer, value)

    def spelt(op: str) -> str:
        method = f"{a}.{op}({along})"
        return writer.one(method, f"np.{op}({a}{', ' if along else ''}{along})")

    if kind == "sum":
        writer.make(spelt("sum"), lambda made: sum_error(value, made), loose=True)
    elif kind == "mean":
        writer.make(spelt("mean"), lambda made: sum_error(value, made), loose=True)
    elif kind == "ends":
        writer.make(spelt(writer.one("min", "max")), value.error, loose=True)
    elif kind == "truth":
        op = writer.one("any", "all", "argmax", "argmin", "count_nonzero", "ptp")
        if op in ("argmax", "argmin") and "(" in along:
            raise Unfit
        text = f"np.{op}({a}{', ' if along else ''}{along})"
        writer.make(text, loose=True)
    elif kind == "nan":
        op = writer.one("nansum", "nanmean", "nanmax", "nanmin")
        text = f"np.{op}({a}{', ' if along else ''}{along})"
        writer.make(text, lambda made: sum_error(value, made), loose=True)
    elif kind == "prod":
        if value.floats and not _all_finite(value):
            raise Unfit
        writer.make(spelt("prod"), lambda made: _product_error(value, made), loose=True)
    else:
        _spread(writer, value, spelt(writer.one("var", "std")))


def _product_error(value: Value, made: Any) -> float:
    sizes = np.abs(np.asarray(value.array, dtype=np.float64))
    bound = float(np.prod(np.maximum(sizes, 1.0))) * max(value.size, 1)
    dtype = np.asarray(made).dtype
    if dtype.kind != "f":
        return 0.0
    info = np.finfo(dtype)
    return bound * float(info.eps) if bound < float(info.max) else np.inf


def _spread(writer: Writer, value: Value, text: str) -> None:
    def bound(made: Any) -> float:
        dtype = np.asarray(made).dtype
        square = largest(value.array) ** 2 * max(value.size, 1)
        if dtype.kind != "f" or square * 4 > float(np.finfo(dtype).max):
            return np.inf
        error = 8 * float(np.finfo(dtype).eps) * square * max(value.size, 1)
        return float(np.sqrt(error)) if "std" in text else error

    writer.make(text, bound, loose=True)


def scans(writer: Writer) -> None:
    a = writer.name(lambda value: value.own and value.ndim > 0)
    value = writer.values[a]
    axis = writer.rng.randrange(-value.ndim, value.ndim)
    text = writer.one(
        *(f"np.cumsum({a}, axis={axis})", f"{a}.cumsum(axis={axis})", f"np.cumsum({a})"),
        *(f"np.diff({a}, axis={axis})", f"np.diff({a})", f"np.cumprod({a}, axis={axis})"),
        *(f"np.trapezoid({a}, axis={axis})", f"np.gradient({a} * 1.0, axis={axis})"),
    )
    if "diff" in text:
        near = 2 * value.error
        writer.make(text, lambda made: near + last_place(made) if near else 0.0, value.loose)
    elif "cumprod" in text:
        if not value.exact or not _all_finite(value):
            raise Unfit
        writer.make(text, lambda made: _product_error(value, made), loose=True)
    elif "gradient" in text:
        if not _all_finite(value):
            raise Unfit
        writer.make(text, lambda made: 4 * value.error + 4 * last_place(value.array), loose=True)
    else:
        writer.make(text, lambda made: 2 * sum_error(value, made), loose=True)


# Searches ----------------------------------------------------------------------------------------


def searching(writer: Writer) -> None:
    a = writer.name(lambda value: firm(value) and value.own and value.ndim > 0)
    value = writer.values[a]
    b, other = operand(writer, a)
    axis = writer.rng.randrange(-value.ndim, value.ndim)
    extent = value.shape[axis]
    if not value.size:
        raise Unfit
    places = [writer.rng.randrange(-extent, extent) for _ in range(writer.rng.randint(1, 4))]
    chosen = [
        f"np.where({a} > 1, {a}, {b})",
        f"np.where({a} != 0, {b}, 0)",
        f"np.select([{a} > 2, {a} < 0], [{a}, {b}], default=1)",
    ]
    exactly = [
        *(f"np.where({a} > 0)[0]", f"np.nonzero({a})[-1]", f"np.argwhere({a} > 0)"),
        *(f"np.flatnonzero({a})", f"np.take({a}, {places}, axis={axis})", f"{a}.nonzero()[0]"),
        *(f"np.compress([True, False], {a}, axis=0)", f"np.extract({a} > 0, {a})"),
        f"np.take_along_axis({a}, np.argmax({a}, axis={axis}, keepdims=True), axis={axis})",
    ]
    if writer.rng.random() < 0.45:
        writer.make(writer.one(*chosen), other.error, other.loose)
    else:
        writer.make(writer.one(*exactly))
