"""The machine: what it is, how it moves and how it pushes."""
