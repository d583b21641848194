"""Tests of what bench/ is made of; figures themselves are no tests."""
