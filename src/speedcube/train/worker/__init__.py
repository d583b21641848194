"""A Dask worker's side of a job: the task beside a rank, and the fork server it came from."""
