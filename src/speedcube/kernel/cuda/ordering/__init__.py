"""What a GPU's kernels do with elements that are counted, kept or weighed, whatever makes them."""
