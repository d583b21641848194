"""How one tile is computed: a small typed IR, its evaluator, and its LLVM and CUDA printers."""
