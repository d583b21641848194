"""Write ``tables.py`` and ``erfcx.py`` of ``src/speedcube/kernel/math/elementary``.

They hold minimax polynomials and constants.

Run ``python tools/elementary.py`` (needs mpmath, nothing else); ``--stdout`` prints the module
instead of writing it. The result does not depend on the machine.

Each polynomial is fitted by Remez's exchange (`coefficients.minimax`) at 60 digits; coefficients
are rounded to float64 one by one from the lowest degree, and the rest is fitted again each time.
What a whole function is worth is measured elsewhere: `kernel/test_elementary.py`, `bench/accuracy`.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from coefficients import minimax
from mpmath import mp, mpf

TARGET: Final = (
    Path(__file__).parents[1] / "src" / "speedcube" / "kernel" / "math" / "elementary" / "tables.py"
)
POINTS: Final = 160
CHECKED: Final = 1500
Real = Any  # mpmath has no types


@dataclass(frozen=True)
class Table:
    """``truth`` on ``interval``; the error that counts is weight * (polynomial - truth)."""

    name: str
    says: str
    truth: Callable[[Real], Real]
    weight: Callable[[Real], Real]
    interval: tuple[Real, Real]
    degree: int
    bits: int = 53


def grid(table: Table, points: int) -> list[Real]:
    low, high = (mpf(end) for end in table.interval)
    middle, radius = (low + high) / 2, (high - low) / 2
    places = [middle - radius * mp.cospi(mpf(2 * k + 1) / (2 * points)) for k in range(points)]
    return [x for x in places if x]


def rounded(x: Real, bits: int = 53) -> float:
    with mp.workprec(bits):
        return float(+x)


def fit(table: Table) -> tuple[tuple[float, ...], float]:
    """The rounded coefficients, and log2 of their largest weighted error."""
    xs = grid(table, POINTS)
    weights, truths = [table.weight(x) for x in xs], [table.truth(x) for x in xs]
    held: list[float] = []
    warm: list[int] = []
    while len(held) <= table.degree:
        rows = [
            [w * x**j for j in range(len(held), table.degree + 1)]
            for x, w in zip(xs, weights, strict=True)
        ]
        rest = [
            w * (t - mp.polyval([mpf(c) for c in held[::-1]], x)) if held else w * t
            for x, w, t in zip(xs, weights, truths, strict=True)
        ]
        held.append(rounded(minimax(rows, rest, warm)[0], table.bits))
    exact = [mpf(c) for c in held[::-1]]
    errors = [
        abs(table.weight(x) * (mp.polyval(exact, x) - table.truth(x))) for x in grid(table, CHECKED)
    ]
    return tuple(held), float(mp.log(max(errors), 2))


# The tables --------------------------------------------------------------------------------------


def _atanh_rest(z: Real, terms: int) -> Real:
    """(2 atanh(s) - its first ``terms`` terms) / s**(2 terms + 1), z = s * s."""
    s = mp.sqrt(z)
    with mp.workdps(120):
        rest = 2 * mp.atanh(s) - sum(2 * s ** (2 * k + 1) / (2 * k + 1) for k in range(terms))
        return rest / s ** (2 * terms + 1)


def tables() -> list[Table]:
    reduced = mp.log(2) / 2 * mpf("1.0001")
    seam = mp.sqrt(2) - 1  # tan(pi/8) too
    s2 = ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2 * mpf("1.001")
    eighth = (mp.pi / 4) ** 2 * mpf("1.0001")
    root = mp.sqrt
    return [
        Table(
            "EXP", "`exp(r) = 1 + r + r r P(r)`, `|r| <= ln(2)/2`, relative",
            lambda r: (mp.expm1(r) - r) / r**2, lambda r: r**2 / mp.exp(r), (-reduced, reduced), 9,
        ),
        Table(
            "EXP_32", "`exp(r) = 1 + r P(r)`, `|r| <= ln(2)/2`, relative",
            lambda r: mp.expm1(r) / r, lambda r: r / mp.exp(r), (-reduced, reduced), 6,
        ),
        Table(
            "LOG", "`log(f) = 2 s + s z P(z)`, `s = (f - 1) / (f + 1)`, `z = s s`, relative",
            lambda z: _atanh_rest(z, 1), lambda z: z / 2, (0, s2), 6,
        ),
        Table(
            "LOG_SHORT", "`log(f) = 2 s + s z P(z)`, s and z as above, relative",
            lambda z: _atanh_rest(z, 1), lambda z: z / 2, (0, s2), 4,
        ),
        Table(
            "LOG_TAIL", "`log(f) = 2 s + s z (2/3 + z P(z))`, s and z as above, relative",
            lambda z: _atanh_rest(z, 2), lambda z: z**2 / 2, (0, s2), 7,
        ),
        Table(
            "LOG_32", "`log(1 + g) = g P(g)`, `1 + g in [0.707, 1.415)`, relative",
            lambda g: mp.log1p(g) / g, lambda g: g / mp.log1p(g), (-1 + 1 / root(2), seam), 11,
        ),
        Table(
            "SIN", "`sin(r) = r + r z P(z)`, `z = r r`, `|r| <= pi/4`, relative",
            lambda z: (mp.sin(root(z)) / root(z) - 1) / z, lambda z: z * root(z) / mp.sin(root(z)),
            (0, eighth), 5,
        ),
        Table(
            "COS", "`cos(r) = 1 - z / 2 + z z P(z)`, `z = r r`, `|r| <= pi/4`, relative",
            lambda z: (mp.cos(root(z)) - 1 + z / 2) / z**2, lambda z: z**2 / mp.cos(root(z)),
            (0, eighth), 5,
        ),
        Table(
            "SIN_32", "`sin(r) = r + r z P(z)`, `z = r r`, `|r| <= pi/2`, relative",
            lambda z: (mp.sin(root(z)) / root(z) - 1) / z, lambda z: z * root(z) / mp.sin(root(z)),
            (0, 4 * eighth), 4,
        ),
        Table(
            "ATAN", "`atan(t) = t + t z P(z)`, `z = t t`, `|t| <= tan(pi/8)`, relative",
            lambda z: (mp.atan(root(z)) / root(z) - 1) / z,
            lambda z: z * root(z) / mp.atan(root(z)), (0, seam**2 * mpf("1.001")), 11,
        ),
        Table(
            "CBRT", "`cbrt(m) = P(m)`, `m in [0.35, 2.83]`, relative",
            mp.cbrt, lambda m: 1 / mp.cbrt(m), (mpf("0.352"), mpf("2.84")), 5,
        ),
        Table(
            "ERF", "`erf(x) = x (2 / sqrt(pi) + z P(z))`, `z = x x`, `|x| <= 1/2`, relative",
            lambda z: (mp.erf(root(z)) / root(z) - 2 / root(mp.pi)) / z,
            lambda z: z * root(z) / mp.erf(root(z)), (0, mpf("0.2502")), 8,
        ),
        Table(
            "GAMMALN", "`gammaln(x) = (x - 1/2) log(x) - x + log(2 pi) / 2 + P(1 / x**2) / x`,\n"
            "    `x >= 8`, absolute",
            _stirling, lambda w: root(w), (mpf(10) ** -12, mpf("0.01563")), 7,
        ),
    ]  # fmt: skip


def _stirling(w: Real) -> Real:
    x = 1 / mp.sqrt(w)
    with mp.workdps(120):
        return x * (mp.loggamma(x) - ((x - 0.5) * mp.log(x) - x + mp.log(2 * mp.pi) / 2))


# erfcx(x) = exp(x x) erfc(x) around the middle of each eighth of each octave from 1/2 to 32.
EIGHTHS: Final = 48
ERFCX_DEGREE: Final = 11


def erfcx_piece(k: int) -> list[Real]:
    """The polynomial through Chebyshev's points, in x less the middle."""
    octave, eighth = divmod(k, 8)
    width = mp.ldexp(1, octave - 5)
    middle, n = mp.ldexp(8 + eighth + mpf(1) / 2, octave - 4), ERFCX_DEGREE + 1
    nodes = [mp.cospi(mpf(2 * j + 1) / (2 * n)) for j in range(n)]
    points = [middle + width * u for u in nodes]
    values = mp.matrix([mp.exp(x * x) * mp.erfc(x) for x in points])
    matrix = mp.matrix([[u**j for j in range(n)] for u in nodes])
    return [c / width**j for j, c in enumerate(mp.lu_solve(matrix, values))]


def bits(value: float) -> int:
    return int(struct.unpack("<Q", struct.pack("<d", value))[0])


def erfcx_module() -> str:
    pieces = [erfcx_piece(k) for k in range(EIGHTHS)]
    rows = [[rounded(piece[0]) for piece in pieces]]
    rows += [[rounded(p[0] - mpf(high)) for p, high in zip(pieces, rows[0], strict=True)]]
    rows += [[rounded(piece[j]) for piece in pieces] for j in range(1, ERFCX_DEGREE + 1)]
    text = ERFCX_HEAD
    for row in rows:
        text += "    (\n"
        for k in range(0, EIGHTHS, 4):
            text += "        " + ", ".join(f"0x{bits(v):016X}" for v in row[k : k + 4]) + ",\n"
        text += "    ),\n"
    return text + ")\n"


ERFCX_HEAD: Final = '''"""`exp(x x) erfc(x)` by pieces: the eighths of the octaves from 1/2 to 32.

Generated by tools/elementary.py; do not edit. Polynomials of degree 11 in x less the piece's
middle, as the bits of float64 numbers: coefficient 0 in two parts, then coefficients 1 to 11; one
row for each, one column for each piece.
"""

from typing import Final

# fmt: off
ERFCX: Final[tuple[tuple[int, ...], ...]] = (
'''


# The constants -----------------------------------------------------------------------------------


def parts(x: Real, cuts: tuple[int, ...]) -> list[float]:
    """Float64 numbers whose sum is ``x``; each has as many low significand bits zero as asked."""
    pieces = []
    for cut in cuts:
        with mp.workprec(53 - cut):
            pieces.append(float(+x))
        x = x - mpf(pieces[-1])
    return pieces


def constants() -> dict[str, list[float]]:
    ln2, whole = mp.log(2), (0, 0)
    return {
        "LN2": parts(ln2, (11, 0, 0)),  # times |n| <= 1100 the first is exact
        "LN2_PAIR": parts(ln2, whole),
        "LOG2E": parts(1 / ln2, whole),
        "LOG10E": parts(1 / mp.log(10), whole),
        "LOG10_2": parts(mp.log(2) / mp.log(10), (11, 0)),
        "TWO_THIRDS": parts(mpf(2) / 3, whole),
        "HALF_PI": parts(mp.pi / 2, (0, 0, 0)),
        "PI": parts(mp.pi, whole),
        "LOG_PI": parts(mp.log(mp.pi), whole),
        "HALF_LOG_TWO_PI": parts(mp.log(2 * mp.pi) / 2, whole),
        "TWO_OVER_ROOT_PI": parts(2 / mp.sqrt(mp.pi), whole),
        "QUARTER_PI": parts(mp.pi / 4, (3, 0)),  # times 0 .. 4 the first is exact
        "PER_PI": parts(1 / mp.pi, (0,)),
        "TWO_OVER_PI": parts(2 / mp.pi, (0,)),
    }


def two_over_pi_words(words: int) -> list[int]:
    """64 zeros and then the binary digits of 2/pi, 64 in a word."""
    with mp.workprec(64 * words + 100):
        whole = int(mp.floor(mp.ldexp(2 / mp.pi, 64 * (words - 1))))
    return [whole >> 64 * (words - 1 - k) & (2**64 - 1) for k in range(words)]


# Writing -----------------------------------------------------------------------------------------

HEAD: Final = '''"""The polynomials and constants of the elementary functions, lowest degree first.

Generated by tools/elementary.py; do not edit. The number is log2 of the largest error of the
rounded coefficients in exact arithmetic; the rounding of the operations comes on top.

'''
TAIL: Final = '''
Constants are sums of float64 numbers, the largest first; the first part of ``LN2`` and of
``LOG10_2`` has 11 low bits zero, so that n times it is exact for `|n| <= 1100`.
``TWO_OVER_PI_BITS`` is 64 zeros and the binary digits of `2/pi`.
"""

from typing import Final
'''


def module(
    head: str,
    tail: str,
    fitted: Sequence[tuple[Table, Sequence[float], float]],
    others: Mapping[str, Sequence[float]],
) -> str:
    """The text of a module: the fitted polynomials, described, and other numbers."""
    text = head
    for table, polynomial, error in fitted:
        degree = len(polynomial) - 1
        text += f"``{table.name}``: {table.says}.\n    Degree {degree}, {error:.1f}.\n"
    text += tail
    for name, numbers in ({table.name: each for table, each, _ in fitted} | others).items():
        text += f"\n{name}: Final[tuple[float, ...]] = (\n"
        text += "".join(f'    float.fromhex("{a.hex()}"),\n' for a in numbers) + ")\n"
    return text


def tables_module() -> str:
    text = module(HEAD, TAIL, [(table, *fit(table)) for table in tables()], constants())
    text += "\nTWO_OVER_PI_BITS: Final[tuple[int, ...]] = (\n"
    return text + "".join(f"    0x{word:016X},\n" for word in two_over_pi_words(20)) + ")\n"


def main() -> None:
    mp.dps = 60
    if "--stdout" in sys.argv[1:]:
        print(tables_module(), end="")
    else:
        TARGET.write_text(tables_module())
        TARGET.with_name("erfcx.py").write_text(erfcx_module())


if __name__ == "__main__":
    main()
