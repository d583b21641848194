"""Lets `Array` read and assign what its own methods cannot: keys with indices and masks."""

from __future__ import annotations

from .indexing.assignment import assign
from .indexing.reading import read
from .methods.items import register

register(read, assign)
