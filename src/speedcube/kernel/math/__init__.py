"""Mathematics written as IR: elementary functions, random streams, samplers, division."""
