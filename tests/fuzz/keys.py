"""Random keys of an array, as text."""

from __future__ import annotations

from . import weights
from .writer import Unfit, Writer

Shape = tuple[int, ...]


def key(writer: Writer, name: str) -> str:
    """What stands between the brackets of ``name[...]``; every index is in bounds."""
    value = writer.values[name]
    if not value.ndim or not value.size:
        return writer.one("...", "()", "None", ":" if value.ndim else "...")
    items: list[str] = []
    axis, length = 0, writer.rng.randint(1, 4)
    advanced = 0
    wanted = writer.rng.randint(1, value.ndim)
    ellipsis = False
    while axis < wanted:
        kind = writer.draw(weights.KEY)
        extent = value.shape[axis]
        if kind in ("list", "array", "mask") and advanced == 2:
            kind = "slice"
        if kind == "mask":
            if axis == 0 and not items and value.exact and writer.rng.random() < 0.6:
                return _whole_mask(writer, name)
            if advanced:
                kind = "list"
        if kind == "new axis":
            if items.count("None") > 1:
                continue
            items.append("None")
            continue
        if kind == "ellipsis":
            if ellipsis:
                continue
            ellipsis = True
            items.append("...")
            rest = value.ndim - wanted
            axis += rest if rest else 0
            wanted = value.ndim
            continue
        if kind == "mask":
            trues = min(length, extent)
            places = set(writer.rng.sample(range(extent), trues))
            length = trues
            items.append(f"np.array({[k in places for k in range(extent)]})")
            advanced += 1
        elif kind in ("list", "array"):
            places_of = [writer.rng.randrange(-extent, extent) for _ in range(length)]
            items.append(str(places_of) if kind == "list" else f"np.array({places_of})")
            advanced += 1
        else:
            items.append(_basic(writer, kind, extent))
        axis += 1
    if not items:
        raise Unfit
    return ", ".join(items)


def _whole_mask(writer: Writer, name: str) -> str:
    value = writer.values[name]
    if value.dtype.kind == "b":
        return writer.one(name, f"~{name}")
    number = writer.rng.randint(0 if value.dtype.kind == "u" else -3, 4)
    return f"{name} {writer.one('>', '<', '>=', '!=', '==')} {number}"


def _basic(writer: Writer, kind: str, extent: int) -> str:
    if kind == "integer":
        return str(writer.rng.randrange(-extent, extent))
    first = writer.rng.randint(-extent, extent)
    last = writer.rng.randint(-extent, extent + 2)
    if kind == "slice":
        return writer.one(":", f"{first}:", f":{last}", f"{first}:{last}", "1:", ":-1")
    if kind == "slice with a step":
        return f"{writer.one('', first)}:{writer.one('', last)}:{writer.rng.randint(2, 3)}"
    return writer.one("::-1", f"{first}::-1", "::-2", f":{last}:-1")
