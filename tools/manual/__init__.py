"""The manual: pages as they stand on GitHub, made ready for Sphinx, built, and checked."""
