"""Doors to the ecosystem: Dask, chunk grids."""
