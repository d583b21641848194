"""Rows that ranks report: the file that keeps them, steps, and what there is to see."""
