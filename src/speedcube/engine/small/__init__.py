"""Small computations: what was seen before runs again with other data, and without a graph."""
