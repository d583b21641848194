"""Write ``kernel/math/stream_coefficients.py``: minimax polynomials, rounded and measured.

Run ``python tools/coefficients.py`` (needs mpmath and gcc with libquadmath, nothing else);
``--stdout`` prints the module instead of writing it. The result does not depend on the machine.

* Fit: Remez's exchange, one point at a time (Stiefel's form, which takes the signs from the
  reference's linear dependency and so needs no Haar condition), at 80 digits on a Chebyshev grid.
* Rounding: coefficient by coefficient from the lowest degree; the rest is fitted again each time.
  What an already rounded coefficient does to the error near 0 cannot be mended there, so these
  fits leave out the points with |x| < hole * max |x|; of the holes tried, the one with the least
  measured error is kept.
* Measurement: a C program does the kernels' operations (-ffp-contract=off, explicit fma) and
  compares with libquadmath (float64, 2**20 points and more) or libm's double (float32, dense).
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from operator import mul
from pathlib import Path
from typing import Any, Final

from mpmath import mp, mpf

TARGET: Final = (
    Path(__file__).parents[1] / "src" / "speedcube" / "kernel" / "math" / "stream_coefficients.py"
)
DIGITS: Final = 80
POINTS: Final = 500
TOLERANCE: Final = mpf(10) ** -4  # of the fitted error, relative
CHECKED: Final = 4001
FIXED: Final = 320  # fraction bits of the fixed-point numbers that scan the grid
HOLES: Final = (0.0, 0.15)
Real = Any  # mpmath has no types

SOURCE: Final = r"""
#include <math.h>
#include <quadmath.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double p64[32], nln2_64;
static float p32[32], nln2_32;
static int n;

static uint64_t state = 88172645463325252ULL;
static double uniform(void) { /* [0, 1), xorshift64* */
    state ^= state >> 12; state ^= state << 25; state ^= state >> 27;
    return (double)((state * 2685821657736338717ULL) >> 11) * 0x1p-53;
}

static double worst_ulp, worst_abs, total; static uint64_t count;
static void note(double error, double truth, int digits) {
    int e; frexp(truth, &e);
    double ulps = fabs(error) / ldexp(1.0, e - digits);
    if (!(ulps <= worst_ulp)) worst_ulp = ulps;
    if (!(fabs(error) <= worst_abs)) worst_abs = fabs(error);
    total += ulps; count++;
}
static void say(void) {
    printf("%.17g %.17g %.17g %llu\n", worst_ulp, worst_abs, total / count,
           (unsigned long long)count);
    worst_ulp = worst_abs = total = 0; count = 0;
}
static void note64(double got, __float128 truth) { note((double)(got - truth), (double)truth, 53); }
static void note32(float got, double truth) { note(got - truth, truth, 24); }

#define KERNELS(T, B, FMA)                                                                \
    static T horner##B(T x, int first, int step) {                                        \
        int k = first + (n - 1 - first) / step * step;                                    \
        T v = p##B[k];                                                                    \
        for (k -= step; k >= first; k -= step) v = FMA(v, x, p##B[k]);                    \
        return v;                                                                         \
    }                                                                                     \
    static T log##B(T f, T e) {                                                           \
        T g = f - 1, g2 = g * g, even = horner##B(g2, 0, 2), odd = horner##B(g2, 1, 2);   \
        return FMA(g, FMA(g, odd, even), e * nln2_##B);                                   \
    }                                                                                     \
    static T sin##B(T t) { T t2 = t * t; return t * horner##B(t2, 0, 1); }                \
    static T cos##B(T t) { T t2 = t * t; return horner##B(t2, 0, 1); }
KERNELS(double, 64, fma)
KERNELS(float, 32, fmaf)

static float from_bits(uint32_t bits) { float x; memcpy(&x, &bits, 4); return x; }
static uint32_t to_bits(float x) { uint32_t bits; memcpy(&bits, &x, 4); return bits; }

static void measure64(const char *kind, uint64_t points) {
    const double c = 0x1.6a09ep-1;
    if (!strcmp(kind, "log")) {
        for (uint64_t i = 0; i < points; i++) { /* the last quarter closes in on 1 */
            double f = 4 * i < 3 * points ? c + c * uniform()
                                          : 1 + (uniform() - 0.5) * ldexp(0.5, -(int)(i % 44));
            if (f != 1) note64(log64(f, 0), -logq(f));
        }
        say();
        for (uint64_t i = 0; i < points; i++) {
            double f = c + c * uniform(), e = -(double)(i % 54);
            if (e == 0 && f >= 1) f /= 2, f = f < c ? c : f;
            note64(log64(f, e), -(logq(f) + e * M_LN2q));
        }
        say();
    } else for (uint64_t i = 0; i < points; i++) {
        double t = uniform() - 0.5;
        if (i % 4 == 0) t = ldexp(t, -(int)(i / 4 % 20));
        if (*kind == 's') note64(sin64(t), sinq(M_PI_2q * t));
        else note64(cos64(t), cosq(M_PI_2q * t));
    }
}

static void measure32(const char *kind, uint64_t points) {
    const uint32_t c = 0x3F3504F3, half = 0x3F000000;
    uint32_t step;
    if (!strcmp(kind, "log")) {
        step = (uint32_t)((1u << 23) / points) | 1;
        for (int least = 0; least >= -32; least -= 32) {
            for (uint32_t i = 0; i < 1u << 23; i += step) {
                float f = from_bits(c + i);
                double truth = -log((double)f);
                if (least == 0) { if (f != 1) note32(log32(f, 0), truth); }
                else for (int e = 0; e >= least; e--)
                    if (e < 0 || f < 1) note32(log32(f, e), truth - e * M_LN2);
            }
            say();
        }
    } else {
        uint32_t least = to_bits(0x1p-12f);
        step = (uint32_t)((half - least) / points) | 1;
        for (uint32_t i = least; i <= half; i += step) {
            float t = from_bits(i);
            if (*kind == 's') note32(sin32(t), sin(M_PI_2 * t));
            else note32(cos32(t), cos(M_PI_2 * t));
        }
    }
}

int main(int argc, char **argv) { /* kind bits points -ln2 coefficients... */
    int bits = atoi(argv[2]);
    uint64_t points = strtoull(argv[3], NULL, 10);
    nln2_32 = nln2_64 = atof(argv[4]);
    for (n = 0; n < argc - 5; n++) p32[n] = p64[n] = atof(argv[5 + n]);
    if (bits == 64) measure64(argv[1], points); else measure32(argv[1], points);
    if (count) say();
    return 0;
}
"""


# The functions: the table approximates ``truth`` so that weight * (polynomial - truth) is small.


@dataclass(frozen=True)
class Function:
    kind: str
    says: str
    sequence: str
    error: str
    truth: Callable[[Real], Real]
    weight: Callable[[Real], Real]


def _over_t(u: Real) -> Real:
    return mp.sin(mp.pi / 2 * mp.sqrt(u)) / mp.sqrt(u) if u else mp.pi / 2


LOG: Final = Function(
    "log",
    "-log(f) = g P(g), g = f - 1",
    "g2 = g g; even, odd by Horner in g2; fma(g, fma(g, odd, even), e (-ln 2))",
    "relative",
    lambda g: -mp.log1p(g) / g if g else mpf(-1),
    lambda g: abs(g / mp.log1p(g)) if g else mpf(1),
)
SIN: Final = Function(
    "sin", "sin(pi/2 t) = t S(t t)", "t2 = t t; t Horner(t2)", "relative", _over_t,
    lambda u: 1 / _over_t(u),
)  # fmt: skip
COS: Final = Function(
    "cos", "cos(pi/2 t) = C(t t)", "t2 = t t; Horner(t2)", "absolute",
    lambda u: mp.cos(mp.pi / 2 * mp.sqrt(u)), lambda u: mpf(1),
)  # fmt: skip


@dataclass(frozen=True)
class Table:
    name: str
    function: Function
    bits: int  # 64 or 32
    interval: tuple[Real, Real]  # of the polynomial's variable
    where: str
    first: int | None  # the value that coefficient 0 is held at
    target: int  # log2 of the largest approximation error allowed


@dataclass(frozen=True)
class Measured:
    ulps: float
    absolute: float
    mean: float
    points: int


@dataclass(frozen=True)
class Result:
    table: Table
    coefficients: tuple[float, ...]
    minimax: float  # log2 of the error before rounding
    rounded: float  # and with the rounded coefficients, exact arithmetic
    hole: float
    measured: tuple[Measured, ...]


def tables() -> list[Table]:
    c64, c32 = mpf(float.fromhex("0x1.6a09ep-1")), mpf(float.fromhex("0x1.6a09e6p-1"))
    quarter = (mpf(0), mpf(1) / 4)
    half = "|t| <= 1/2"
    log64 = "f in [c, 2c), c = 0x1.6a09ep-1\n    (bits 0x3FE6A09E00000000)"
    log32 = "f in [c, 2c), c = 0x1.6a09e6p-1 (bits 0x3F3504F3)"
    return [
        Table("NEG_LOG64", LOG, 64, (c64 - 1, 2 * c64 - 1), log64, -1, -55),
        Table("SIN64", SIN, 64, quarter, half, None, -55),
        Table("COS64", COS, 64, quarter, half, 1, -55),
        Table("NEG_LOG32", LOG, 32, (c32 - 1, 2 * c32 - 1), log32, -1, -26),
        Table("SIN32", SIN, 32, quarter, half, None, -26),
        Table("COS32", COS, 32, quarter, half, 1, -26),
    ]


def rounded(x: Real, bits: int) -> float:
    """``x`` to the nearest float64 or float32."""
    with mp.workprec({64: 53, 32: 24}[bits]):
        return float(+x)


def constants() -> dict[str, float]:
    return {f"NEG_LN2_{bits}": rounded(-mp.log(2), bits) for bits in (64, 32)}


# Fitting.


class Fit:
    """The weighted approximation problem of a table on a grid."""

    def __init__(self, table: Table, points: int) -> None:
        low, high = table.interval
        middle, radius = (low + high) / 2, (high - low) / 2
        self.x = [middle - radius * mp.cospi(mpf(k) / (points - 1)) for k in range(points)]
        self.weight = [table.function.weight(x) for x in self.x]
        self.truth = [table.function.truth(x) for x in self.x]

    def errors(self, coefficients: list[Real]) -> list[Real]:
        """Weighted errors of the polynomial, in exact arithmetic."""
        return [
            w * (mp.polyval(coefficients[::-1], x) - f)
            for x, w, f in zip(self.x, self.weight, self.truth, strict=True)
        ]

    def rest(self, held: list[Real], degree: int, hole: float, warm: list[int]) -> list[Real]:
        """Minimax coefficients len(held) ... degree, the lower ones being ``held``."""
        least = max(abs(x) for x in self.x) * hole
        places = [k for k, x in enumerate(self.x) if abs(x) >= least and x and self.weight[k]]
        missing = [-e for e in self.errors(held)] if held else [
            w * f for w, f in zip(self.weight, self.truth, strict=True)
        ]  # fmt: skip
        rows = [
            [self.weight[k] * self.x[k] ** j for j in range(len(held), degree + 1)] for k in places
        ]
        return minimax(rows, [missing[k] for k in places], warm)


def _solve(matrix: Real, right: list[Real]) -> list[Real]:
    return list(mp.lu_solve(matrix, mp.matrix(right)))  # decomposed in place


def minimax(rows: list[list[Real]], values: list[Real], warm: list[int]) -> list[Real]:
    """Q with the least max |values - rows q|: Stiefel's exchange. ``warm``: a reference."""
    n, m = len(rows[0]), len(rows)
    scale = mpf(2) ** FIXED
    whole = [[int(a * scale) for a in row] for row in rows]
    whole_values = [int(v * scale) << FIXED for v in values]
    # Start: the extrema of a Chebyshev polynomial over the kept points, or where an earlier fit
    # with one coefficient more ended, less the point where the remaining terms are smallest.
    reference = [round((m - 1) * k / n) for k in range(n + 1)]
    if len(warm) == n + 2:
        reference = sorted(warm, key=lambda k: abs(rows[k][0]))[1:]
    while True:
        basis = mp.matrix([rows[k] for k in reference[1:]])
        transposed = basis.T
        weights = [mpf(1), *_solve(transposed, [-a for a in rows[reference[0]]])]
        level = sum(w * values[k] for w, k in zip(weights, reference, strict=True))
        level /= sum(abs(w) for w in weights)
        if level < 0:
            weights, level = [-w for w in weights], -level
        signs = [mp.sign(w) for w in weights]
        right = [values[k] - s * level for k, s in zip(reference, signs, strict=True)]
        q = _solve(basis, right[1:])
        whole_q = [int(a * scale) for a in q]
        errors = [
            v - sum(map(mul, row, whole_q)) for row, v in zip(whole, whole_values, strict=True)
        ]
        new = max(range(m), key=lambda k: abs(errors[k]))
        if abs(errors[new]) / scale**2 <= level * (1 + TOLERANCE):
            warm[:] = reference
            return q
        sign = 1 if errors[new] > 0 else -1
        shares = [mpf(0), *_solve(transposed, rows[new])]
        ratios = [
            sign * a * s / abs(w) if w else mpf("-inf")
            for a, s, w in zip(shares, signs, weights, strict=True)
        ]
        reference[ratios.index(max(ratios))] = new


def log2_error(check: Fit, coefficients: list[Real]) -> float:
    return float(mp.log(max(abs(e) for e in check.errors(coefficients)), 2))


# Measuring.


def compiled(folder: Path) -> Path:
    source, program = folder / "measure.c", folder / "measure"
    source.write_text(SOURCE)
    flags = ["-O2", "-ffp-contract=off"]
    if "fma" in Path("/proc/cpuinfo").read_text().split():
        flags.append("-mfma")  # otherwise libm's fma, as exact and slower
    libraries = ["-lquadmath", "-lm"]
    subprocess.run(["gcc", *flags, "-o", program, source, *libraries], check=True)
    return program


def measure(
    program: Path, table: Table, coefficients: list[float], points: int
) -> tuple[Measured, ...]:
    b = table.bits
    numbers = [constants()[f"NEG_LN2_{b}"], *coefficients]
    arguments = [table.function.kind, str(b), str(points), *map(repr, numbers)]
    output = subprocess.run([program, *arguments], check=True, capture_output=True, text=True)
    lines = [line.split() for line in output.stdout.splitlines()]
    return tuple(Measured(float(a), float(c), float(d), int(e)) for a, c, d, e in lines)


def result(table: Table, program: Path) -> Result:
    fit, check = Fit(table, POINTS), Fit(table, CHECKED)
    start: list[Real] = [] if table.first is None else [mpf(table.first)]
    degree = 3
    while True:
        ideal = start + fit.rest(start, degree, 0.0, [])
        error = log2_error(check, ideal)
        if error <= table.target:
            break
        degree += 1
    best: tuple[float, float, float, list[Real]] | None = None
    for hole in HOLES:
        held, warm = list(start), list[int]()
        while len(held) <= degree:
            # The first fit is the ideal one whatever the hole: nothing is rounded yet.
            refit = len(held) > len(start)
            rest = fit.rest(held, degree, hole, warm) if refit else ideal[len(start) :]
            held.append(mpf(rounded(rest[0], table.bits)))
        measured = measure(program, table, [float(a) for a in held], 1 << 17)[0]
        size = measured.absolute if table.function is COS else measured.ulps
        if best is None or (size, measured.mean) < best[:2]:
            best = (size, measured.mean, hole, held)
    assert best is not None
    held = best[3]
    coefficients = tuple(float(a) for a in held)
    dense = 1 << 20 if table.bits == 64 else 1 << 23
    return Result(
        table,
        coefficients,
        error,
        log2_error(check, held),
        best[2],
        measure(program, table, list(coefficients), dense),
    )


# Writing.


def described(item: Result) -> str:
    table, measured = item.table, item.measured
    first = "" if table.first is None else f", coefficient 0 held at {table.first}"
    lines = [
        f"``{table.name}``: {table.function.says}, {table.where}.",
        f"    Degree {len(item.coefficients) - 1}{first}. Approximation error "
        f"({table.function.error}, log2): {item.minimax:.2f}",
        f"    minimax, {item.rounded:.2f} with the rounded coefficients.",
        f"    Evaluation: {table.function.sequence}.",
    ]
    labels = {
        "log": ("with e = 0", f"with e in -{53 if table.bits == 64 else 32} .. 0"),
    }.get(table.function.kind, ("",))
    for label, m in zip(labels, measured, strict=True):
        label = " " * bool(label) + label + ":" * (":" not in label)
        lines.append(
            f"    Measured{label} at most {m.ulps:.3f} ulp, "
            f"{m.absolute:.3g} absolute; mean {m.mean:.3f} ulp."
        )
    return "\n".join(lines)


def module(results: list[Result]) -> str:
    text = '"""The polynomials of the elementary functions, lowest degree first.\n\n'
    text += "Generated by tools/coefficients.py; do not edit. All arithmetic is that of the\n"
    text += "table's type, each fma rounded once; ulps are of the exact result.\n\n"
    text += "\n\n".join(described(item) for item in results)
    text += '\n\n``NEG_LN2_`` is -ln 2, rounded.\n"""\n\nfrom typing import Final\n'
    for item in results:
        text += f"\n{item.table.name}: Final[tuple[float, ...]] = (\n"
        text += "".join(f'    float.fromhex("{a.hex()}"),\n' for a in item.coefficients) + ")\n"
    text += "\n"
    for name, value in constants().items():
        text += f'{name}: Final[float] = float.fromhex("{value.hex()}")\n'
    return text


def main() -> None:
    began = time.perf_counter()
    mp.dps = DIGITS
    results = []
    with tempfile.TemporaryDirectory() as folder:
        program = compiled(Path(folder))
        for table in tables():
            item = result(table, program)
            results.append(item)
            took = time.perf_counter() - began
            print(f"{described(item)}\n    (hole {item.hole}, {took:.0f} s)", file=sys.stderr)
    if "--stdout" in sys.argv[1:]:
        print(module(results), end="")
    else:
        TARGET.write_text(module(results))


if __name__ == "__main__":
    main()
