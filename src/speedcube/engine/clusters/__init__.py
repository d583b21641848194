"""Dask clusters: the client to ask, our own workers on GPUs, and tasks that travel."""
