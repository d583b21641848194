"""Parts whose sources are read a box at a time: blocks of them are read, and computed, in turn."""
