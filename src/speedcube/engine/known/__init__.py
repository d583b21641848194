"""Programs by their outline: what was planned and lowered before runs again with other data."""
