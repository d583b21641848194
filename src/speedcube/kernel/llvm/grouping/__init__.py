"""Kernels that add up the elements of each group."""
