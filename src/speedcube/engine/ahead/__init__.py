"""What few elements a program needs first, made first: what is left is one kernel."""
