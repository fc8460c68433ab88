"""Static, Coulomb and viscous friction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pkm_description.arrays import Array
from pkm_description.friction_laws.law import FrictionLaw, linear, nonlinear
from pkm_description.kernels import friction as kernels


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

    def _sensitivities(self, velocity: Array, load: Array) -> tuple[Array, ...]:
        # a step: zero wherever the derivative exists
        return (np.zeros_like(velocity),)
