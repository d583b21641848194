"""Arrays written block after block: read, computed, encoded and written by several at a time."""
