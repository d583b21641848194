"""Tests of NumPy's numerical functions."""
