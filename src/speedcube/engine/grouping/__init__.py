"""What a worker does to make a result of each group: sums, extremes, products, sorted lines."""
