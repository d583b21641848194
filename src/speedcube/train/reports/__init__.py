"""Pages and figures of what was trained, from the rows that were kept."""
