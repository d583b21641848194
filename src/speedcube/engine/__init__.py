"""Who runs it: every rung takes the same plan and gives the same array."""
