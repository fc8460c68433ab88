"""Viscous and Coulomb friction, the same in both directions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pkm_description.friction_laws.law import FrictionLaw, linear
from pkm_description.kernels import friction as kernels


@dataclass(frozen=True, kw_only=True)
class ViscousCoulomb(FrictionLaw):
    """``viscous v + coulomb sign(v)`` (Heimann & Abdellatif, Eq. 2; Mata et al. 2008, sec. 6.2).

    Attributes
    ----------
    viscous : N s/m or N m s/rad
    coulomb : N or N m
    """

    law: ClassVar[str] = 'viscous_coulomb'
    number: ClassVar[int] = kernels.VISCOUS_COULOMB

    viscous: float = linear()
    coulomb: float = linear()



#: of joints for which a machine file gives no friction
NO_FRICTION = ViscousCoulomb(viscous=0.0, coulomb=0.0)
