"""Kernels of fixed text that count and sieve elements in memory."""
