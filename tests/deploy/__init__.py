"""Files of docs/deploy, run as they stand where the programs they need are installed."""
