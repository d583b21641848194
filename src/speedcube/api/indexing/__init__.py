"""Indices and masks that are arrays, assignment, and NumPy's functions of places."""
