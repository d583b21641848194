"""What is made of all elements of an array at once: sorted, selected or counted."""
