"""Stribeck friction whose levels grow with the normal force in the joint (Rosyid & El-Khasawneh 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pkm_description.arrays import Array
from pkm_description.friction_laws.law import ONSET, FrictionLaw, linear, nonlinear, option
from pkm_description.friction_laws.stribeck import stribeck_fading
from pkm_description.kernels import friction as kernels


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

    def _sensitivities(self, velocity: Array, load: Array) -> tuple[Array, ...]:
        sign, drop = self.sign(velocity), self.static_coefficient - self.coulomb_coefficient
        fading, by_velocity, by_exponent = stribeck_fading(velocity, self.stribeck_velocity, self.exponent)
        fading_load = sign * drop * (load + (self.additional_load if self.additional_level == 'stribeck' else 0.0))
        coefficient = self.coulomb_coefficient + drop * self._additional_fading(velocity, fading)
        return fading_load * by_velocity, fading_load * by_exponent, sign * coefficient

    def _additional_fading(self, velocity: Array, fading: Array) -> Array:
        if self.additional_level == 'stribeck':
            return fading
        return np.where(np.abs(velocity) <= ONSET, 1.0, 0.0)
