"""Where arrays lie: ``"cpu"`` and ``"cuda:0"`` are the memories of the rungs."""

from __future__ import annotations

from typing import Any

from ..engine.machine import gpu_count
from ..errors import ParameterError, ParameterTypeError, RungError


def available() -> tuple[str, ...]:
    """The devices of this machine."""
    return ("cpu", *(f"cuda:{k}" for k in range(gpu_count())))


def checked_device(name: str, device: Any) -> bool:
    """Whether ``device``, a keyword of the function ``name``, is a GPU (None: no).

    `ParameterError` (a ValueError) where it is no device, `RungError` where this machine lacks it.
    """
    if device is None or device == "cpu":
        return False
    kind, _, number = str(device).partition(":")
    if kind != "cuda" or not (number or "0").isdigit():
        raise ParameterError(
            f"{name}: {device!r} is not a device; this machine has {', '.join(available())}"
        )
    known = available()
    if f"cuda:{number or 0}" not in known:
        raise RungError(
            f"{name}: this machine has no device {device!r}; there are {', '.join(known)}"
        )
    return True


def checked_like(name: str, like: Any) -> None:
    """Refuse a ``like=`` that asks for another library's array."""
    if like is not None and not hasattr(like, "__array_function__"):
        raise ParameterError(f"{name}: like= takes an array or None, not {like!r}")


def checked_order(name: str, order: Any) -> str:
    """``order`` as one of C, F, A and K; arrays have no layout, so it decides no value."""
    if order is None:
        return "K"
    if not isinstance(order, str):
        raise ParameterTypeError(f"{name}: order must be 'C', 'F', 'A' or 'K', not {order!r}")
    if order.upper() not in ("C", "F", "A", "K"):
        raise ParameterError(f"{name}: order must be 'C', 'F', 'A' or 'K', not {order!r}")
    return order.upper()
