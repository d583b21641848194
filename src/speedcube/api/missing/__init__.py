"""What is not there: why, and what to do instead."""
