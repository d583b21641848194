"""The driver's side of a job: claims, attempts, restarts, and what its user holds."""
