"""Functions that are of complex numbers alone."""
