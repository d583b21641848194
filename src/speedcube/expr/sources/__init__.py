"""What leaves read that is no expression: `nodes` has them all."""
