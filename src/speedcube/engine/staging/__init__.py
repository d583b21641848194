"""From the host's memory and from files to a GPU, as fast as the bus between them."""
