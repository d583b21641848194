"""From an expression and its loops to a program: leaves, straight-line IR, a sink."""
