"""Random arrays whose every element depends on (seed, call, position) alone: stream v1.

`default_rng` gives a `Generator`, `RandomState` the legacy interface. Chunks, devices and thread
counts never change a number. See docs/stream-v1.md for what is promised.
"""

from .generator import Generator, default_rng
from .legacy import RandomState

__all__ = ["Generator", "RandomState", "default_rng"]
