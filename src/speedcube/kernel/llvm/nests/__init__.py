"""The loops of kernels that finish their results: one after the other, side by side, together."""
