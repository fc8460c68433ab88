"""Viscous and Coulomb friction, the same in both directions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pkm_description.arrays import Array
from pkm_description.friction_laws.law import FrictionLaw, linear


@dataclass(frozen=True, kw_only=True)
class ViscousCoulomb(FrictionLaw):
    """``viscous v + coulomb sign(v)`` (Heimann & Abdellatif, Eq. 2; Mata et al. 2008, sec. 6.2).

    Attributes
    ----------
    viscous : N s/m or N m s/rad
    coulomb : N or N m
    """

    law: ClassVar[str] = 'viscous_coulomb'

    viscous: float = linear()
    coulomb: float = linear()

    def _columns(self, velocity: Array, load: Array) -> tuple[Array, ...]:
        return velocity, self.sign(velocity)


#: of joints for which a machine file gives no friction
NO_FRICTION = ViscousCoulomb(viscous=0.0, coulomb=0.0)
