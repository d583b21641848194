"""Batches of data for the ranks of a job: disjoint, shuffled, on each rank's device."""
