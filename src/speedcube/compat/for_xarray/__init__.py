"""xarray with our arrays: `manager.py`, which xarray finds by the entry point ``speedcube``."""
