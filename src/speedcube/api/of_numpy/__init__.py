"""What NumPy has beside mathematics: printing, small files, walks, and words of its own."""

from .layout import asfortranarray, isfortran, ndarray, nditer, require
from .own import *  # noqa: F403  (its own list of names)
from .own import __all__ as _own
from .reading import frombuffer, fromfile, fromregex, genfromtxt, load, loadtxt

__all__ = [
    "asfortranarray",
    "frombuffer",
    "fromfile",
    "fromregex",
    "genfromtxt",
    "isfortran",
    "load",
    "loadtxt",
    "ndarray",
    "nditer",
    "require",
]
__all__ += _own
