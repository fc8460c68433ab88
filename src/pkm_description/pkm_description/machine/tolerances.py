"""How exactly a machine was built: standard deviations of the constants of its file."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pkm_description.arrays import Array

#: m or rad, of a machine whose file does not say: usual machining
USUAL_TOLERANCE = 1e-4


@dataclass(frozen=True)
class Tolerances:
    """Standard deviations of the constants of a machine's geometry, independent of each other.

    Attributes
    ----------
    joint_centres : m, of each component of each joint's centre; one number, or (L,) for the joints of each leg
    leg_zeros : m or rad, of where each drive reads zero; one number, or (A,)
    is_stated : whether the machine file says so
    """

    joint_centres: Array | float = USUAL_TOLERANCE
    leg_zeros: Array | float = USUAL_TOLERANCE
    is_stated: bool = True

    @property
    def are_zero(self) -> bool:
        """Whether the machine is exactly as its file says."""
        return not (np.any(self.joint_centres) or np.any(self.leg_zeros))

    def __str__(self) -> str:
        """Return the numbers in words, in mm and mrad."""
        if self.are_zero:
            return 'exact'
        centres, zeros = (_range(1e3 * np.asarray(value)) for value in (self.joint_centres, self.leg_zeros))
        told = f'joint centres {centres} mm, zeros of the drives {zeros} mm or mrad'
        return told if self.is_stated else f'{told} (usual machining: the machine file has no tolerances)'


def _range(values: Array) -> str:
    least, most = float(values.min()), float(values.max())
    return f'{least:.3g}' if least == most else f'{least:.3g} to {most:.3g}'


#: of a machine file that says nothing
USUAL_TOLERANCES = Tolerances(is_stated=False)
#: of a machine that is exactly as its file says, as simulated ones are
EXACT = Tolerances(0.0, 0.0)
