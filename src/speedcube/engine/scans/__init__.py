"""Scans: elements in their order, line by line or the columns of a matrix at once; on GPUs too."""
