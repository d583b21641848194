"""Scans of the columns of matrices, a lane a column: nothing is transposed.

    void kernel(words, values, state, scratch, out)

``values`` holds rows ``[position, position + rows)`` of lines that lie side by side, one matrix or
several. The bits are those of the kernels that take line after line (the folder above).

* ``layout.py`` says what is in ``words``. ``state`` has rows of ``width`` 8-byte words, a word for
  each column; what goes on from one call to the next is there.
* ``scratch`` gets, of a running sum of floats, a row for each matrix: not zero where a column is
  too wide, too large, or has infinities or NaNs. Its results are for the caller to make again.
"""
