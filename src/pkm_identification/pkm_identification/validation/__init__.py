"""Judges an identification by what it delivers: forces and motions of the machine that its files give."""
