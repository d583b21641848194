"""What is assigned to: boxes, masks and indices, and memory that is written in place."""
