"""A program to CUDA C, and that to machine code of a GPU."""
