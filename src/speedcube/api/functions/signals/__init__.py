"""Functions of lines of samples."""
