"""The parts of bench/floors.py: a table of rows, what runs them, and the page made of them."""
