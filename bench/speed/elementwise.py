"""The rows of element-wise operations, views and creation, of stored data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from .rows import Row

# Slower than NumPy's when the table was made, so that only other bits would be faster
# (docs/accuracy.md): these may stay as they are, and not get slower. atan, cosh, log10, log1p,
# log2 and float32's exp2 joined later: where accuracy.md was measured they reached 0.8 to 1 in
# cache, on other processors 0.45 to 0.65. They are 80 to 100 operations of doubles an element (exp
# 35, log 30; exp2 is rounded from a double), taken one for one by vectors of 8, 16 and 32, which
# differ by less than a fifth; log2, log10 and log1p are wrong by a last place for 2 to 108 of a
# million arguments only.
AS_TODAY: Final = {
    "float64": "acos acosh asin asinh atan atanh cbrt cosh log10 log1p log2 sinh",
    "float32": (
        "power tanh acos acosh asin asinh atan atan2 atanh cbrt cosh exp2 expm1 log10 log1p log2 "
        "sinh tan erf erfc gammaln sigmoid"
    ),
}
ELEMENTARY: Final = (
    "exp exp2 expm1 log log1p log2 log10 cbrt sin cos tan asin acos atan sinh cosh tanh asinh "
    "acosh atanh erf erfc gammaln sigmoid"
)
ELEMENTARY_OF_TWO: Final = {
    "float64": ("atan2", "hypot", "pow"),
    "float32": ("atan2", "hypot", "power"),
}
VALUES: Final = {
    **dict.fromkeys(("log", "log2", "log10", "log1p", "power", "pow", "gammaln"), "positive"),
    **dict.fromkeys(("asin", "acos", "atanh"), "unit"),
    "acosh": "above one",
}
# Texts by shape, dtype and values; x and y are arrays of these.
OTHERS: Final[tuple[tuple[str, str, str, tuple[str, ...]], ...]] = (
    ("million", "float64", "small", (
        "np.add(x, y)", "np.subtract(x, y)", "np.multiply(x, y)", "np.divide(x, y)",
        "np.floor_divide(x, y)", "np.remainder(x, y)", "np.maximum(x, y)", "np.minimum(x, y)",
        "np.negative(x)", "np.positive(x)", "np.abs(x)", "np.square(x)", "np.sign(x)",
        "np.floor(x)", "np.ceil(x)", "np.trunc(x)", "np.rint(x)", "np.round(x)",
        "np.clip(x, -1, 1)", "np.where(x > y, x, y)",
        "np.equal(x, y)", "np.not_equal(x, y)", "np.less(x, y)", "np.less_equal(x, y)",
        "np.greater(x, y)", "np.greater_equal(x, y)",
        "np.isnan(x)", "np.isfinite(x)", "np.isinf(x)", "np.signbit(x)",
        'x.astype("float32")', 'x.astype("int32")', "x * 2 + y * 3 - 1", "x + y[0]", "x * y[:, :1]",
        "np.sqrt(x * x + y * y)", "np.exp(-x * x / 2)", "((x * 3 + 2) * x + 1) * x + 5",
    )),
    ("million", "float64", "positive", ("np.sqrt(x)",)),
    ("million", "float32", "small", (
        "np.add(x, y)", "np.multiply(x, y)", "np.divide(x, y)", "np.absolute(x)",
        "np.where(x > 0, x, 0)", "x * 2 + y * 3 - 1",
    )),
    ("million", "float16", "small", ("np.add(x, y)", "np.multiply(x, y)")),
    ("million", "int64", "normal", (
        "np.add(x, y)", "np.multiply(x, y)", "np.floor_divide(x, y)", "np.remainder(x, 7)",
        "np.bitwise_and(x, y)", "np.bitwise_or(x, y)", "np.bitwise_xor(x, y)",
        "np.left_shift(x, 3)", "np.right_shift(x, 2)", "np.invert(x)", "np.gcd(x, y)",
    )),
    ("million", "int32", "normal", ("np.add(x, y)", "np.bitwise_invert(x)")),
    ("million", "bool", "half", (
        "np.logical_and(x, y)", "np.logical_or(x, y)", "np.logical_xor(x, y)", "np.logical_not(x)",
    )),
    ("image", "uint8", "normal", (
        "np.add(x, y)", "np.clip(x, 20, 80)", "np.where(x > 50, 255, 0)",
        'x.astype("float32") / 255', "x[:, :, 0] * 0.3 + x[:, :, 1] * 0.6 + x[:, :, 2] * 0.1",
    )),
    ("line", "float64", "normal", ("x + y", "x * x", "x[1:] - x[:-1]", "x[::2] + x[1::2]")),
    ("square", "float64", "normal", (
        "x + x.T", "x[1:-1, 1:-1] + x[2:, 1:-1]",
        "x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2] - 4 * x[1:-1, 1:-1]",
        "np.flip(x, axis=0) + 1", "np.flip(x) + 1", "np.swapaxes(x, 0, 1) + 1",
        "np.permute_dims(x, (1, 0)) * 2", "np.squeeze(np.expand_dims(x, 0)) + 1",
        "np.broadcast_to(x[0], shape) + 1", "np.take(x, i, axis=0)", "np.take(x, i, axis=1)",
        "np.take_along_axis(x, j, axis=1)", "np.zeros(shape) + x", "np.ones_like(x) * x",
        "np.full_like(x, 3.5)", "np.zeros_like(x) - x",
        "np.concatenate([x, y])", "np.concatenate([x, y], axis=1) + 1", "np.stack([x, y])",
        "np.hstack([x, y])", "np.vstack([x, y])", "np.dstack([x, y])", "np.column_stack([x, y])",
        "np.append(x, y)", "np.pad(x, 1)", 'np.pad(x, 2, mode="reflect") * 2',
        "np.roll(x, 1, axis=0) + x", "np.roll(x, 1, axis=1) - x", "np.repeat(x, 2, axis=1)",
        "np.tile(x, (2, 2))", "np.rot90(x) + 1", "np.tril(x)", "np.triu(x, 1) + y",
        "np.block([[x, y], [y, x]])", "np.insert(x, 3, 0.0, axis=0)", "np.delete(x, 3, axis=1)",
        "np.outer(x[0], y[0])", "np.diag(x[0]) + y", "np.fliplr(x) + 1",
        "np.meshgrid(x[0], y[0])[0] + 1",
    )),
    ("climate", "float64", "normal", (
        "np.moveaxis(x, 0, 2) + 1", "np.reshape(x, (12, -1, *shape[1:])) * 2",
    )),
    ("square", "float64", "transposed", ("x + 1", "x + y")),
    ("square", "float64", "strided", ("x + 1", "x + y")),
    ("square", "float64", "reversed", ("x + 1", "x + y")),
    ("thousand", "float64", "normal", (
        "x + 1", "(x * 2 + y).sum()", "x.max()", "np.exp(x / 30)", "x.cumsum(axis=0)",
        "np.asarray([1.0, 2.0, 4.0]).sum()",
    )),
    ("sheet", "float64", "normal", ("x.mean(axis=0)", "x - x.mean(axis=0)", "x.std(axis=1)")),
)  # fmt: skip
LAYOUTS: Final = ("transposed", "strided", "reversed")
TERMS: Final = {"np.asarray([1.0, 2.0, 4.0]).sum()": 3, "(x * 2 + y).sum()": 1000,
                "x.std(axis=1)": 100,
                "x.mean(axis=0)": 10, "x - x.mean(axis=0)": 10}  # fmt: skip
SMALL: Final = ("thousand", "sheet")


def elementary() -> Iterator[Row]:
    for dtype, of_two in ELEMENTARY_OF_TWO.items():
        for name in (*ELEMENTARY.split(), *of_two):
            text = f"np.{name}(x, y)" if name in of_two else f"np.{name}(x)"
            yield Row("elementary functions", text, "million", dtype,
                      values=VALUES.get(name, "small"),
                      as_today=name in AS_TODAY[dtype].split())  # fmt: skip
    yield Row("elementary functions", "np.exp(x)", "million", "float16", values="small")


def others() -> Iterator[Row]:
    for shape, dtype, values, texts in OTHERS:
        laid = values in LAYOUTS
        group = "small arrays" if shape in SMALL else "element-wise operations and views"
        for text in texts:
            yield Row(group, text, shape, dtype, layout=values if laid else "plain",
                      values="normal" if laid else values,
                      terms=TERMS.get(text, 0) if shape in SMALL else 0)  # fmt: skip


def rows() -> tuple[Row, ...]:
    return (*others(), *elementary())
