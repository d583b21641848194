"""Exact sums on the host: from accumulators of 32-bit digits to numbers rounded once."""
