"""Inside a rank: its process, and what a training function may ask and say there."""
