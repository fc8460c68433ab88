"""Laws of mechanics that hold for every machine."""
