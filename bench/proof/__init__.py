"""What bench/randomness.py proves with: laws, counts, independence, permutations, the page."""
