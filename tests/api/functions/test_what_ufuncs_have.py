"""What a function says of itself as NumPy's ufuncs do; and its pickle."""

from __future__ import annotations

import multiprocessing
import pickle
from types import ModuleType

import numpy as np
import pytest

import speedcube as sc

UFUNCS = sorted(
    name
    for name in dir(np)
    if isinstance(getattr(np, name), np.ufunc) and callable(getattr(sc, name, None))
)
TOGETHER = ("matmul", "matvec", "vecdot", "vecmat")  # of whole vectors


@pytest.mark.parametrize("name", [name for name in UFUNCS if name not in TOGETHER])
def test_attributes_are_those_of_numpys(name):
    ours, numpys = getattr(sc, name), getattr(np, name)
    for word in ("nin", "nout", "nargs", "identity", "signature"):
        assert getattr(ours, word) == getattr(numpys, word)
    assert set(ours.types) <= set(numpys.types)
    assert len(ours.types) == ours.ntypes
    assert not any(set(one) & set("OMmgG") for one in ours.types)


@pytest.mark.parametrize("name", ["sqrt", "divmod", "modf", "isnan"])
@pytest.mark.parametrize("method", ["reduce", "accumulate"])
def test_methods_of_two_operands_are_a_value_error_of_others(name, method):
    with pytest.raises(ValueError, match="two operands"):
        getattr(getattr(sc, name), method)(sc.arange(3.0))


def test_dtypes_are_resolved():
    kinds = (np.dtype("int32"), np.dtype("float32"), None)
    assert sc.add.resolve_dtypes(kinds) == np.add.resolve_dtypes(kinds)


@pytest.mark.parametrize("module", [sc, sc.ma, sc.fft, sc.linalg, sc.random, sc.stats])
def test_every_public_function_is_pickled_by_name(module):
    for name in dir(module):
        thing = getattr(module, name)
        if not name.startswith("_") and callable(thing) and not isinstance(thing, ModuleType):
            assert pickle.loads(pickle.dumps(thing)) is thing


def test_another_process_gets_the_function():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(sc.sqrt, [4.0, 9.0])[1].tolist() == 3.0


@pytest.mark.parametrize("casting", ["no", "equiv"])
def test_a_cast_of_lists_and_numbers_is_refused_too(casting):
    for given in [(0, 1), [True], 3, np.int8(4)]:
        with pytest.raises(TypeError):
            np.sqrt(given, casting=casting)
        with pytest.raises(TypeError, match="does not allow"):
            sc.sqrt(given, casting=casting)
    assert sc.add(sc.ones(2, "f4"), 1.5, casting=casting).tolist() == [2.5, 2.5]
