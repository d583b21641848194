"""What `Array` is made of: operators, conversions, reductions, shapes, and others' protocols."""
