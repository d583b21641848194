"""The IR: what the verifier refuses, the emulated fma, and every operation as machine code."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from oracle import assert_same_bits, bits, rounded, run_body

from speedcube import dtypes
from speedcube.errors import KernelError
from speedcube.kernel.builder import Builder, Value
from speedcube.kernel.evaluate import evaluate
from speedcube.kernel.ir import Body, Instr
from speedcube.kernel.legal import ARITY, verify
from speedcube.kernel.llvm.simd import targets

# The verifier -----------------------------------------------------------------------------------

F = Instr("input", "float64", imm="x")
I = Instr("input", "int32", imm="i")  # noqa: E741
B = Instr("input", "bool", imm="b")

L = Instr("input", "int64", imm="l")
U = Instr("input", "uint32", imm="u")
P = Instr("param", "float64", imm=0)
G = Instr("gather", "float64", (0,), 0)
NEGATED = Body((F, Instr("neg", "float64", (0,))), (("x", 1),))
HALVED = Body((F, Instr("ne", "bool", (0, 0))), (("x", 0), ("more", 1)))

REFUSED = {
    "unknown-op": ([Instr("tan", "float64")], r"%0 \(tan float64\): unknown operation"),
    "unknown-type": ([Instr("input", "float16", imm="x")], "unknown type"),
    "complex": ([Instr("input", "complex128", imm="x")], "unknown type"),
    "too-few-operands": ([F, Instr("add", "float64", (0,))], "takes 2 operands, not 1"),
    "too-many-operands": ([F, Instr("neg", "float64", (0, 0))], "takes 1 operands, not 2"),
    "use-before-definition": ([Instr("neg", "float64", (1,)), F], "not defined before its use"),
    "self-reference": ([Instr("neg", "float64", (0,))], "not defined before its use"),
    "negative-operand": ([F, Instr("neg", "float64", (-1,))], "not defined before its use"),
    "sqrt-of-integers": ([I, Instr("sqrt", "int32", (0,))], "is for floats"),
    "fma-of-integers": ([I, Instr("fma", "int32", (0, 0, 0))], "is for floats"),
    "div-of-bool": ([B, Instr("div", "bool", (0, 0))], "is for floats"),
    "idiv-of-floats": ([F, Instr("idiv", "float64", (0, 0))], "is for integers"),
    "shl-of-floats": ([F, Instr("shl", "float64", (0,), 1)], "is for integers"),
    "shift-of-bool": ([B, Instr("shl", "bool", (0,), 1)], "is for integers"),
    "and-of-floats": ([F, Instr("and", "float64", (0, 0))], "is for integers and bool"),
    "compare-gives-a-number": ([F, Instr("lt", "float64", (0, 0))], "operands differ in type"),
    "compare-of-two-types": ([F, I, Instr("lt", "bool", (0, 1))], "operands differ in type"),
    "select-without-bool": ([I, Instr("select", "int32", (0, 0, 0))], "wants bool"),
    "select-of-two-types": ([B, F, I, Instr("select", "int32", (0, 1, 2))], "wants bool"),
    "bitcast-changes-size": ([F, Instr("bitcast", "float32", (0,))], "changes the size"),
    "shift-by-width": ([I, Instr("shl", "int32", (0,), 32)], "shifts by its width or more"),
    "negative-shift": ([I, Instr("shr", "int32", (0,), -1)], "shifts by its width or more"),
    "mixed-add": ([F, I, Instr("add", "float64", (0, 1))], "operands have types"),
    "add-changes-type": ([F, Instr("add", "float32", (0, 0))], "operands have types"),
    "table-of-floats": ([L, Instr("table", "float64", (0,), (1, 2))], "is for integers"),
    "table-without-entries": ([L, Instr("table", "uint64", (0,), ())], "wants entries"),
    "table-at-int32": ([I, Instr("table", "uint64", (0,), (1, 2))], "wants entries"),
    "pick-of-doubles": ([U, Instr("pick", "float64", (0,), (1.0,) * 16)], "wants 16 float32"),
    "pick-from-eight": ([U, Instr("pick", "float32", (0,), (1.0,) * 8)], "wants 16 float32"),
    "pick-at-int32": ([I, Instr("pick", "float32", (0,), (1.0,) * 16)], "wants 16 float32"),
    "rare-without-inputs": ([B, F, Instr("rare", "float64", (0, 1), NEGATED)], "takes 3 operands"),
    "rare-without-bool": ([F, Instr("rare", "float64", (0, 0, 0), NEGATED)], "wants operands"),
    "rare-of-another-type": ([B, F, I, Instr("rare", "int32", (0, 2, 1), NEGATED)], "wants operan"),
    "rare-without-x": ([B, F, Instr("rare", "float64", (0, 1, 1), Body((F,), ()))], "the outputs"),
    "rare-with-two-outputs": (
        [B, F, Instr("rare", "float64", (0, 1, 1), Body((F,), (("x", 0), ("y", 0))))],
        "must have the outputs .'x',.",
    ),
    "rare-with-a-parameter": (
        [B, F, Instr("rare", "float64", (0, 1), Body((P,), (("x", 0),)))],
        "may not read parameters",
    ),
    "rare-with-memory": (
        [B, F, L, Instr("rare", "float64", (0, 1, 2), Body((L, G), (("x", 1),)))],
        "may not read memory",
    ),
    "loop-with-a-parameter": (
        [B, F, Instr("loop", "float64", (0, 1, 0), Body((F, P, B), (("x", 1), ("more", 2))))],
        "may not read parameters",
    ),
    "loop-without-inputs": ([B, F, Instr("loop", "float64", (0,), HALVED)], "takes 2 operands"),
    "loop-without-more": ([B, F, Instr("loop", "float64", (0, 1), NEGATED)], "'more'"),
    "loop-of-another-type": ([B, I, Instr("loop", "int32", (0, 1), HALVED)], "wants operands"),
    "loop-whose-more-is-a-float": (
        [B, F, Instr("loop", "float64", (0, 1), Body((F,), (("x", 0), ("more", 0))))],
        "wants operands",
    ),
    "loop-that-starts-elsewhere": (
        [B, I, F, Instr("loop", "float64", (0, 1), Body((I, F, B), (("x", 1), ("more", 2))))],
        "takes 4 operands",
    ),
    "loop-of-x-and-another": (
        [B, I, F, Instr("loop", "float64", (0, 1, 2, 0), Body((I, F, B), (("x", 1), ("more", 2))))],
        "first input must be of its type",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_verifier_refuses(name: str) -> None:
    instrs, message = REFUSED[name]
    with pytest.raises(KernelError, match=message) as caught:
        verify(Body(tuple(instrs), ()))
    assert "%0 = " in str(caught.value), "the message prints the body"


def test_verifier_refuses_an_output_that_does_not_exist() -> None:
    with pytest.raises(KernelError, match=r"output 'x' names %3, which does not exist"):
        verify(Body((F,), (("x", 3),)))


def test_builder_verifies() -> None:
    b = Builder()
    b.output("x", b.unary("sqrt", b.input("i", "int32")))
    with pytest.raises(KernelError, match="is for floats"):
        b.body()


def test_builder_merges_equal_instructions_but_not_signed_zeros() -> None:
    b = Builder()
    x = b.input("x", "float64")
    assert (x + x).id == (x + x).id
    assert b.const(0.0, "float64").id != b.const(-0.0, "float64").id
    assert b.const(1, "int32").id != b.const(1, "int64").id


def test_builder_does_not_merge_one_and_true() -> None:
    """1 == True in Python; their instructions must stay apart where their types do."""
    b = Builder()
    assert b.const(True, "bool").id != b.const(1, "uint8").id


def test_body_prints_itself() -> None:
    b = Builder()
    x = b.input("x", "uint32")
    b.output("y", (x << 3) ^ b.const(7, "uint32"))
    assert str(b.body()).splitlines() == [
        "%0 = input uint32  'x'",
        "%1 = shl uint32 %0 3",
        "%2 = const uint32  7",
        "%3 = xor uint32 %1 %2",
        "y <- %3",
    ]


# fma --------------------------------------------------------------------------------------------


def fma_body(dtype: str) -> Body:
    b = Builder()
    b.output("x", b.fma(*(b.input(f"leaf{k}", dtype) for k in range(3))))
    return b.body()


FLOATS = st.floats(allow_nan=False, allow_infinity=False)
NARROW = st.floats(allow_nan=False, allow_infinity=False, width=32)


def emulated(a: float, b: float, c: float, dtype: str) -> Any:
    leaves = {f"leaf{k}": np.array([v], dtype) for k, v in enumerate((a, b, c))}
    return evaluate(fma_body(dtype), leaves)["x"][0]


def check_fma(a: float, b: float, c: float, dtype: str) -> None:
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    sums = emulated(a, b, c, dtype)
    if exact == 0:
        assert sums == 0
        return
    assert_same_bits(sums, rounded(exact, dtype), f"fma({a!r}, {b!r}, {c!r})")


@settings(max_examples=400, deadline=None)
@given(FLOATS, FLOATS, FLOATS)
@example(1 + 2**-52, 1 + 2**-52, -1.0)
@example(1 + 2**-30, 1 - 2**-30, -1.0)
@example(2.0**-600, 2.0**-600, 2.0**-1074)
@example(2.0**600, 2.0**600, -1e308)
@example(1e308, 10.0, -1e308)
@example(5e-324, 0.5, 5e-324)
@example(1e308, 1e308, -1e308)
def test_emulated_fma64_rounds_once(a: float, b: float, c: float) -> None:
    check_fma(a, b, c, "float64")


@settings(max_examples=400, deadline=None)
@given(FLOATS, FLOATS, st.integers(-60, 60), st.integers(-3, 3))
def test_emulated_fma64_under_cancellation(a: float, b: float, power: int, ulps: int) -> None:
    """c near -a b, and c so small or large that it decides a tie."""
    c = -float(np.float64(a) * np.float64(b)) if abs(a) < 1e150 and abs(b) < 1e150 else 0.0
    c = float(np.ldexp(c, power)) if power % 3 == 0 else c
    for _ in range(abs(ulps)):
        c = float(np.nextafter(c, np.inf if ulps > 0 else -np.inf))
    if np.isfinite(c):
        check_fma(a, b, c, "float64")


@settings(max_examples=400, deadline=None)
@given(NARROW, NARROW, NARROW)
@example(1 + 2.0**-23, 1 + 2.0**-23, -1.0)
@example(2.0**-100, 2.0**-49, 2.0**-149)
@example(2.0**127, 2.0, -(2.0**127))
@example(1.0 + 2.0**-12, 1.0 + 2.0**-12, 2.0**-60)
def test_emulated_fma32_rounds_once(a: float, b: float, c: float) -> None:
    check_fma(a, b, c, "float32")


SPECIAL = (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 1.7976931348623157e308)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_fma_special_values_are_the_hardwares(dtype: str) -> None:
    with np.errstate(over="ignore"):
        values = np.array(SPECIAL).astype(dtype)
    grid = np.meshgrid(values, values, values)
    leaves = {f"leaf{k}": g.ravel() for k, g in enumerate(grid)}
    body = fma_body(dtype)
    assert_same_bits(evaluate(body, leaves)["x"], run_body(body, leaves, targets()[0]))


def test_fma_random_bits_are_the_hardwares() -> None:
    rng = np.random.default_rng(0)
    for dtype, word in (("float64", np.uint64), ("float32", np.uint32)):
        raw = rng.integers(0, np.iinfo(word).max, (3, 50_000), word, endpoint=True)
        leaves = {f"leaf{k}": raw[k].view(dtype) for k in range(3)}
        near = {f"leaf{k}": rng.normal(size=50_000).astype(dtype) for k in range(3)}
        near["leaf2"] = -near["leaf0"] * near["leaf1"]
        body = fma_body(dtype)
        for case in (leaves, near):
            assert_same_bits(evaluate(body, case)["x"], run_body(body, case, targets()[0]), dtype)


# Every operation, machine code against the evaluator --------------------------------------------


def special_values(dtype: str) -> np.ndarray:
    """Edges of ``dtype`` and a few hundred random bit patterns."""
    rng = np.random.default_rng(len(dtype))
    if dtype == "bool":
        return np.array([False, True] * 20)
    if dtypes.is_integer(dtype):
        info = np.iinfo(dtype)
        edges = [info.min, info.min + 1, 0, 1, 2, 7, 63, info.max // 2, info.max - 1, info.max]
        edges += [-1, -2, -7] if info.min else []
        more = rng.integers(info.min, info.max, 150, dtype, endpoint=True)
        return np.concatenate([np.array(edges, dtype), more])
    info = np.finfo(dtype)
    edges = [0.0, 0.5, 1.0, 1.5, 2.5, 3.0, 0.1, 1e10, 2.0**31, 2.0**63, 1e30, np.inf]
    edges += [float(v) for v in (info.tiny, info.smallest_subnormal, info.max, info.eps)]
    edges += [float(info.tiny) / 3, 2.0**52 + 0.5, 2.0**51 + 0.5, 8388607.5, 0.49999999999999994]
    word = {"float64": np.uint64, "float32": np.uint32}[dtype]
    more = rng.integers(0, np.iinfo(word).max, 100, word).view(dtype)
    values = np.array(edges).astype(dtype)
    return np.concatenate([values, -values, np.array([np.nan], dtype), more])


def pairs(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    x, y = np.meshgrid(a[:48], b[:48])
    extra = min(len(a), len(b))
    return np.concatenate([x.ravel(), a[:extra]]), np.concatenate([y.ravel(), b[:extra][::-1]])


def body_of(op: str, result: str, types: list[str], imm: Any = None) -> Body:
    b = Builder()
    b.output(
        "x", b.emit(op, result, *(b.input(f"leaf{k}", t) for k, t in enumerate(types)), imm=imm)
    )
    return b.body()


def rare_case(dtype: str, least: float) -> tuple[Body, dict[str, np.ndarray]]:
    """Only some vectors have a lane above ``least``; one rare body holds another."""

    def inner(b: Builder, x: Value, y: Value) -> Value:
        deeper = y.compare("gt", b.const(3, y.type))
        return b.rare(deeper, x + y, lambda b, x: -x * b.const(3, x.type), x)

    b = Builder()
    x, y = b.input("leaf0", dtype), b.input("leaf1", dtype)
    large = x.compare("gt", b.const(least, dtype))
    b.output("x", b.rare(large, y, inner, x, y) + y)
    v, w = pairs(special_values(dtype), special_values(dtype))
    return b.body(), {"leaf0": np.sort(v), "leaf1": w}


def loop_case(dtype: str, behind: bool) -> tuple[Body, dict[str, np.ndarray]]:
    """Lanes go round 0 to 40 times; ``behind``: only where a rare body needs it."""

    def step(b: Builder, n: Value, end: Value) -> tuple[Value, Value]:
        n = n + b.const(1, n.type)
        return n, n.compare("lt", end)

    def rule(b: Builder, n: Value, end: Value) -> Value:
        return b.loop(n.compare("lt", end), step, n, end) * b.const(3, n.type)

    b = Builder()
    x, end = b.input("leaf0", dtype), b.input("leaf1", dtype)
    wanted = end.compare("gt", b.const(35, dtype))
    b.output("x", b.rare(wanted, x, rule, x, end) if behind else rule(b, x, end))
    start = np.arange(4000) % 37
    return b.body(), {"leaf0": start.astype(dtype), "leaf1": np.arange(4000).astype(dtype) % 41}


SIXTEEN = tuple(float(v) for v in np.float32(1) / np.arange(-7, 9).astype("float32").clip(0.1))


def _cases() -> dict[str, tuple[Body, dict[str, np.ndarray]]]:
    cases: dict[str, tuple[Body, dict[str, np.ndarray]]] = {}

    def add(
        op: str, dtype: str, types: list[str], arrays: list[np.ndarray], imm: Any = None
    ) -> None:
        suffix = "" if imm is None or isinstance(imm, tuple) else f"-{imm}"
        name = f"{op}-{types[0]}-{dtype}{suffix}" if types[0] != dtype else f"{op}-{dtype}{suffix}"
        cases[name] = (
            body_of(op, dtype, types, imm),
            {f"leaf{k}": a for k, a in enumerate(arrays)},
        )

    for dtype in dtypes.COMPUTED:
        v = special_values(dtype)
        x, y = pairs(v, v)
        number = dtype != "bool"
        for op in ("add", "sub", "mul") if number else ():
            add(op, dtype, [dtype, dtype], [x, y])
        if number:
            add("neg", dtype, [dtype], [v])
        for op in ("eq", "ne", "lt", "le", "gt", "ge"):
            add(op, "bool", [dtype, dtype], [x, y])
        if dtypes.is_float(dtype):
            add("div", dtype, [dtype, dtype], [x, y])
            for op in ("sqrt", "floor", "ceil", "trunc", "rint"):
                add(op, dtype, [dtype], [v])
            add("nsqrt", dtype, [dtype], [v[v >= np.finfo(dtype).tiny]])
        else:
            for op in ("and", "or", "xor"):
                add(op, dtype, [dtype, dtype], [x, y])
            add("not", dtype, [dtype], [v])
        if dtypes.is_integer(dtype):
            width, least = 8 * dtypes.itemsize(dtype), np.iinfo(dtype).min
            fine = (y != 0) & ~((x == least) & (y.astype(np.int64) == -1))
            # The rules guard the divisor; a raw body has no guard for the lanes past the end.
            whole = fine.sum() // 64 * 64
            for op in ("idiv", "irem"):
                add(op, dtype, [dtype, dtype], [x[fine][:whole], y[fine][:whole]])
            amounts = (np.arange(len(x)) % width).astype(dtype)
            for op in ("shlv", "shrv"):
                add(op, dtype, [dtype, dtype], [x, amounts])
            for op in ("shl", "shr"):
                for imm in (0, 1, width - 1):
                    add(op, dtype, [dtype], [v], imm)
        flags = np.arange(len(x)) % 3 == 0
        cases[f"select-{dtype}"] = (
            body_of("select", dtype, ["bool", dtype, dtype]),
            {"leaf0": flags, "leaf1": x, "leaf2": y},
        )
        for target in dtypes.COMPUTED:
            if target == dtype or "bool" in (dtype, target):
                continue
            values = v
            if dtypes.is_float(dtype) and dtypes.is_integer(target):
                info = np.iinfo(target)
                with np.errstate(invalid="ignore"):
                    cut = np.trunc(v.astype(np.float64))
                    values = v[(cut >= info.min) & (cut < float(info.max))]
            add("cast", target, [dtype], [values])
            if dtypes.itemsize(target) == dtypes.itemsize(dtype):
                add("bitcast", target, [dtype], [v])
    wide = special_values("uint64")
    add("mul32", "uint64", ["uint64", "uint64"], list(pairs(wide, wide)))
    for dtype in ("uint64", "int32"):
        entries = tuple(int(v) for v in special_values(dtype)[:21])
        add("table", dtype, ["int64"], [np.arange(200) * 13 % 21], entries)
    add("pick", "float32", ["uint32"], [np.arange(200, dtype=np.uint32) * 2654435761], SIXTEEN)
    for dtype in ("float64", "float32", "int64", "uint16", "bool"):
        cases[f"gather-{dtype}"] = gather_case(dtype)
    for dtype, least in (("float64", 9e9), ("float32", 1.0), ("int64", 2**62), ("uint8", 9)):
        cases[f"rare-{dtype}"] = rare_case(dtype, least)
    for dtype in ("float64", "float32", "int64", "uint8"):
        cases[f"loop-{dtype}"] = loop_case(dtype, behind=False)
    cases["loop-behind a rare body"] = loop_case("float64", behind=True)
    return cases


def gather_case(dtype: str) -> tuple[Body, dict[str, np.ndarray]]:
    b = Builder()
    b.output("x", b.gather(1, b.input("leaf0", "int64"), dtype))
    memory = special_values(dtype)
    index = np.arange(200, dtype=np.int64) * 29 % len(memory)
    return b.body(), {"leaf0": index, "memory1": memory}


CASES = _cases()


def test_every_operation_has_a_case() -> None:
    covered = {name.split("-")[0] for name in CASES} | {"input", "const", "param", "fma"}
    assert set(ARITY) <= covered, "new operations need a case here"


@pytest.mark.parametrize("name", CASES)
def test_machine_code_gives_the_evaluators_bits(name: str) -> None:
    body, inputs = CASES[name]
    wanted = evaluate(body, inputs)["x"]
    values = run_body(body, inputs, targets()[0])
    assert_same_bits(values, wanted, f"{body}\n")


@pytest.mark.parametrize("target", targets()[1:])
def test_other_targets_give_the_same_bits(target: str) -> None:
    """One body of every two-operand float operation, so that each target compiles few kernels."""
    for dtype in ("float64", "float32"):
        values = special_values(dtype)
        x, y = pairs(values, values)
        b = Builder()
        p, q = b.input("leaf0", dtype), b.input("leaf1", dtype)
        results = [p + q, p - q, p * q, b.emit("div", dtype, p, q), b.fma(p, q, p), -p]
        results += [b.unary(op, p) for op in ("sqrt", "floor", "ceil", "trunc", "rint")]
        word = "uint64" if dtype == "float64" else "uint32"
        quiet = []
        bits_of_inf = int(np.array(np.inf, dtype).view(word)[()])
        signless = b.const(2 ** (8 * np.dtype(word).itemsize - 1) - 1, word)
        for value in results:  # one pattern for every NaN (chosen by bits), then mixed together
            bits = value.bitcast(word)
            is_nan = (bits & signless).compare("gt", b.const(bits_of_inf, word))
            quiet.append(b.select(is_nan, b.const(bits_of_inf + 1, word), bits))
        mixed = quiet[0]
        for value in quiet[1:]:
            mixed = (mixed << 1) ^ (mixed >> 7) ^ value
        b.output("x", mixed)
        body, inputs = b.body(), {"leaf0": x, "leaf1": y}
        assert_same_bits(run_body(body, inputs, target), evaluate(body, inputs)["x"], dtype)


@pytest.mark.parametrize("target", targets()[1:])
def test_other_targets_pick_the_same(target: str) -> None:
    body, inputs = CASES["pick-uint32-float32"]
    assert_same_bits(run_body(body, inputs, target), evaluate(body, inputs)["x"])


def test_params_are_read_as_their_type() -> None:
    for dtype, value in (("float32", 0.1), ("float64", -0.0), ("int8", -3), ("bool", True),
                         ("uint64", 2**64 - 1), ("int32", -(2**31))):  # fmt: skip
        b = Builder()
        x = b.input("leaf0", dtype)
        b.output("x", b.select(x.compare("eq", x), b.param(1, dtype), x))
        raw = np.array(value, dtype).tobytes().ljust(8, b"\0")
        params = np.array([2**64 - 1, int.from_bytes(raw, "little")], np.uint64)
        body, inputs = b.body(), {"leaf0": np.zeros(3, dtype)}
        wanted = np.broadcast_to(evaluate(body, inputs, params)["x"], 3)
        assert_same_bits(run_body(body, inputs, targets()[0], params), wanted, dtype)
        assert (bits(wanted) == bits(np.array(value, dtype))).all()
