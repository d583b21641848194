"""What users touch: the array, its functions, and the calls of NumPy and Dask that reach it."""
