"""Sums of products of pairs of rows, by blocks of rows that stay in the cache."""
