"""Running sums and products on a GPU: elements in its memory, in their order.

`fixed.py` says how sums are exact, `lines.py` and `columns.py` how threads share the elements:
lines that lie in memory one after the other, and lines that lie side by side.
"""
