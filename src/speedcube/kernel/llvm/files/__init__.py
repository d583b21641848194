"""Loops that read files."""
