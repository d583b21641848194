"""Folds that cannot round, of many results, finished by the kernel: no records."""
