"""What is drawn, and from which distribution it must be: a table of calls and their parameters.

The first parameters of a method are its main ones, the others lie at the edges of its domain. Those
after a `TOGETHER` are drawn in one call too, as arrays whose values alternate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from scipy import special, stats

Numbers = np.ndarray[Any, Any]

LARGE: Final = 1e6  # shapes and means from which SciPy's far tails are wrong


# Distributions that SciPy has not, or not exactly enough ------------------------------------------


class VonMises:
    """Around 0, by the trapezium rule over the density on 400,001 points."""

    dist = stats.vonmises

    def __init__(self, kappa: float) -> None:
        reach = min(math.pi, 12.0 / math.sqrt(kappa)) if kappa else math.pi
        self.angles = np.linspace(-reach, reach, 400_001)
        density = np.exp(-2.0 * kappa * np.sin(self.angles / 2) ** 2)
        steps = (density[1:] + density[:-1]) / 2
        self.heights = np.concatenate([[0.0], np.cumsum(steps)]) / steps.sum()

    def cdf(self, x: Any) -> Any:
        return np.interp(x, self.angles, self.heights)

    def sf(self, x: Any) -> Any:
        return self.cdf(-np.asarray(x))


class Zeta:
    """The Zipf distribution on 1 ... 2**63 - 1: no int64 can hold more, which is drawn again."""

    dist = stats.zipf

    def __init__(self, a: float) -> None:
        self.a = a
        self.beyond = special.zeta(a, 2.0**63)
        self.whole = special.zeta(a, 1.0) - self.beyond

    def cdf(self, k: Any) -> Any:
        return 1.0 - self.sf(k)

    def sf(self, k: Any) -> Any:
        k = np.clip(np.floor(k), 0.0, 2.0**63 - 1025)
        return (special.zeta(self.a, k + 1.0) - self.beyond) / self.whole


class LogSeries:
    """Its sums as a beta function of second argument 0, which SciPy has as a limit."""

    dist = stats.logser

    def __init__(self, p: float) -> None:
        self.p = p

    def cdf(self, k: Any) -> Any:
        return 1.0 - self.sf(k)

    def sf(self, k: Any) -> Any:
        after = np.clip(np.floor(k), 0.0, None) + 1.0
        tiny = 1e-100
        part = special.betainc(after, tiny, self.p) * special.beta(after, tiny)
        return part / -np.log1p(-self.p)


class LargeGamma:
    """Gamma of a large shape by Temme's expansion (DLMF 8.12.3, two terms).

    SciPy's incomplete gamma functions are wrong by a factor beyond 4.5 deviations there.
    """

    dist = stats.gamma

    def __init__(self, a: float, scale: float = 1.0) -> None:
        self.a, self.scale = a, scale

    def cdf(self, x: Any) -> Any:
        return temme(self.a, near(x / self.scale, self.a))[0]

    def sf(self, x: Any) -> Any:
        return temme(self.a, near(x / self.scale, self.a))[1]


class LargePoisson:
    """Poisson of a large mean, whose sums are those functions."""

    dist = stats.poisson

    def __init__(self, lam: float) -> None:
        self.lam = lam

    def cdf(self, k: Any) -> Any:
        return temme(near(np.floor(k) + 1.0, self.lam), self.lam)[1]

    def sf(self, k: Any) -> Any:
        return temme(near(np.floor(k) + 1.0, self.lam), self.lam)[0]


def near(x: Any, mean: float) -> Any:
    """Held within sixty deviations, beyond which nothing is left."""
    return np.clip(x, mean - 60 * math.sqrt(mean), mean + 60 * math.sqrt(mean))


def temme(a: Any, x: Any) -> tuple[Any, Any]:
    """The regularized incomplete gamma functions P(a, x) and Q(a, x) for large ``a``."""
    m = (x - a) / a
    eta = np.sign(m) * np.sqrt(2.0 * np.maximum(m - np.log1p(m), 0.0))
    first = -1 / 3 + m * (1 / 12 - m * (23 / 540 - m * (353 / 12960)))
    rest = np.exp(-a * eta**2 / 2) / np.sqrt(2 * np.pi * a) * (first - 1 / (540 * a))
    root = eta * np.sqrt(a / 2)
    return special.erfc(-root) / 2 - rest, special.erfc(root) / 2 + rest


def gamma_distribution(a: float, scale: float = 1.0) -> Any:
    return stats.gamma(a, scale=scale) if a < LARGE else LargeGamma(a, scale)


def poisson_distribution(lam: float) -> Any:
    return stats.poisson(lam) if lam < LARGE else LargePoisson(lam)


def weighted(weights: Any) -> Any:
    """0, 1, 2 ... with these probabilities."""
    weights = np.asarray(weights, float)
    return stats.rv_discrete(values=(np.arange(len(weights)), weights / weights.sum()))


# The table ----------------------------------------------------------------------------------------

TOGETHER: Final = "together"
Parameters = tuple[Any, ...]
METHODS: Final[dict[str, tuple[Callable[..., Any], list[Parameters | str]]]] = {
    "uniform": (
        lambda a, b: stats.uniform(a, b - a),
        [(0.0, 1.0), (1e9, 1e9 + 1), TOGETHER, (-1.0, 3.0), (2.0, 2.5)],
    ),
    "normal": (stats.norm, [(0.0, 1.0), TOGETHER, (1.5, 2.0), (-1e6, 1e-3)]),
    "exponential": (
        lambda b: stats.expon(scale=b),
        [(1.0,), (1e300,), TOGETHER, (2.0,), (1e-3,)],
    ),
    "integers": (
        stats.randint,
        [(0, 10), (0, 2**32 - 1), TOGETHER, (-5, 6), (100, 10**9)],
    ),
    "lognormal": (
        lambda m, s: stats.lognorm(s, scale=math.exp(m)),
        [(0.0, 1.0), TOGETHER, (-2.0, 3.0), (0.0, 1e-6), (0.0, 30.0)],
    ),
    "laplace": (stats.laplace, [(0.0, 1.0), TOGETHER, (1.0, 2.0), (1e3, 1e-3)]),
    "logistic": (stats.logistic, [(0.0, 1.0), TOGETHER, (1.0, 2.0), (1e3, 1e-3)]),
    "gumbel": (stats.gumbel_r, [(0.0, 1.0), TOGETHER, (1.0, 2.0), (1e3, 1e-3)]),
    "standard_cauchy": (stats.cauchy, [()]),
    "weibull": (stats.weibull_min, [(1.7,), TOGETHER, (0.01,), (1.0,), (100.0,)]),
    "pareto": (stats.lomax, [(1.7,), TOGETHER, (0.01,), (3.0,), (1e6,)]),
    "power": (stats.powerlaw, [(1.7,), TOGETHER, (1e-3,), (1.0,), (100.0,)]),
    "rayleigh": (lambda b: stats.rayleigh(scale=b), [(1.0,), TOGETHER, (2.0,), (1e3,)]),
    "triangular": (
        lambda a, c, b: stats.triang((c - a) / (b - a), a, b - a),
        [(-1.0, 0.0, 3.0), TOGETHER, (2.0, 2.0, 5.0), (0.0, 1.0, 1.0)],
    ),
    "wald": (
        lambda m, s: stats.invgauss(m / s, scale=s),
        [(1.0, 1.0), TOGETHER, (2.0, 3.0), (50.0, 0.1), (1e-3, 1e3)],
    ),
    "geometric": (stats.geom, [(0.3,), (1.0,), TOGETHER, (0.5,), (1e-9,), (0.999,)]),
    "standard_gamma": (stats.gamma, [(2.5,), TOGETHER, (0.3,), (1.0,), (40.0,)]),
    "gamma": (
        gamma_distribution,
        [(2.5, 2.0), (1e-3, 1.0), (0.1, 1.0), (0.999, 1.0), (1.0, 3.0), (1.001, 1.0),
         (1e6, 1.0), (1e9, 1e-9), TOGETHER, (0.5, 2.0), (2.0, 1e-3), (30.0, 1.0)],
    ),
    "beta": (
        stats.beta,
        [(2.0, 3.0), (0.01, 0.02), (1e-2, 5.0), (1.0, 1.0), (1e5, 2e5), (0.5, 1e6),
         TOGETHER, (0.5, 0.5), (0.3, 2.0), (20.0, 1.5)],
    ),
    "chisquare": (stats.chi2, [(3.0,), (0.01,), (1e6,), TOGETHER, (0.5,), (1.0,), (50.0,)]),
    "f": (
        stats.f,
        [(5.0, 7.0), (0.1, 0.3), (1e6, 3.0), (2.0, 1e6), TOGETHER, (1.0, 1.0), (30.0, 2.0)],
    ),
    "standard_t": (stats.t, [(5.0,), (0.1,), (1e6,), TOGETHER, (0.5,), (1.0,), (30.0,)]),
    "noncentral_chisquare": (
        stats.ncx2,
        [(3.0, 2.0), (0.5, 1.0), (0.1, 30.0), (2.0, 1e4), (1.0, 1e-3),
         TOGETHER, (1.0, 3.0), (0.7, 10.0), (20.0, 0.5)],
    ),
    "noncentral_f": (
        stats.ncf,
        [(5.0, 7.0, 2.0), (0.5, 3.0, 1.0), TOGETHER, (1.0, 4.0, 3.0), (20.0, 1.5, 10.0)],
    ),
    "vonmises": (
        lambda mu, kappa: VonMises(kappa),
        [(0.0, 1.0), (0.0, 0.0), (0.0, 1e-6), (0.0, 0.1), (0.0, 1e3), (0.0, 1e8),
         TOGETHER, (0.0, 0.5), (0.0, 4.0), (0.0, 50.0)],
    ),
    "poisson": (
        poisson_distribution,
        [(4.0,), (1e-3,), (9.99,), (10.0,), (10.01,), (1e3,), (1e9,), (1e15,),
         TOGETHER, (0.5,), (7.5,), (30.0,)],
    ),
    "binomial": (
        stats.binom,
        [(40, 0.4), (1, 0.5), (1, 0.1), (20, 0.5), (100, 0.0999), (100, 0.1001),
         (100, 0.95), (1000, 0.5), (2**40, 1e-9), (2**40, 0.5), (10**6, 1e-6),
         TOGETHER, (10, 0.3), (50, 0.7), (3, 0.99)],
    ),
    "negative_binomial": (
        stats.nbinom,
        [(5, 0.4), (0.5, 0.1), (1, 0.999), (1e6, 0.5), (10, 1e-6),
         TOGETHER, (2.5, 0.6), (20, 0.2), (0.1, 0.5)],
    ),
    "hypergeometric": (
        lambda good, bad, sample: stats.hypergeom(good + bad, good, sample),
        [(30, 50, 20), (1, 1, 1), (5, 100, 9), (5, 100, 11), (100, 5, 104), (50, 50, 50),
         (10**6, 10**6, 1000), (1000, 10**6, 10**5), (2 * 10**8, 3 * 10**8, 10**5),
         TOGETHER, (10, 20, 5), (500, 300, 200), (15, 3, 17)],
    ),
    "logseries": (
        LogSeries,
        [(0.7,), (1e-3,), (0.999999,), TOGETHER, (0.3,), (0.9,), (0.99,)],
    ),
    "zipf": (Zeta, [(2.5,), (1.01,), (20.0,), TOGETHER, (1.2,), (2.0,), (4.0,)]),
}  # fmt: skip


@dataclass(frozen=True)
class View:
    """Numbers made of what was drawn, and their distribution; ``of`` takes a piece."""

    name: str
    of: Callable[[Numbers], Numbers]
    distribution: Callable[[], Any]


@dataclass(frozen=True)
class Draw:
    """One call with so many draws along the first axis, and the views that are tested.

    ``width`` numbers make a draw; ``main`` tells the main parameters from the edges. ``vectors``
    are drawn piece by piece in calls of their own: a slice of theirs may compute all of a sum.
    """

    method: str
    name: str
    call: Callable[[Any, int], Any]
    views: tuple[View, ...]
    width: int = 1
    main: bool = False
    vectors: bool = False


def described(method: str, /, *parameters: Any, **options: Any) -> str:
    shown = [str(p.tolist() if isinstance(p, np.ndarray) else p) for p in parameters]
    return f"{method}({', '.join([*shown, *(f'{k}={v}' for k, v in options.items())])})"


def itself(values: Numbers) -> Numbers:
    return values


def column(k: int) -> Callable[[Numbers], Numbers]:
    return lambda values: values[:, k]


def single(
    method: str, parameters: Parameters, distribution: Callable[..., Any], main: bool
) -> Draw:
    def call(rng: Any, count: int) -> Any:
        return getattr(rng, method)(*parameters, size=count)

    view = View("", itself, lambda: distribution(*parameters))
    return Draw(method, described(method, *parameters), call, (view,), 1, main)


def together(method: str, rows: list[Parameters], distribution: Callable[..., Any]) -> Draw:
    arrays = [np.array(each) for each in zip(*rows, strict=True)]

    def call(rng: Any, count: int) -> Any:
        return getattr(rng, method)(*arrays, size=(count, len(rows)))

    views = tuple(
        View(described(method, *row), column(k), lambda row=row: distribution(*row))  # type: ignore[misc]
        for k, row in enumerate(rows)
    )
    return Draw(method, described(method, *arrays), call, views, len(rows))


def of_one_number() -> Iterator[Draw]:
    for method, (distribution, entries) in METHODS.items():
        marks = entries.index(TOGETHER) if TOGETHER in entries else len(entries)
        for k, parameters in enumerate(entries[:marks]):
            assert not isinstance(parameters, str)
            yield single(method, parameters, distribution, k == 0)
        if rows := [row for row in entries[marks + 1 :] if not isinstance(row, str)]:
            yield together(method, rows, distribution)


def call_of(method: str, /, *parameters: Any, **options: Any) -> Callable[[Any, int], Any]:
    return lambda rng, count: getattr(rng, method)(*parameters, size=count, **options)


def single_precision() -> Iterator[Draw]:
    """float32, as integers where its numbers are multiples of 2**-24."""
    for method, parameters, of, distribution in (
        ("random", (), lambda x: x * 2.0**24, lambda: stats.randint(0, 2**24)),
        ("standard_normal", (), itself, stats.norm),
        ("standard_exponential", (), itself, stats.expon),
        ("standard_gamma", (0.3,), itself, lambda: stats.gamma(0.3)),
        ("standard_gamma", (2.5,), itself, lambda: stats.gamma(2.5)),
    ):
        name = described(method, *parameters, dtype="float32")
        call = call_of(method, *parameters, dtype="float32")
        yield Draw(method, name, call, (View("", of, distribution),))  # type: ignore[arg-type]


def around_the_circle() -> Draw:
    def of(values: Numbers) -> Numbers:
        return np.remainder(values - 2.5 + np.pi, 2 * np.pi) - np.pi

    view = View("less 2.5, turned into [-pi, pi)", of, lambda: VonMises(1.0))
    return Draw("vonmises", "vonmises(2.5, 1.0)", call_of("vonmises", 2.5, 1.0), (view,))


def choices() -> Draw:
    p = [0.1, 0.0, 0.2, 1e-4, 0.6999]
    view = View("", itself, lambda: weighted(p))
    return Draw("choice", described("choice", 5, p=p), call_of("choice", 5, p=p), (view,), 1, True)


def dirichlets() -> Iterator[Draw]:
    for alpha in ([0.5, 2.0, 7.0], [0.1, 0.1, 0.2], [1e4, 1.0, 30.0]):
        total, (a, b, _) = sum(alpha), alpha
        views = [
            View(f"component {k}", column(k), lambda c=c, t=total: stats.beta(c, t - c))
            for k, c in enumerate(alpha)
        ]

        def part(x: Numbers) -> Numbers:
            with np.errstate(invalid="ignore"):
                return x[:, 0] / (x[:, 0] + x[:, 1])

        if min(alpha) >= 0.5:
            views.append(View("x0 / (x0 + x1)", part, lambda a=a, b=b: stats.beta(a, b)))
        yield Draw("dirichlet", described("dirichlet", alpha), call_of("dirichlet", alpha),
                   tuple(views), 3, alpha[0] == 0.5, True)  # fmt: skip


def multinomials() -> Iterator[Draw]:
    p = [0.2, 0.3, 0.5]
    places = [(i, j) for i in range(5) for j in range(5)]
    joint = [stats.multinomial.pmf([i, j, 4 - i - j], 4, p) if i + j <= 4 else 0 for i, j in places]
    views = (View("jointly", lambda x: x[:, 0] * 5 + x[:, 1], lambda: weighted(joint)),)
    yield Draw("multinomial", "multinomial(4, [0.2, 0.3, 0.5])", call_of("multinomial", 4, p),
               views, 3, True, True)  # fmt: skip
    for n, q in ((1000, [0.1, 0.001, 0.899]), (10**9, [0.5, 0.25, 0.25])):
        marginals = tuple(
            View(f"count {k}", column(k), lambda n=n, c=c: stats.binom(n, c))
            for k, c in enumerate(q)
        )
        yield Draw("multinomial", described("multinomial", n, q), call_of("multinomial", n, q),
                   marginals, 3, False, True)  # fmt: skip


def vectors() -> Draw:
    mean, cov = [1.0, -2.0], [[2.0, 0.6], [0.6, 0.5]]
    inverse = np.linalg.inv(np.linalg.cholesky(np.array(cov)))

    def white(x: Numbers) -> Numbers:
        return (x - mean) @ inverse.T

    def angle(x: Numbers) -> Numbers:
        z = white(x)
        return np.arctan2(z[:, 1], z[:, 0])

    views = (
        View("first component", column(0), lambda: stats.norm(1.0, math.sqrt(2.0))),
        View("second component", column(1), lambda: stats.norm(-2.0, math.sqrt(0.5))),
        View("second, whitened", lambda x: white(x)[:, 1], stats.norm),
        View("angle, whitened", angle, lambda: stats.uniform(-math.pi, 2 * math.pi)),
    )
    call = call_of("multivariate_normal", mean, cov)
    name = described("multivariate_normal", mean, cov)
    return Draw("multivariate_normal", name, call, views, 2, True, True)


def urns() -> Iterator[Draw]:
    for method in ("marginals", "count"):
        for colors, sample in (([3, 4, 5], 6), ([100, 1000, 10], 500)):
            total = sum(colors)
            views = [
                View(
                    f"colour {k}",
                    column(k),
                    lambda c=c, t=total, s=sample: stats.hypergeom(t, c, s),
                )
                for k, c in enumerate(colors)
            ]
            if total == 12:
                places = [(i, j) for i in range(4) for j in range(5)]
                ways = [
                    math.comb(3, i)
                    * math.comb(4, j)
                    * (math.comb(5, 6 - i - j) if i + j <= 6 else 0)
                    for i, j in places
                ]
                views.append(
                    View("jointly", lambda x: x[:, 0] * 5 + x[:, 1], lambda w=ways: weighted(w))
                )
            call = call_of("multivariate_hypergeometric", colors, sample, method=method)
            name = described("multivariate_hypergeometric", colors, sample, method=method)
            main = total == 12 and method == "marginals"
            yield Draw("multivariate_hypergeometric", name, call, tuple(views), 3, main, True)


def table() -> list[Draw]:
    """Every call that is tested."""
    return [
        *of_one_number(), *single_precision(), around_the_circle(), choices(), *dirichlets(),
        *multinomials(), vectors(), *urns(),
    ]  # fmt: skip
