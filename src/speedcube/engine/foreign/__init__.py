"""What others compute for an expression: Dask's graphs, and where their blocks lie."""
