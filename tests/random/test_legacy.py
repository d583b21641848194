"""The legacy interface: names, signatures, values, and the functions of one shared RandomState."""

from __future__ import annotations

import inspect
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import speedcube as sc
from speedcube.errors import MissingError, ParameterError, UnsupportedError

RandomState = sc.random.RandomState

# Kinds of generators that NumPy has beside the one that is here.
OTHERS: Final = {"MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64", "BitGenerator"}


def public(thing: Any) -> set[str]:
    return {name for name in dir(thing) if name[0] != "_"}


def parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    return [
        p.replace(annotation=p.empty)
        for p in inspect.signature(function).parameters.values()
        if p.name not in ("self", "chunks")
    ]


@pytest.fixture(autouse=True)
def shared() -> Iterator[None]:
    """Each test leaves the shared state as it was."""
    state = sc.random.get_state()
    yield
    sc.random.set_state(state)


# Names -------------------------------------------------------------------------------------------


def test_every_name_of_numpy_is_here() -> None:
    ours = public(sc.random.Generator)
    theirs = public(np.random.Generator)
    assert theirs - ours == {"bit_generator"}
    assert hasattr(sc.random.default_rng(0), "bit_generator")
    assert public(np.random.RandomState) <= public(RandomState)
    assert {"ranf", "sample", *ours} - {"entropy", "spawn_key"} <= public(RandomState)


def test_every_function_of_numpy_and_dask_is_here() -> None:
    da = pytest.importorskip("dask.array")
    theirs = {n for n in public(np.random) if n in dir(np.random.mtrand)} | {"ranf", "sample"}
    functions = {n for n in theirs if callable(getattr(np.random, n))}
    functions |= {n for n in public(da.random) if n in public(np.random.RandomState)}
    unknown = {"get_bit_generator", "set_bit_generator"}  # of the process's MT19937
    assert functions - set(sc.random.__all__) == unknown
    assert set(sc.random.__all__) <= public(sc.random)
    for name in sc.random.__all__:
        assert getattr(sc.random, name).__name__ == name
    for name in OTHERS:
        with pytest.raises(MissingError, match=f"no {name}: .* call default_rng"):
            getattr(sc.random, name)
    with pytest.raises(MissingError, match=r"module 'speedcube.random' has no attribute 'norml'"):
        sc.random.norml()
    with pytest.raises(MissingError, match=r"RandomState has no 'norml'; it has .*, normal, "):
        RandomState(0).norml()


def test_signatures_are_numpys() -> None:
    """With ``chunks`` at the end; ``size`` and its neighbours where NumPy has them."""
    kinds = [(np.random.RandomState, RandomState), (np.random, sc.random)]
    for theirs, ours in kinds:
        for name in public(np.random.RandomState):
            if not hasattr(theirs, name) or name in ("rand", "randn"):  # tomaxint: no function
                continue
            own = inspect.signature(getattr(ours, name)).parameters
            assert "chunks" not in own or list(own)[-1] == "chunks", name
            wanted, actual = parameters(getattr(theirs, name)), parameters(getattr(ours, name))
            assert [p.name for p in actual] == [p.name for p in wanted], name
            if name not in ("randint",):  # whose dtype has another name for int64
                assert [p.default for p in actual] == [p.default for p in wanted], name
    for name in ("rand", "randn"):
        axes, chunks = inspect.signature(getattr(sc.random, name)).parameters.values()
        assert (axes.kind, chunks.name) == (axes.VAR_POSITIONAL, "chunks")


def test_signatures_of_generators_are_numpys() -> None:
    for name in public(np.random.Generator) - {"bit_generator"}:
        wanted = [p.name for p in parameters(getattr(np.random.Generator, name))]
        wanted = [n for n in wanted if n != "out"]
        actual = [p.name for p in parameters(getattr(sc.random.Generator, name))]
        assert [n for n in actual if n in wanted] == wanted, name
        assert set(actual) - set(wanted) <= {"dtype", "out"}, name


def test_functions_are_functions_of_the_module() -> None:
    for name in ("normal", "rand", "seed", "randint", "choice"):
        function = getattr(sc.random, name)
        assert inspect.isfunction(function)
        assert (function.__module__, function.__qualname__) == ("speedcube.random", name)
        own = getattr(RandomState, name).__doc__
        assert function.__doc__.partition("Examples")[0] == own.partition("Examples")[0]
        assert "self" not in inspect.signature(function).parameters
        assert pickle.loads(pickle.dumps(function)) is function
    method = RandomState.normal
    assert (method.__module__, method.__qualname__) == (
        *("speedcube.random.legacy", "RandomState.normal"),
    )


PROGRAM = "\n".join(
    [
        "import speedcube as sc",
        "from speedcube.random import normal, Generator",
        "x: sc.Array = sc.random.normal(0, 1, (3, 3), chunks=3)",
        "y: sc.Array = sc.random.RandomState(7).normal(0, 1, (3, 3), 3)",
        "g: Generator = sc.random.default_rng(sc.random.SeedSequence(7))",
        "z: sc.Array = g.normal()",
        *(f"sc.random.{name}" for name in sc.random.__all__),
        *(f"sc.random.{name}(3)" for name in ("seed", "permutation", "poisson", "beta", "gamma")),
    ]
)


def test_programs_type_check(tmp_path: Path) -> None:
    """With the project's settings and cache: what `make lint` has checked is not checked again."""
    pytest.importorskip("mypy")
    page = tmp_path / "program.py"
    page.write_text(PROGRAM)
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", str(page)],
        cwd=root,
        env=os.environ | {"MYPYPATH": str(root / "src")},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


# Values ------------------------------------------------------------------------------------------

# What a legacy call draws, and the same drawn by a Generator of that seed.
SAME: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "rand": (lambda r: r.rand(2, 3), lambda g: g.random((2, 3))),
    "rand of no axes": (lambda r: r.rand(), lambda g: g.random()),
    "randn": (lambda r: r.randn(2, 3, chunks=2), lambda g: g.standard_normal((2, 3))),
    "random": (lambda r: r.random((2, 3)), lambda g: g.random((2, 3))),
    "random_sample": (lambda r: r.random_sample(5), lambda g: g.random(5)),
    "ranf": (lambda r: r.ranf(5), lambda g: g.random(5)),
    "sample": (lambda r: r.sample(5, chunks=2), lambda g: g.random(5)),
    "normal with chunks": (lambda r: r.normal(3, 2, 5, 2), lambda g: g.normal(3, 2, 5)),
    "normal": (lambda r: r.normal(scale=2, size=5), lambda g: g.normal(0, 2, 5)),
    "exponential": (lambda r: r.exponential(2, 5), lambda g: g.exponential(2, 5)),
    "uniform": (lambda r: r.uniform(1, [2, 3]), lambda g: g.uniform(1, [2, 3])),
    "randint": (lambda r: r.randint(-3, 9, 50), lambda g: g.integers(-3, 9, 50)),
    "randint to": (lambda r: r.randint(9, size=50), lambda g: g.integers(9, size=50)),
    "randint uint8": (
        lambda r: r.randint(256, size=9, dtype=np.uint8),
        lambda g: g.integers(256, size=9, dtype="uint8"),
    ),
    "random_integers": (lambda r: r.random_integers(-2, 2, 50), lambda g: g.integers(-2, 3, 50)),
    "random_integers to": (lambda r: r.random_integers(6, size=9), lambda g: g.integers(1, 7, 9)),
    "tomaxint": (lambda r: r.tomaxint(9), lambda g: g.integers(0, 2**63 - 1, 9, endpoint=True)),
    "choice": (lambda r: r.choice(9, 5), lambda g: g.choice(9, 5)),
    "bytes": (lambda r: r.bytes(9), lambda g: g.bytes(9)),
    "lognormal": (lambda r: r.lognormal(1, 2, 5), lambda g: g.lognormal(1, 2, 5)),
    "integers": (lambda r: r.integers(9, size=5), lambda g: g.integers(9, size=5)),
}


def values(drawn: Any) -> Any:
    return drawn.compute() if isinstance(drawn, sc.Array) else drawn


@pytest.mark.parametrize("name", SAME)
def test_legacy_calls_draw_what_generators_do(name: str) -> None:
    legacy, modern = SAME[name]
    state, generator = RandomState(7), sc.random.default_rng(7)
    sc.random.seed(7)
    for _ in range(2):
        wanted = values(modern(generator))
        for actual in (values(legacy(state)), values(legacy(sc.random))):
            assert type(actual) is type(wanted)
            np.testing.assert_array_equal(actual, wanted, strict=not isinstance(wanted, bytes))


def test_ranges_of_integers() -> None:
    state = RandomState(7)
    assert set(state.randint(2, 5, 200).compute().tolist()) == {2, 3, 4}
    assert set(state.random_integers(2, 5, 200).compute().tolist()) == {2, 3, 4, 5}
    assert set(state.random_integers(2, size=200).compute().tolist()) == {1, 2}
    large = state.tomaxint(1000).compute()
    assert large.dtype == np.int64
    assert large.min() >= 0
    assert large.max() > 0.99 * 2**63


def test_what_came_later_is_refused() -> None:
    for ask, words in [
        (lambda: RandomState(1).normal(dtype="f4"), "normal: got an unexpected keyword argument"),
        (
            lambda: sc.random.random(3, 4, 5),
            "random: too many positional arguments; it takes (size",
        ),
        (lambda: sc.random.weibull(), "weibull: missing a required argument: 'a'; it takes (a, "),
    ]:
        with pytest.raises(UnsupportedError, match=re.escape(words)):
            ask()


# State -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("owner", [RandomState(7), sc.random], ids=["RandomState", "module"])
def test_seed_and_state(owner: Any) -> None:
    owner.seed(7)
    first = owner.normal(size=3).compute()
    for legacy in (True, False):
        state = owner.get_state(legacy)
        then = owner.rand(3).compute()
        owner.set_state(state)
        assert (owner.rand(3).compute() == then).all()
    owner.seed(7)
    assert (owner.normal(size=3).compute() == first).all()
    owner.seed([7, 8])
    assert owner.get_state()["state"]["entropy"] == (7, 8)
    owner.seed()
    assert owner.get_state()["state"]["entropy"][0] >= 2**64
    for wrong in (3, ("MT19937", [1, 2], 3)):
        with pytest.raises(ParameterError, match="a state is what get_state"):
            owner.set_state(wrong)


def test_a_process_seeds_its_functions_itself() -> None:
    program = "import speedcube as sc; print(sc.random.get_state()['state']['entropy'])"
    runs = [subprocess.run([sys.executable, "-c", program], capture_output=True) for _ in "12"]
    assert runs[0].stdout != runs[1].stdout
    assert len(runs[0].stdout) > 20


def test_threads_share_the_functions() -> None:
    sc.random.seed(7)
    with ThreadPoolExecutor(8) as pool:
        keys = list(pool.map(lambda _: sc.random.rand(3)._expr.source.key, range(400)))
    sc.random.seed(7)
    assert set(keys) == {sc.random.rand(3)._expr.source.key for _ in range(400)}
    assert len(set(keys)) == 400


def test_the_published_loop_with_functions() -> None:
    """Dask's module-level names: only the import differs."""
    da = sc
    da.random.seed(1)
    x = da.random.normal(10, 1, size=(200, 200), chunks=(100, 100))
    da.random.seed(1)
    y = da.random.normal(10, 1, (200, 200), (50, 200))
    assert x.sum().compute() == y.sum().compute()
