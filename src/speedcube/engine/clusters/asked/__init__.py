"""Tasks that ask a worker about its share of something."""
