"""CPU threads and GPUs share the parts of one computation, by the speed that each shows."""
