"""Stribeck friction with a shape exponent; its level at rest may differ with the direction of motion."""

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


@dataclass(frozen=True, kw_only=True)
class AsymmetricStribeck(FrictionLaw):
    """The law of :class:`Stribeck` with a level at rest for each direction.

    Cylinders with a rod on one side, screws with a preload and belts are harder to start one way. The sliding level is
    the same both ways: its half difference is a constant force, which a drive's effort shows as an offset.

    Attributes
    ----------
    viscous : N s/m or N m s/rad
    coulomb : N or N m; level of fast motion
    static_positive, static_negative : N or N m; limits for slow motion with v > 0 and v < 0
    stribeck_velocity : m/s or rad/s, > 0
    exponent : > 0
    """

    law: ClassVar[str] = 'asymmetric_stribeck'
    number: ClassVar[int] = kernels.ASYMMETRIC_STRIBECK

    viscous: float = linear()
    coulomb: float = linear()
    static_positive: float = linear()
    static_negative: float = linear()
    stribeck_velocity: float = nonlinear()
    exponent: float = nonlinear(1.0)

    def _sensitivities(self, velocity: Array, load: Array) -> tuple[Array, ...]:
        sign = self.sign(velocity)
        drop = (np.where(sign > 0.0, self.static_positive, self.static_negative) - self.coulomb) * sign
        _, by_velocity, by_exponent = stribeck_fading(velocity, self.stribeck_velocity, self.exponent)
        return drop * by_velocity, drop * by_exponent
