"""Coulomb friction plus a power of the speed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pkm_description.arrays import Array
from pkm_description.friction_laws.law import FrictionLaw, linear, nonlinear
from pkm_description.kernels import friction as kernels


def _power(velocity: Array, exponent: float) -> tuple[Array, Array]:
    """``|v|^exponent`` and its derivative by the exponent; both zero at rest."""
    speed = np.abs(velocity)
    power = speed**exponent
    return power, power * np.log(np.where(speed > 0.0, speed, 1.0))


@dataclass(frozen=True, kw_only=True)
class PowerLaw(FrictionLaw):
    """``sign(v) (coulomb + viscous |v|^exponent)`` (Mata et al. 2008, Eq. 17, symmetric; Farhat 2006).

    Attributes
    ----------
    viscous : N (s/m)^exponent or N m (s/rad)^exponent
    coulomb : N or N m
    exponent : > 0; below 1 the curve bends as after the Stribeck minimum
    """

    law: ClassVar[str] = 'power'
    number: ClassVar[int] = kernels.POWER

    viscous: float = linear()
    coulomb: float = linear()
    exponent: float = nonlinear()

    def _sensitivities(self, velocity: Array, load: Array) -> tuple[Array, ...]:
        return (self.viscous * self.sign(velocity) * _power(velocity, self.exponent)[1],)


@dataclass(frozen=True, kw_only=True)
class AsymmetricPowerLaw(FrictionLaw):
    """Power law with a Coulomb level by direction, one viscous coefficient and exponent (Mata et al. 2008, Eq. 17).

    Attributes
    ----------
    viscous : N (s/m)^exponent or N m (s/rad)^exponent
    coulomb_positive, coulomb_negative : N or N m, magnitudes for v > 0 and v < 0
    exponent : > 0
    """

    law: ClassVar[str] = 'asymmetric_power'
    number: ClassVar[int] = kernels.ASYMMETRIC_POWER

    viscous: float = linear()
    coulomb_positive: float = linear()
    coulomb_negative: float = linear()
    exponent: float = nonlinear()

    def _sensitivities(self, velocity: Array, load: Array) -> tuple[Array, ...]:
        return (self.viscous * self.sign(velocity) * _power(velocity, self.exponent)[1],)
