"""Exact sums of many results on a GPU, each finished by the kernel where it is certain."""
