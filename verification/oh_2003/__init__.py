"""Oh's dissertation (2003): Kane form, energy model, pendulum, each independent of the library's dynamics."""
