"""What a GPU sorts, selects, counts and weighs: elements never leave its memory."""
