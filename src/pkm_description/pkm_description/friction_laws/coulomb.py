"""Friction laws with Coulomb levels: viscous, static, by direction, dead band, arc tangent, power of the speed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pkm_description.arrays import Array
from pkm_description.friction_laws.law import FrictionLaw, linear, nonlinear, option
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


@dataclass(frozen=True, kw_only=True)
class StaticCoulomb(FrictionLaw):
    """``viscous v + coulomb sign(v)``, with ``static`` in place of ``coulomb`` up to a small speed.

    Rosyid & El-Khasawneh 2020, Fig. 4a. The paper has the static level at zero speed only (``static_velocity = 0``):
    then it stands in ``breakaway_force`` and in no force of a moving joint.

    Attributes
    ----------
    viscous : N s/m or N m s/rad
    coulomb, static : N or N m
    static_velocity : m/s or rad/s, >= 0; largest speed with the static level
    """

    law: ClassVar[str] = 'static_coulomb'
    number: ClassVar[int] = kernels.STATIC_COULOMB

    viscous: float = linear()
    coulomb: float = linear()
    static: float = linear()
    static_velocity: float = nonlinear(0.0, positive=False)


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
