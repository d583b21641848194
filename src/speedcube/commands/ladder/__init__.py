"""speedcube ladder: one expression on every rung of the machine."""
