"""Sorting, selecting and counting the elements of an array, on the threads of one worker."""
