"""Scans on a CPU: elements in their order, line by line or the columns of a matrix at once."""
