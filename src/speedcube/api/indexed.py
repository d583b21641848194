"""Gives `Array` what its own methods cannot do: keys with indices and masks, and assignment."""

from __future__ import annotations

from .indexing.assigning.assignment import assign
from .indexing.assigning.in_place import keep, settle
from .indexing.choosing import choose
from .indexing.items import register
from .indexing.putting import put
from .indexing.reading import read
from .indexing.searching import compress, nonzero
from .methods.places import FUNCTIONS
from .take import take

register(read, assign, settle, keep)
FUNCTIONS.update(take=take, nonzero=nonzero, compress=compress, choose=choose, put=put)
