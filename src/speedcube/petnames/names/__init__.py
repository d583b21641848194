"""The data of the pet names: found, fetched, read strictly, and turned into rows."""
