"""The programs of the command line: ladder, verify, rng and doctor."""
