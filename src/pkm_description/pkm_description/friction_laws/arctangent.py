"""Coulomb, viscous and arc tangent friction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pkm_description.arrays import Array
from pkm_description.friction_laws.law import FrictionLaw, linear, nonlinear
from pkm_description.kernels import friction as kernels


@dataclass(frozen=True, kw_only=True)
class Arctangent(FrictionLaw):
    """``coulomb sign(v) + viscous v + saturation atan(slope v)`` (Mata et al. 2008, Eq. 16; Grotjahn 2001).

    The paper prints the Coulomb term without the sign of the velocity.

    Attributes
    ----------
    viscous : N s/m or N m s/rad
    coulomb : N or N m
    saturation : N or N m; the arc tangent reaches ``saturation * pi / 2``
    slope : s/m or s/rad, > 0
    """

    law: ClassVar[str] = 'atan'
    number: ClassVar[int] = kernels.ARCTANGENT

    viscous: float = linear()
    coulomb: float = linear()
    saturation: float = linear()
    slope: float = nonlinear()

    def _sensitivities(self, velocity: Array, load: Array) -> tuple[Array, ...]:
        return (self.saturation * velocity / (1.0 + (self.slope * velocity) ** 2),)
