"""Functions of float32 by plain float64 arithmetic, where that decides them (`rule`)."""
