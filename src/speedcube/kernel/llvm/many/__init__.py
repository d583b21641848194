"""Exact sums of many results, each finished by the kernel: with a certificate, not a record."""
