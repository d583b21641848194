"""What arrays of pieces need besides a kernel for each region."""
