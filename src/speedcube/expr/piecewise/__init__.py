"""Arrays of pieces: concatenations, pads, rolls."""
