"""``speedcube verify``: a committed list of hashes, recomputed on the rungs of a machine."""
