"""Modules with the names and calls of packages that speedcube succeeds."""
