"""PyTorch jobs on the cluster: a function on every GPU."""
