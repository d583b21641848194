"""Complex numbers: pairs of real expressions, which alone plans and kernels know."""
