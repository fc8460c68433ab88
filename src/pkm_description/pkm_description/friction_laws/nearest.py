"""Least-squares viscous and Coulomb friction for a law, for simulators that have only these two."""

from __future__ import annotations

import numpy as np

from pkm_description.friction_laws.law import FrictionLaw
from pkm_description.friction_laws.sign import EXACT_SIGN
from pkm_description.friction_laws.viscous_coulomb import ViscousCoulomb

#: speeds compared, from a tenth of a percent of the largest one, evenly spaced in their logarithm and linearly
_SPEEDS = np.concatenate([np.geomspace(1e-3, 1.0, 60), np.linspace(0.0, 1.0, 61)[1:]])


def nearest_viscous_coulomb(law: FrictionLaw, speed: float) -> tuple[float, float]:
    """Viscous and Coulomb coefficient, both >= 0, by least squares of the force up to a speed.

    Both directions are averaged; a law that depends on the load counts without it (its additional load stays).

    Parameters
    ----------
    speed : m/s or rad/s, > 0; 1 is taken where it is infinite
    """
    if isinstance(law, ViscousCoulomb) and law.sign == EXACT_SIGN:
        return float(law.viscous), float(law.coulomb)
    from scipy.optimize import nnls  # a third of a second, for laws that few machines have

    speeds = _SPEEDS * (speed if np.isfinite(speed) else 1.0)
    forces = 0.5 * (law.force(speeds, 0.0) - law.force(-speeds, 0.0))
    solution, _ = nnls(np.column_stack([speeds, np.ones_like(speeds)]), forces)
    return float(solution[0]), float(solution[1])
