"""The characters a name is made of, and names as numbers.

The alphabet, its order, and the window are the published ones (J. Nolis, "Speeding up neural
network training with multiple GPUs and Dask", 2021, and its notebook).
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np
import numpy.typing as npt

LETTERS: Final = "abcdefghijklmnopqrstuvwxyz-. "  # what a name may hold
SYMBOLS: Final = 2 + len(LETTERS)  # 31: the blank, the stop mark, the letters
BLANK: Final = 0  # left of a name that is shorter than the window
STOP: Final = 1  # after a name's last letter
WINDOW: Final = 8  # characters that the network sees

_NAME: Final = re.compile(r"[a-z. -]+")
_CODES: Final = np.zeros(128, np.uint8)
_CODES[[ord(letter) for letter in LETTERS]] = np.arange(2, SYMBOLS)


def is_name(text: str) -> bool:
    """Whether ``text`` is one letter or more, all of them lower-case letters of the alphabet."""
    return _NAME.fullmatch(text) is not None


def encode(text: str) -> npt.NDArray[np.uint8]:
    """The codes of the letters of ``text``, all of which are in the alphabet."""
    return _CODES[np.frombuffer(text.encode("ascii"), np.uint8)]


def decode(codes: npt.NDArray[np.uint8]) -> str:
    """The text of ``codes``, none of which is a blank or a stop mark."""
    return "".join(LETTERS[code - 2] for code in codes)


def capitalised(name: str) -> str:
    """``name`` with a capital where a word begins: mr. mary-jane becomes Mr. Mary-Jane."""
    return re.sub(r"(?<![a-z])[a-z]", lambda first: first[0].upper(), name)
