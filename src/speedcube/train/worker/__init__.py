"""A Dask worker's side of a job: the task beside a rank, and the fork server that ranks come from.

`agent` is the task. `fork_client` starts the `fork_server`, a process of its own, and holds the
ranks that it forks. `ignore_terminal` is preloaded by the workers of our own clusters.
"""
