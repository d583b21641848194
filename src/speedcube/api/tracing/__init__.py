"""Python functions of numbers as parts of a kernel."""

from .functions import frompyfunc, vectorize

__all__ = ["frompyfunc", "vectorize"]
