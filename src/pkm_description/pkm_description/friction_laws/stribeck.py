"""Stribeck friction with a shape exponent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pkm_description.arrays import Array
from pkm_description.friction_laws.law import FrictionLaw, linear, nonlinear
from pkm_description.kernels import friction as kernels


def stribeck_fading(velocity: Array, stribeck_velocity: float, exponent: float) -> tuple[Array, Array, Array]:
    """``exp(-|v / v_s|^exponent)``, from 1 at rest to 0, and its derivatives by ``v_s`` and exponent."""
    ratio = np.abs(velocity) / stribeck_velocity
    power = ratio**exponent
    fading = np.exp(-power)
    by_velocity = fading * power * exponent / stribeck_velocity
    by_exponent = -fading * power * np.log(np.where(ratio > 0.0, ratio, 1.0))
    return fading, by_velocity, by_exponent


@dataclass(frozen=True, kw_only=True)
class Stribeck(FrictionLaw):
    """``sign(v) (coulomb + (static - coulomb) exp(-|v / stribeck_velocity|^exponent)) + viscous v``.

    Mata et al. 2008, Eq. 32 and Rosyid & El-Khasawneh 2020, Eq. 23; both prints lack the minus sign of the exponent,
    without which the law grows without bound. Linear in ``static`` and ``coulomb`` for a given fading.

    Attributes
    ----------
    viscous : N s/m or N m s/rad
    coulomb, static : N or N m; level of fast motion, and limit for slow motion
    stribeck_velocity : m/s or rad/s, > 0
    exponent : > 0; 1 in Rosyid's work, 2 is common elsewhere
    """

    law: ClassVar[str] = 'stribeck'
    number: ClassVar[int] = kernels.STRIBECK

    viscous: float = linear()
    coulomb: float = linear()
    static: float = linear()
    stribeck_velocity: float = nonlinear()
    exponent: float = nonlinear(1.0)

    def _sensitivities(self, velocity: Array, load: Array) -> tuple[Array, ...]:
        drop = (self.static - self.coulomb) * self.sign(velocity)
        _, by_velocity, by_exponent = stribeck_fading(velocity, self.stribeck_velocity, self.exponent)
        return drop * by_velocity, drop * by_exponent
