"""Kinematics of parallel machines, batched over samples."""

from pkm_description.kinematics.leg_lengths import leg_lengths, length_jacobian

__all__ = ['leg_lengths', 'length_jacobian']
