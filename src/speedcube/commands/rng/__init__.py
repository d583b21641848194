"""``speedcube rng``: the raw words of stream v1, for test batteries outside this project."""
