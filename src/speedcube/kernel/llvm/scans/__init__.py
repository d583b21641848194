"""Products, running products and running sums on a CPU: elements in memory, in their order.

    void kernel(words, values, state, scratch, out)

``values`` holds the next elements of lines that come one after the other. `layout.py` says what is
in ``words``, ``state`` and ``scratch``, `emit.py` which class emits which scan.

* A product is a balanced tree fixed by the elements' places in their line: neighbours `2k` and
  `2k + 1` are multiplied, then the products of neighbours, and so on; what has no neighbour stays.
  ``prod`` gives the products of pieces of `TILE` elements, aligned in their line.
* A running product is the tree's product of all whole pieces before, times the elements of its
  own piece multiplied from the left.
* A running sum is exact. With the tile's largest magnitude below `2**E` three units are chosen, 43
  bits apart; x is split into a multiple of each, by adding and subtracting `1.5 * 2**k`. The three
  running sums cannot round, and their sum is rounded once. A tile that is too wide (a bit is left
  over: `2**-128` of the largest), too large, or has infinities or NaNs goes to limbs, one by one.
"""
