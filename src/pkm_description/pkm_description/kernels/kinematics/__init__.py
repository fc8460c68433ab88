"""Legs, joints and platform of one sample: positions, rates, and what the drives make of them."""
