"""Small programs made node by node with NumPy: to compile a kernel for them takes longer.

`meaning.py` has the NumPy functions that give a kernel's bits, `walk.py` makes the nodes of a
program in their order, and `choice.py` says which programs are made so.
"""
