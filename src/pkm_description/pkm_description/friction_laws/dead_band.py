"""Viscous and Coulomb friction with a linear zone around zero speed (Oh 2003)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pkm_description.arrays import Array
from pkm_description.friction_laws.law import FrictionLaw, linear, nonlinear, option
from pkm_description.kernels import friction as kernels


@dataclass(frozen=True, kw_only=True)
class DeadBand(FrictionLaw):
    """``viscous v + coulomb sign(v)`` outside of ``+-width``, ``coulomb v / width`` inside (Oh 2003, Eq. 4.5).

    As printed, the zone leaves the viscous term out and the force jumps by ``width * viscous`` at its edges (which
    belong to the zone). The continuous form keeps the viscous term everywhere. ``sign`` has no effect.

    Attributes
    ----------
    viscous : N s/m or N m s/rad
    coulomb : N or N m
    width : m/s or rad/s, > 0; half of the zone, 0.002 m/s in the source
    form : ``'printed'`` or ``'continuous'``
    """

    law: ClassVar[str] = 'dead_band'
    number: ClassVar[int] = kernels.DEAD_BAND

    viscous: float = linear()
    coulomb: float = linear()
    width: float = nonlinear(0.002)
    form: str = option('printed', ('printed', 'continuous'))

    def shape_parameters(self) -> Array:
        """Width, and 1 where the viscous term stays inside of the zone."""
        return np.array([self.width, float(self.form == 'continuous'), 0.0, 0.0])

    def _sensitivities(self, velocity: Array, load: Array) -> tuple[Array, ...]:
        inside = np.abs(velocity) <= self.width
        return (np.where(inside, -self.coulomb * velocity / self.width**2, 0.0),)
