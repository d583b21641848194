"""Sources that are made a box at a time of what is read so: scans, choices, pieces, windows."""
