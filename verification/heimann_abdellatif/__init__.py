"""Heimann and Abdellatif: hexapods, parameter counts, friction of all joints."""
