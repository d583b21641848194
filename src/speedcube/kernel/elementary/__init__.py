"""Elementary functions as IR, built from correctly rounded operations: the same bits anywhere."""
