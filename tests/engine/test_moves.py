"""What is only moved: by NumPy's copies, and where it is much by a kernel that passes the cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import speedcube as sc
from speedcube.engine import compute as engine
from speedcube.engine import cpu
from speedcube.engine.pieces import moves

DTYPES: Final = ("float64", "float32", "float16", "uint8", "bool", "int64")
CALLS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "insert": lambda m, x: m.insert(x, 3, 0, axis=0),
    "delete": lambda m, x: m.delete(x, 3, axis=1),
    "pad": lambda m, x: m.pad(x, 2),
    "concatenate": lambda m, x: m.concatenate([x[::-1], x[::2]]),
    "turned": lambda m, x: m.concatenate([x.T, x.T], axis=1),
    "repeat": lambda m, x: m.repeat(x, 2, axis=1),
}


@pytest.fixture
def stores(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What kernels stored."""
    found: list[Any] = []
    run = cpu.run_store

    def counted(*args: Any) -> None:
        found.append(args[2])
        run(*args)

    monkeypatch.setattr(cpu, "run_store", counted)
    return found


def odd(dtype: str) -> np.ndarray:
    """Elements of all bits, signaling NaNs among them."""
    size = np.dtype(dtype).itemsize
    bits = np.random.default_rng(5).integers(0, 2**63, (60, 70), np.uint64).astype(f"u{size}")
    if dtype == "bool":
        bits &= np.uint8(1)
    if np.dtype(dtype).kind == "f":
        info = np.finfo(dtype)
        bits[7, :2] = np.array([np.inf, -np.inf], dtype).view(bits.dtype) + bits.dtype.type(1)
        assert np.isnan(bits.view(info.dtype)[7, :2]).all()
    return bits.view(dtype)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_much_is_stored_by_kernels_with_the_same_bits(
    name: str, dtype: str, stores: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Long rows are; what is repeated or turned is left to NumPy."""
    x = odd(dtype)
    monkeypatch.setattr(moves, "LONG_ROW", x.itemsize * 30)
    wanted = CALLS[name](np, x)
    for far, by_kernels in ((1 << 24, False), (x.nbytes // 4, name not in ("turned", "repeat"))):
        monkeypatch.setattr(moves, "FAR", far)
        for rung in ("core", "cores:2"):
            stores.clear()
            made = CALLS[name](sc, sc.asarray(x)).compute(on=rung)
            assert made.tobytes() == wanted.tobytes()
            assert any(one.size > 1000 for one in stores) is by_kernels  # not the row of zeros


@pytest.mark.parametrize("name", CALLS)
def test_much_in_short_rows_is_left_to_numpy(
    name: str, stores: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines that share what goes past the cache wait for it; all of an array is one row."""
    x = odd("float64")
    monkeypatch.setattr(moves, "FAR", x.nbytes // 4)
    monkeypatch.setattr(moves, "LONG_ROW", x.itemsize * 80)
    made = CALLS[name](sc, sc.asarray(x)).compute(on="core")
    assert made.tobytes() == CALLS[name](np, x).tobytes()
    whole = name in ("insert", "concatenate")
    assert any(one.size > 1000 for one in stores) is whole


AT_ONCE: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "concatenate": lambda m, x: m.concatenate([x, x[::-1]], axis=1),
    "stack": lambda m, x: m.stack([x, x.T], axis=-1),
    "roll": lambda m, x: m.roll(x, (3, -4), axis=(0, 1)),
    "pad": lambda m, x: m.pad(x, ((1, 2), (0, 3))),
    "edge": lambda m, x: m.pad(x, 2, mode="edge"),
    "flip": lambda m, x: m.flip(x, 1),
    "both": lambda m, x: m.flip(x),
    "turned": lambda m, x: m.rot90(x),
    "repeat": lambda m, x: m.repeat(x, 3, axis=1),
    "tile": lambda m, x: m.tile(x, (2, 3)),
    "ravel": lambda m, x: m.ravel(x[::2].T),
    "a part": lambda m, x: m.resize(x[:, :3], (2, 2)),
    "columns": lambda m, x: x[:, ::-2],
}


@pytest.mark.parametrize("size", [9, 300])
@pytest.mark.parametrize("dtype", ["float64", "float16", "int8", "bool", "complex64", "complex128"])
@pytest.mark.parametrize("name", AT_ONCE)
def test_what_is_moved_in_memory_is_not_planned(
    name: str, dtype: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Complex numbers are moved as what they are: both parts keep all of their bits."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(size, size, 2)).view(complex)[..., 0]
    x.reshape(-1)[:3] = complex(-0.0, np.nan), complex(np.inf, -0.0), complex(-0.0, -0.0)
    with np.errstate(invalid="ignore"):
        x = (x if dtype.startswith("complex") else x.real).astype(dtype)
    monkeypatch.setattr(engine, "planned_on", None)
    for array in (x, np.asfortranarray(x)):
        wanted = AT_ONCE[name](np, array)
        for rung in ("core", "cores:2"):
            made = AT_ONCE[name](sc, sc.asarray(array)).compute(on=rung)
            assert made.dtype == wanted.dtype
            assert made.shape == wanted.shape
            assert made.tobytes() == wanted.tobytes()


def test_rows_of_pieces_keep_the_order_of_what_they_are_made_of() -> None:
    x = np.asfortranarray(np.random.default_rng(3).normal(size=(40, 30)) + 1j)
    for name in ("concatenate", "roll", "pad"):
        wanted = AT_ONCE[name](np, x if name != "concatenate" else x[::1])
        made = AT_ONCE[name](sc, sc.asarray(x)).compute(on="core")
        assert made.tobytes() == wanted.tobytes()
        assert made.strides == wanted.strides
