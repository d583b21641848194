"""Dask clusters: the client to ask, our own workers on GPUs, plans as tasks that travel."""
