"""What libraries make of whole arrays, on a worker: NumPy on the host, CuPy on a GPU."""
