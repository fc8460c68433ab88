"""Viscous and Coulomb friction that differ with the direction of motion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pkm_description.friction_laws.law import FrictionLaw, linear
from pkm_description.kernels import friction as kernels


@dataclass(frozen=True, kw_only=True)
class AsymmetricCoulomb(FrictionLaw):
    """``viscous v`` plus ``coulomb_positive`` forwards, minus ``coulomb_negative`` backwards (Mata et al., Table 5).

    Attributes
    ----------
    viscous : N s/m or N m s/rad
    coulomb_positive, coulomb_negative : N or N m, magnitudes for v > 0 and v < 0
    """

    law: ClassVar[str] = 'asymmetric_coulomb'
    number: ClassVar[int] = kernels.ASYMMETRIC_COULOMB

    viscous: float = linear()
    coulomb_positive: float = linear()
    coulomb_negative: float = linear()



@dataclass(frozen=True, kw_only=True)
class Asymmetric(FrictionLaw):
    """All four coefficients by direction (Mata et al. 2008, Eq. 14).

    The paper prints the viscous term of the backward branch with the wrong sign: it would drive the joint. Here,
    as in its Eq. 17, ``-coulomb_negative - viscous_negative |v|``.

    Attributes
    ----------
    viscous_positive, viscous_negative : N s/m or N m s/rad, for v > 0 and v < 0
    coulomb_positive, coulomb_negative : N or N m, magnitudes for v > 0 and v < 0
    """

    law: ClassVar[str] = 'asymmetric'
    number: ClassVar[int] = kernels.ASYMMETRIC

    viscous_positive: float = linear()
    viscous_negative: float = linear()
    coulomb_positive: float = linear()
    coulomb_negative: float = linear()
