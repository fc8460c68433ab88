"""Oh's dissertation (2003): Kane form, energy model, pendulum, each written apart from the suite's own dynamics."""
