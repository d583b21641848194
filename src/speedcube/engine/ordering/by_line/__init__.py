"""Short lines, some at a time: how they are put into a cache, and what is selected there."""
