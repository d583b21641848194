"""Samplers as IR: a value from a position, the key of a call and the distribution's shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ...builder import Value
from . import continuous, gamma, inversion, permute, rejection

# One rule for each row of `ops.SAMPLERS`.
SAMPLER_RULES: Final[dict[str, Callable[..., Value]]] = {
    "gamma_tried": gamma.gamma,
    "poisson_counted": inversion.poisson,
    "binomial_counted": inversion.binomial,
    "hypergeometric_counted": inversion.hypergeometric,
    "poisson_tried": rejection.poisson,
    "binomial_tried": rejection.binomial,
    "hypergeometric_tried": rejection.hypergeometric,
    "log_binomial": rejection.log_binomial,
    "factorial_rest": rejection.delta,
    "von_mises_tried": continuous.von_mises,
    "zeta_tried": continuous.zeta,
    "permuted": permute.forward,
    "permuted_back": permute.back,
}
