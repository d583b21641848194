"""Functions that need elements in their order, or counted: sorting, quantiles, sets, histograms."""
