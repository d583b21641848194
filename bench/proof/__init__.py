"""What bench/randomness.py proves with: distributions, counts, independence, the page."""
