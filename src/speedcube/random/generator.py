"""`Generator`: what NumPy's draws, lazily; `default_rng` makes one from a seed."""

from __future__ import annotations

import copy
from typing import Any, overload

from ..errors import ParameterTypeError
from ..interop.cupy_backend import BitGenerator, CupyGenerator
from . import (
    choices,
    continuous,
    discrete,
    formulas,
    gammas,
    permutations,
    ranges,
    sources,
    vectors,
)
from .documents import described
from .seeds import StreamV1, seed_sequence


class Generator:
    """Draws arrays. ``repr`` shows the seed, so that a run can be repeated.

    Parameters are numbers, or arrays that broadcast with each other to ``size``, which is then
    their shape where it is not given. `ParameterError` where one lies outside its domain.
    """

    def __init__(self, bit_generator: StreamV1, gpu: bool = False) -> None:
        if not isinstance(bit_generator, StreamV1):
            seed_sequence(bit_generator)  # says what is wrong with one of NumPy's
            raise ParameterTypeError(
                f"Generator takes a bit generator of its own; call default_rng({bit_generator!r})"
            )
        self.bit_generator = bit_generator
        self._gpu = gpu

    @property
    def entropy(self) -> tuple[int, ...]:
        """The integers of the seed."""
        return self.bit_generator.entropy

    @property
    def spawn_key(self) -> tuple[int, ...]:
        """Which child this is of whose child: () of a seed itself."""
        return self.bit_generator.spawn_key

    def __repr__(self) -> str:
        return f"default_rng({self.bit_generator.seed_text()})"

    def __copy__(self) -> Generator:
        return copy.deepcopy(self)  # a copy goes on by itself

    def spawn(self, n_children: int) -> list[Generator]:
        """``n_children`` independent generators; different ones at each call."""
        return [type(self)(child, self._gpu) for child in self.bit_generator.spawn(n_children)]

    # The other methods: a function each, in the module of its family. A function in a class body
    # is a method; `Draws` is what they know of a generator.

    random = sources.random
    uniform = sources.uniform
    normal = sources.normal
    standard_normal = sources.standard_normal
    exponential = sources.exponential
    standard_exponential = sources.standard_exponential
    bytes = sources.bytes

    integers = ranges.integers

    lognormal = formulas.lognormal
    laplace = formulas.laplace
    logistic = formulas.logistic
    gumbel = formulas.gumbel
    standard_cauchy = formulas.standard_cauchy
    weibull = formulas.weibull
    pareto = formulas.pareto
    power = formulas.power
    rayleigh = formulas.rayleigh
    triangular = formulas.triangular
    wald = formulas.wald
    geometric = formulas.geometric

    standard_gamma = gammas.standard_gamma
    gamma = gammas.gamma
    beta = gammas.beta
    chisquare = gammas.chisquare

    noncentral_chisquare = continuous.noncentral_chisquare
    f = continuous.f
    noncentral_f = continuous.noncentral_f
    standard_t = continuous.standard_t
    vonmises = continuous.vonmises

    poisson = discrete.poisson
    binomial = discrete.binomial
    negative_binomial = discrete.negative_binomial
    hypergeometric = discrete.hypergeometric
    zipf = discrete.zipf
    logseries = discrete.logseries

    permutation = permutations.permutation
    permuted = permutations.permuted
    shuffle = permutations.shuffle
    choice = choices.choice

    dirichlet = vectors.dirichlet
    multinomial = vectors.multinomial
    multivariate_hypergeometric = vectors.multivariate_hypergeometric
    multivariate_normal = vectors.multivariate_normal


for _name, _method in vars(Generator).items():
    if _name[0] != "_" and callable(_method):
        _method.__doc__ = described(_name, _method)


@overload
def default_rng(seed: BitGenerator) -> CupyGenerator: ...
@overload
def default_rng(seed: Any = None) -> Generator: ...
def default_rng(seed: Any = None) -> Any:
    """A `Generator`; without a seed one is drawn from the system and shown by ``repr``.

    (Plain Dask code on a GPU comes here too, with its bit generator: see interop/cupy_backend.py.)

    Parameters
    ----------
    seed : int, sequence of ints, SeedSequence, RandomState or Generator, optional
        Integers are 0 or more; a Generator is given back, a RandomState's stream shared.

    Returns
    -------
    Generator
        The same numbers for the same seed, on every machine.

    Raises
    ------
    ParameterError
        For a seed below 0; it is a ValueError.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.random.default_rng(7).random(2).compute()
    array([0.25573559, 0.03816162])
    """
    if isinstance(seed, Generator):
        return seed
    if isinstance(seed, BitGenerator):
        return seed.generator()
    stream = getattr(seed, "bit_generator", seed)  # of a RandomState: both go on together
    return Generator(stream if isinstance(stream, StreamV1) else StreamV1(seed))
