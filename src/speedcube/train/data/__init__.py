"""Batches of data for the ranks of a job: disjoint, shuffled, on each rank's device.

`batches` is what a function iterates over. `shares` says which places of an epoch's order a batch
has, `order` which rows are there, `rows` reads them, and `kernel` computes into torch's memory.
"""
