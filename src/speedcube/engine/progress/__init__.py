"""How far a computation is: what is counted, when it is told, and where it is shown."""
