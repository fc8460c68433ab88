"""Which legs can be believed."""
