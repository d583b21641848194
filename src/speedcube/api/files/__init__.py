"""Arrays in files: opened, and written."""
