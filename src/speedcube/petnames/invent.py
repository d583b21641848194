"""Names that the network invents: letters drawn one by one, names kept if they are new.

For one seed the names are the same everywhere, as far as the network's float32 logits are: the
random numbers are NumPy's, the draw is in float64 on the CPU. The first names of a longer list are
those of a shorter one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from .names.alphabet import BLANK, STOP, WINDOW, capitalised, decode, encode
from .names.known import Known, tidy

if TYPE_CHECKING:
    import torch

LONGEST: Final = 24  # letters; a name that has not ended by then is dropped
_ROUND: Final = 64  # names drawn at once
_PATIENCE: Final = 40  # rounds without a new name


def invent(
    model: torch.nn.Module, known: Known, count: int, seed: int, temperature: float, start: str
) -> list[str]:
    """``count`` different names, capitalised, none of them in ``known``.

    All begin with ``start``, which is in lower case. Below a ``temperature`` of 1 likely letters
    are drawn more often, above it less. There are fewer than ``count`` names where many rounds in
    a row brought nothing new.
    """
    random = np.random.default_rng(seed)
    names: dict[str, None] = {}  # in the order of drawing
    idle = 0
    model.eval()
    while len(names) < count and idle < _PATIENCE:
        before = len(names)
        for name in _drawn(model, start, temperature, random.random((_ROUND, LONGEST))):
            if sum(map(str.isalpha, name)) > 1 and name not in known:
                names.setdefault(name)
        idle = idle + 1 if len(names) == before else 0
    return [capitalised(name) for name in list(names)[:count]]


def _drawn(
    model: torch.nn.Module, start: str, temperature: float, chances: npt.NDArray[np.float64]
) -> list[str]:
    """The names that ended in time, one for each row of ``chances``, tidied."""
    codes = np.full((len(chances), WINDOW + LONGEST), BLANK, np.uint8)
    codes[:, WINDOW : WINDOW + len(start)] = encode(start)
    going = np.arange(len(codes))
    names: dict[int, str] = {}
    for place in range(len(start), LONGEST):
        letters = _letters(model, codes[going, place : place + WINDOW], temperature)
        drawn = (letters[:, :-1] <= chances[going, place, np.newaxis] * letters[:, -1:]).sum(1)
        for row in going[drawn == STOP]:
            names[row] = tidy(decode(codes[row, WINDOW : WINDOW + place]))
        going, drawn = going[drawn != STOP], drawn[drawn != STOP]
        codes[going, WINDOW + place] = drawn
        if not len(going):
            break
    return [names[row] for row in sorted(names)]


def _letters(
    model: torch.nn.Module, windows: npt.NDArray[np.uint8], temperature: float
) -> npt.NDArray[np.float64]:
    """Running sums of what each symbol weighs after each of ``windows``; a blank weighs 0."""
    import torch

    with torch.no_grad():
        logits = model(torch.from_numpy(windows))[:, -1].double().numpy()
    logits[:, BLANK] = -np.inf
    with np.errstate(over="ignore"):  # a tiny temperature: the likeliest letter alone is left
        weights = np.exp((logits - logits.max(axis=1, keepdims=True)) / temperature)
    sums: npt.NDArray[np.float64] = np.cumsum(weights, axis=1)
    return sums
