"""Excitation: motions that let an identification see every parameter, inside all limits of the machine."""
