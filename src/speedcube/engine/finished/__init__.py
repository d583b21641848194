"""Many results that a part's kernel finishes itself, without records: on a CPU, on a GPU."""
