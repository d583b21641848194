"""The doctor of a Dask cluster: what every worker has, what differs, and what to do."""
