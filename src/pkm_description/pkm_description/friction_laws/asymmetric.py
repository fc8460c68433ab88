"""Viscous and Coulomb friction that differ with the direction of motion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pkm_description.arrays import Array
from pkm_description.friction_laws.law import FrictionLaw, linear


@dataclass(frozen=True, kw_only=True)
class AsymmetricCoulomb(FrictionLaw):
    """``viscous v`` plus ``coulomb_positive`` forwards, minus ``coulomb_negative`` backwards (Mata et al., Table 5).

    Attributes
    ----------
    viscous : N s/m or N m s/rad
    coulomb_positive, coulomb_negative : N or N m, magnitudes for v > 0 and v < 0
    """

    law: ClassVar[str] = 'asymmetric_coulomb'

    viscous: float = linear()
    coulomb_positive: float = linear()
    coulomb_negative: float = linear()

    def _columns(self, velocity: Array, load: Array) -> tuple[Array, ...]:
        sign = self.sign(velocity)
        return velocity, np.maximum(sign, 0.0), np.minimum(sign, 0.0)


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

    viscous_positive: float = linear()
    viscous_negative: float = linear()
    coulomb_positive: float = linear()
    coulomb_negative: float = linear()

    def _columns(self, velocity: Array, load: Array) -> tuple[Array, ...]:
        sign = self.sign(velocity)
        return np.maximum(velocity, 0.0), np.minimum(velocity, 0.0), np.maximum(sign, 0.0), np.minimum(sign, 0.0)
