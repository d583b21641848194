"""What reads files and others' arrays a box at a time: `expr/sources/tiled.py` says how."""
