"""What arrays are written to a box at a time: `engine/writing/target.py` says how."""
