"""Viscous and Coulomb friction with a linear zone around zero speed (Oh 2003)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pkm_description.arrays import Array
from pkm_description.friction_laws.law import FrictionLaw, linear, nonlinear, option


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

    viscous: float = linear()
    coulomb: float = linear()
    width: float = nonlinear(0.002)
    form: str = option('printed', ('printed', 'continuous'))

    def _columns(self, velocity: Array, load: Array) -> tuple[Array, ...]:
        outside = np.abs(velocity) > self.width
        viscous = np.where(outside, velocity, 0.0) if self.form == 'printed' else velocity
        return viscous, np.clip(velocity / self.width, -1.0, 1.0)

    def _sensitivities(self, velocity: Array, load: Array) -> tuple[Array, ...]:
        inside = np.abs(velocity) <= self.width
        return (np.where(inside, -self.coulomb * velocity / self.width**2, 0.0),)
