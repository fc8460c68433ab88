"""The friction laws: with Coulomb levels, Stribeck's, with levels that grow with the load; and laws by their names."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from pkm_description.arrays import Array
from pkm_description.errors import FrictionLawError, nearest_of
from pkm_description.friction_laws.law import FrictionLaw, Sign, linear, nonlinear, option
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


@dataclass(frozen=True, kw_only=True)
class LoadDependentStribeck(FrictionLaw):
    """Stribeck law with levels ``coefficient * |normal force|`` plus friction of a constant additional load.

    Rosyid & El-Khasawneh 2020, Eqs. 23-25 and 39-41::

        force = sign(v) (mu_c + (mu_s - mu_c) exp(-|v / v_s|^exponent)) |load|
              + sign(v) mu_c additional_load + viscous_count * viscous * v

    The viscous part does not depend on the load. ``additional_load`` is what the model of the machine does not
    carry, in the paper the weight across the plane of motion; see :func:`guide_loads`. The paper gives its friction
    the Coulomb level in motion and the static one at zero speed only (Eq. 40): ``additional_level: coulomb``.

    Attributes
    ----------
    viscous : N s/m or N m s/rad
    coulomb_coefficient, static_coefficient : N per N (prismatic) or N m per N (revolute: coefficient times radius)
    stribeck_velocity : m/s or rad/s, > 0
    exponent : > 0, 1 in the paper
    additional_load : N, >= 0
    additional_level : ``'coulomb'`` as printed, or ``'stribeck'``: the additional load counts as the other one
    viscous_count : 1, or 2: both parts of the paper's friction (Eqs. 23 and 40) have a viscous term, and it does not
        say whether it counts once
    """

    law: ClassVar[str] = 'load_dependent_stribeck'
    number: ClassVar[int] = kernels.LOAD_DEPENDENT_STRIBECK
    needs_load: ClassVar[bool] = True

    viscous: float = linear()
    coulomb_coefficient: float = linear()
    static_coefficient: float = linear()
    stribeck_velocity: float = nonlinear()
    exponent: float = nonlinear(1.0)
    additional_load: float = nonlinear(0.0, positive=False)
    additional_level: str = option('coulomb', ('coulomb', 'stribeck'))
    viscous_count: int = option(1, (1, 2))

    def shape_parameters(self) -> Array:
        """Fourth the viscous count, negative where the additional load fades as the other one does."""
        count = self.viscous_count if self.additional_level == 'coulomb' else -self.viscous_count
        return np.array([self.stribeck_velocity, self.exponent, self.additional_load, count], dtype=float)


def guide_loads(
    slider_mass: ArrayLike,
    leg_mass: ArrayLike,
    platform_mass: float,
    platform_shares: ArrayLike,
    gravity: float = 9.80665,
) -> Array:
    """Normal forces (L,) [N] of the guides of a machine that lies flat: ``(m_s + m_L + share m_p) g``.

    Rosyid & El-Khasawneh 2020, Eq. 39. How the guides share the platform's weight is statically indeterminate; the
    paper found (0.7, 0.2, 0.1) by trial.

    Parameters
    ----------
    slider_mass, leg_mass : kg, one value or (L,)
    platform_mass : kg
    platform_shares : (L,), each >= 0, sum 1
    gravity : m/s^2; the paper's figures are for 9.81

    Raises
    ------
    ValueError
        A share is negative or their sum is not 1.
    """
    shares = np.asarray(platform_shares, dtype=float)
    if shares.ndim != 1 or (shares < 0.0).any() or abs(shares.sum() - 1.0) > 1e-9:
        raise ValueError(
            f'platform_shares = {shares.tolist()}, sum {shares.sum():.9g}: give one share >= 0 per guide, with sum 1'
        )
    return (np.asarray(slider_mass, dtype=float) + np.asarray(leg_mass, dtype=float) + shares * platform_mass) * gravity


#: by name, as they are defined above
_LAWS: dict[str, type[FrictionLaw]] = {law.law: law for law in FrictionLaw.__subclasses__()}
_SIGN_KEYS = ('sign', 'sign_width')


def friction_law_names() -> list[str]:
    """Names of all laws."""
    return list(_LAWS)


def friction_law_class(name: object) -> type[FrictionLaw]:
    """Class of a law, whose ``parameter_names`` say what it needs.

    Raises
    ------
    FrictionLawError
        There is no such law; suggests the nearest one.
    """
    if not isinstance(name, str) or name not in _LAWS:
        hint = nearest_of(name, _LAWS, f'choose one of {", ".join(_LAWS)}')
        raise FrictionLawError('law', name, f'unknown law; {hint}')
    return _LAWS[name]


def friction_law(description: Mapping[str, Any]) -> FrictionLaw:
    """Build a law from ``{'law': name, parameter: value, ...}``; ``sign`` and ``sign_width`` are optional.

    Raises
    ------
    FrictionLawError
        Unknown law; unknown, missing, negative or non-numeric parameter. Says which value, and what to do.
    """
    if 'law' not in description:
        raise FrictionLawError('law', None, f'is missing; choose one of {", ".join(_LAWS)}')
    law = friction_law_class(description['law'])
    fields = {item.name: item for item in dataclasses.fields(law) if item.name != 'sign'}
    for key, value in description.items():
        if key not in ('law', *_SIGN_KEYS, *fields):
            known = [*fields, *_SIGN_KEYS]
            hint = nearest_of(key, known, f'known here: {", ".join(known)}')
            raise FrictionLawError(str(key), value, f'unknown parameter of law {law.law!r}; {hint}')
    for name, item in fields.items():
        if name not in description and item.default is dataclasses.MISSING:
            needed = [other.name for other in fields.values() if other.default is dataclasses.MISSING]
            raise FrictionLawError(name, None, f'is missing; law {law.law!r} needs {", ".join(needed)}')
    width = description.get('sign_width', 0.0)
    if isinstance(width, bool) or not isinstance(width, int | float):
        raise FrictionLawError('sign_width', width, 'must be a number')
    sign = Sign(description.get('sign', 'exact'), float(width))
    return law(sign=sign, **{name: description[name] for name in fields if name in description})
