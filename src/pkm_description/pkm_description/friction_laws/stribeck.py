"""Stribeck friction: by direction at rest, and with levels that grow with the normal force in the joint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from pkm_description.arrays import Array
from pkm_description.friction_laws.law import FrictionLaw, linear, nonlinear, option
from pkm_description.kernels import friction as kernels


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
