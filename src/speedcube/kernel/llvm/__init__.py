"""A program to LLVM IR, and that to machine code of this processor."""
