"""NumPy's numerical functions, a topic a module: operations, reductions and views composed."""
