"""Arrays that several computations are made of: kept from the second one that reads them."""
