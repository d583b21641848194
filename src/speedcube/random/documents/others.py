"""Integers, vectors, orders and states, written as in `reals`: what each method takes and gives."""

from typing import Final

TEXT: Final = """
bytes
  length - int: How many.
  = bytes: Computed at once.
  > rng.bytes(4)
  b'\x9a\x89>4'

integers
  low - int or array_like of ints: The least, or the bound above where `high` is left out.
  high - int or array_like of ints, optional: The bound above, not drawn itself.
  dtype - dtype: One of integers, or bool.
  endpoint - bool: Whether `high` is drawn, too.
  = Array: Of `dtype`, of the shape `size`: lazy.
  > rng.integers(1, 7, 5).compute()
  array([1, 2, 1, 1, 2])

geometric
  p: The probability of success, in (0, 1].
  = Array: int64, of the shape `size`: lazy.
  > rng.geometric(0.25, 5).compute()
  array([ 5, 12,  2,  5,  9])

poisson
  lam: The mean, 0 or more.
  = Array: int64, of the shape `size`: lazy.
  > rng.poisson(4.0, 5).compute()
  array([3, 1, 4, 3, 2])

binomial
  n - int or array_like of ints: Trials, 0 or more.
  p: The probability of success, in [0, 1].
  = Array: int64, of the shape `size`: lazy.
  > rng.binomial(10, 0.3, 5).compute()
  array([2, 1, 3, 2, 1])

negative_binomial
  n: Successes, above 0.
  p: The probability of success, in (0, 1].
  = Array: int64, of the shape `size`: lazy.
  > rng.negative_binomial(3, 0.5, 5).compute()
  array([ 1,  2,  3,  5, 10])

hypergeometric
  ngood - int or array_like of ints: Good things.
  nbad - int or array_like of ints: Bad things.
  nsample - int or array_like of ints: Things taken, at most all.
  = Array: int64, of the shape `size`: lazy.
  > rng.hypergeometric(15, 15, 10, 5).compute()
  array([4, 3, 5, 4, 3])

zipf
  a: The exponent, above 1.
  = Array: int64, of the shape `size`: lazy.
  > rng.zipf(2.0, 5).compute()
  array([ 1,  4,  1,  3, 10])

logseries
  p: The parameter, in [0, 1).
  = Array: int64, of the shape `size`: lazy.
  > rng.logseries(0.6, 5).compute()
  array([3, 6, 1, 3, 1])

permutation
  x - int or array_like: How many numbers, or what is put in another order.
  axis - int: Along which axis.
  = Array: int64 of a range, else of the dtype and shape of `x`: lazy.
  > rng.permutation(5).compute()
  array([3, 2, 0, 1, 4])

permuted
  x - array_like: At least one axis.
  axis - int, optional: Along which axis; all elements change places by default.
  out - numpy.ndarray, optional: Receives the elements, too.
  = Array: Of the dtype and shape of `x`: lazy.
  > rng.permuted([[1, 2, 3], [4, 5, 6]], axis=1).compute()
  array([[2, 1, 3],
         [4, 6, 5]])

shuffle
  x - Array, numpy.ndarray or list: What changes.
  axis - int: Along which axis.
  = None: Nothing.
  > x = sc.arange(5); rng.shuffle(x); x.compute()
  array([3, 2, 0, 1, 4])

choice
  a - int or array_like: How many numbers, or the things.
  replace - bool: Whether one may come again.
  p - array_like, optional: The probability of each.
  axis - int: Along which axis of `a`.
  shuffle - bool: NumPy's; the order is random whatever it says.
  = Array: int64 of a range, else of the dtype of `a`: lazy.
  > rng.choice([10, 20, 30], 5, p=[0.2, 0.3, 0.5]).compute()
  array([30, 30, 20, 30, 10])

dirichlet
  alpha - array_like: Shape parameters (k,), 0 or more.
  = Array: float64 (*size, k): lazy.
  > rng.dirichlet([1.0, 2.0, 3.0]).compute()
  array([0.01802935, 0.36265525, 0.6193154 ])

multinomial
  n - int or array_like of ints: Trials.
  pvals - array_like: Probabilities (..., k), adding up to 1.
  = Array: int64 (*size, k): lazy.
  > rng.multinomial(10, [0.2, 0.3, 0.5]).compute()
  array([1, 2, 7])

multivariate_hypergeometric
  colors - array_like of ints: How many there are of each, (k,).
  nsample - int: Things taken, at most all.
  method - {"count", "marginals"}: NumPy's; it changes nothing here.
  = Array: int64 (*size, k): lazy.
  > rng.multivariate_hypergeometric([5, 3, 2], 4).compute()
  array([1, 1, 2])

multivariate_normal
  mean - array_like: (k,).
  cov - array_like: (k, k), positive semidefinite.
  check_valid - {"warn", "raise", "ignore"}: What is done where it is not.
  tol - float: By how much it may be missed.
  method - {"svd", "eigh", "cholesky"}: NumPy's; it changes nothing here.
  = Array: float64 (*size, k): lazy.
  > rng.multivariate_normal([0.0, 5.0], [[1.0, 0.5], [0.5, 1.0]]).compute()
  array([0.0760946 , 5.41381964])

spawn
  n_children - int: How many.
  = list of Generator: Independent of each other and of this one.
  > len(rng.spawn(3))
  3

rand
  size - int: The sizes of the axes.
  > rng.rand(2, 2).compute()
  array([[0.25573559, 0.03816162],
         [0.61140021, 0.2714581 ]])

randn
  size - int: The sizes of the axes.
  > rng.randn(2, 2).compute()
  array([[0.0760946 , 0.43390453],
         [0.66846888, 1.39523302]])

random_sample
  > rng.random_sample(3).compute()
  array([0.25573559, 0.03816162, 0.61140021])

ranf
  > rng.ranf(3).compute()
  array([0.25573559, 0.03816162, 0.61140021])

sample
  > rng.sample(3).compute()
  array([0.25573559, 0.03816162, 0.61140021])

randint
  low - int or array_like of ints: The least, or the bound above where `high` is left out.
  high - int or array_like of ints, optional: The bound above, not drawn itself.
  dtype - dtype: One of integers, or bool.
  = Array: Of `dtype`, of the shape `size`: lazy.
  > rng.randint(1, 7, 5).compute()
  array([1, 2, 1, 1, 2])

random_integers
  low - int or array_like of ints: The least, or the largest where `high` is left out.
  high - int or array_like of ints, optional: The largest.
  = Array: int64, of the shape `size`: lazy.
  > rng.random_integers(1, 6, 5).compute()
  array([1, 2, 1, 1, 2])

tomaxint
  = Array: int64, of the shape `size`: lazy.
  > rng.tomaxint(2).compute()
  array([ 589905473133017085, 2580318021247307741])

seed
  seed - int, sequence of ints, SeedSequence or None: As `RandomState` takes it.
  = None: Nothing.
  > rng.seed(7); rng.random(2).compute()
  array([0.25573559, 0.03816162])

get_state
  legacy - bool: NumPy's; it changes nothing here.
  = dict: For `set_state`.
  > sorted(rng.get_state())
  ['bit_generator', 'state']

set_state
  state - dict: What `get_state` gave.
  = None: Nothing.
  > state = rng.get_state(); x = rng.random(); rng.set_state(state); bool(x == rng.random())
  True
"""
