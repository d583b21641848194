"""Distributions of floats, what each takes and gives: a block for each, read by `documents`.

A parameter's line is its name, its kind where that is not a float or an array of them, and what it
is; ``=`` what is returned where that is not an array of floats; ``>`` the example, and its value.
"""

from typing import Final

TEXT: Final = """
random
  > rng.random(3).compute()
  array([0.25573559, 0.03816162, 0.61140021])

uniform
  low: Where the interval begins.
  high: Where it ends; not below `low`.
  > rng.uniform(-1.0, 1.0, 3).compute()
  array([-0.48852882, -0.92367677,  0.22280042])

normal
  loc: The mean.
  scale: The standard deviation, 0 or more.
  > rng.normal(10.0, [0.0, 1.0, 2.0]).compute()
  array([10.        , 10.43390453, 11.33693775])

standard_normal
  > rng.standard_normal((2, 2)).compute()
  array([[0.0760946 , 0.43390453],
         [0.66846888, 1.39523302]])

exponential
  scale: The mean, 0 or more.
  > rng.exponential(2.0, 3).compute()
  array([2.72722242, 6.53185022, 0.98400705])

standard_exponential
  method - {"zig", "inv"}: NumPy's; it changes nothing here.
  > rng.standard_exponential(3).compute()
  array([1.36361121, 3.26592511, 0.49200353])

lognormal
  mean: The mean of the logarithm.
  sigma: The standard deviation of the logarithm, 0 or more.
  > rng.lognormal(0.0, 0.5, 3).compute()
  array([1.03878036, 1.2422848 , 1.39687059])

laplace
  loc: The mean.
  scale: The mean distance from it, 0 or more.
  > rng.laplace(0.0, 2.0, 3).compute()
  array([-1.34092806, -5.14555586,  0.5041162 ])

logistic
  loc: The mean.
  scale: The width, 0 or more.
  > rng.logistic(0.0, 2.0, 3).compute()
  array([-2.13650458, -6.45403254,  0.90640351])

gumbel
  loc: The mode.
  scale: The width, 0 or more.
  > rng.gumbel(0.0, 2.0, 3).compute()
  array([-0.62027297, -2.36708613,  1.41853879])

standard_cauchy
  > rng.standard_cauchy(3).compute()
  array([-0.96459632, -8.30109992,  0.36499912])

weibull
  a: The shape parameter, 0 or more.
  > rng.weibull(2.0, 3).compute()
  array([1.16773765, 1.80718707, 0.70142963])

pareto
  a: The shape parameter, above 0.
  > rng.pareto(3.0, 3).compute()
  array([0.5754439 , 1.97023687, 0.1782157 ])

power
  a: The exponent of the distribution function, above 0.
  > rng.power(2.0, 3).compute()
  array([0.50570307, 0.19534998, 0.78192085])

rayleigh
  scale: The mode, 0 or more.
  > rng.rayleigh(2.0, 3).compute()
  array([3.30286084, 5.11149693, 1.98394259])

triangular
  left: Where it begins.
  mode: Where it peaks, from `left` to `right`.
  right: Where it ends, above `left`.
  > rng.triangular(0.0, 1.0, 3.0, 3).compute()
  array([0.87590341, 0.33835609, 1.47304265])

wald
  mean: The mean, above 0.
  scale: The shape parameter, above 0.
  > rng.wald(1.0, 2.0, 3).compute()
  array([0.94762112, 0.73666211, 0.6260121 ])

standard_gamma
  shape: The shape parameter, 0 or more.
  > rng.standard_gamma(2.0, 3).compute()
  array([1.76684714, 2.29193638, 2.68717599])

gamma
  shape: The shape parameter, 0 or more.
  scale: The scale, 0 or more.
  > rng.gamma(2.0, 0.5, 3).compute()
  array([0.88342357, 1.14596819, 1.34358799])

beta
  a: The first shape parameter, above 0.
  b: The second, above 0.
  > rng.beta(2.0, 3.0, 3).compute()
  array([0.64344939, 0.77731489, 0.59880153])

chisquare
  df: Degrees of freedom, above 0.
  > rng.chisquare(3.0, 3).compute()
  array([2.50160692, 3.40179209, 4.0957766 ])

noncentral_chisquare
  df: Degrees of freedom, above 0.
  nonc: Non-centrality, 0 or more.
  > rng.noncentral_chisquare(3.0, 1.0, 3).compute()
  array([4.30365948, 5.40404153, 4.40434755])

f
  dfnum: Degrees of freedom of the numerator, above 0.
  dfden: Those of the denominator, above 0.
  > rng.f(3.0, 10.0, 3).compute()
  array([1.84442027, 3.28412589, 1.9589826 ])

noncentral_f
  dfnum: Degrees of freedom of the numerator, above 0.
  dfden: Those of the denominator, above 0.
  nonc: Non-centrality of the numerator, 0 or more.
  > rng.noncentral_f(3.0, 10.0, 1.0, 3).compute()
  array([0.90287452, 1.24967483, 1.44499963])

standard_t
  df: Degrees of freedom, above 0.
  > rng.standard_t(5.0, 3).compute()
  array([0.087562  , 0.55835938, 0.87233097])

vonmises
  mu: The mode, in radians.
  kappa: The concentration, 0 or more.
  > rng.vonmises(0.0, 4.0, 3).compute()
  array([-0.51996171,  0.18167158,  0.68524278])
"""
