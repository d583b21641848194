"""`Array`'s methods that NumPy's arrays have in more forms than one."""

from __future__ import annotations

import numpy as np
import pytest

import speedcube as sc
from speedcube.errors import SpeedcubeError

VALUES = np.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize("args", [(5,), (-1,), (1, 2), ((1, 2),), (-1, -1), ((1,),)])
def test_item_takes_places(args: tuple[object, ...]) -> None:
    item = sc.asarray(VALUES).item(*args)
    assert type(item) is float
    assert item == VALUES.item(*args)  # type: ignore[call-overload]


@pytest.mark.parametrize("args", [(), (12,), (0, 4), (0, 0, 0), ("a",), (1.5,)])
def test_item_refuses_what_numpy_refuses(args: tuple[object, ...]) -> None:
    with pytest.raises(Exception) as numpys:  # noqa: PT011
        VALUES.item(*args)  # type: ignore[call-overload]
    kinds = (numpys.type, TypeError) if not args else (numpys.type,)
    with pytest.raises(kinds) as ours:
        sc.asarray(VALUES).item(*args)
    assert not args or isinstance(ours.value, SpeedcubeError)


def test_compress_and_dot_fill_out() -> None:
    x, chosen, product = sc.arange(4), sc.zeros(2, dtype=int), sc.zeros((), dtype=int)
    assert x.compress([1, 0, 0, 1], out=chosen) is chosen
    assert x.dot(x, product) is product
    assert chosen.tolist() == [0, 3]
    assert product.item() == 14
