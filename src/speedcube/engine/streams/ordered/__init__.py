"""Lines that are sorted without being in memory: a part of the order after the other."""
