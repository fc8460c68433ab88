"""What a motion shows of a machine: force terms, base parameters, and how locations matter."""
