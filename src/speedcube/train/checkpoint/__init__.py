"""Checkpoints: written whole or not at all, read without running code.

One directory each, ``step-00000012``: safetensors files and a JSON manifest with their SHA-256.
"""

from ...errors import CheckpointError
from .manifest import RankFile
from .reading import Checkpoint, Skipped, load, newest
from .tensorfile import pack, unpack
from .writing import Pending, begin, collect, commit, prune, save, write_rank

__all__ = [
    "Checkpoint",
    "CheckpointError",
    "Pending",
    "RankFile",
    "Skipped",
    "begin",
    "collect",
    "commit",
    "load",
    "newest",
    "pack",
    "prune",
    "save",
    "unpack",
    "write_rank",
]
