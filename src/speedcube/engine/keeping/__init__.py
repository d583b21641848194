"""What is kept of long computations in a directory, so that a program that was killed goes on."""
