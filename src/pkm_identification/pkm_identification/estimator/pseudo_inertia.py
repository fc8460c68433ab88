"""Ten inertial parameters of a body as its pseudo-inertia, a symmetric matrix (4, 4).

``J = [[second moments of mass, first moments], [first moments', mass]]``. A body that can exist has a positive definite
J, and the other way round: mass > 0, inertia about the centre of mass positive definite, triangle inequality
(Wensing, Kim, Slotine 2018). J is linear in the parameters.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics.parameter_reduction.reduction import Indices
from pkm_description.machine import INERTIAL_PARAMETERS
from pkm_description.machine.parts import inertia_tensor


def pseudo_inertia(parameters: Array) -> Array:
    """Pseudo-inertia (4, 4) of ten parameters (10,), inertia about the origin of the body's frame."""
    inertia = inertia_tensor(parameters[4:])
    pseudo = np.empty((4, 4))
    pseudo[:3, :3] = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    pseudo[:3, 3] = pseudo[3, :3] = parameters[1:4]
    pseudo[3, 3] = parameters[0]
    return pseudo


#: rows and columns of the ten entries of a symmetric matrix (4, 4), and the basis matrices (10, 4, 4) of these
ROWS, COLUMNS = np.triu_indices(4)
BASIS = np.zeros((10, 4, 4))
BASIS[np.arange(10), ROWS, COLUMNS] = BASIS[np.arange(10), COLUMNS, ROWS] = 1.0
#: linear map (10, 16) from the pseudo-inertia's entries to the ten parameters, whose factors are whole numbers
FROM_PSEUDO = np.zeros((10, 16))
FROM_PSEUDO[:, 4 * ROWS + COLUMNS] = np.round(
    np.linalg.inv([pseudo_inertia(unit)[ROWS, COLUMNS] for unit in np.eye(10)]).T
)


def parameters_by_whitened(root: Array) -> Array:
    """Linear map (10, 10) from the entries of Y to the parameters of the pseudo-inertia ``L Y L'``, L = root (4, 4)."""
    spread = np.einsum('ia,kab,jb->kij', root, BASIS, root).reshape(10, 16)
    return np.asarray(FROM_PSEUDO @ spread.T)


def covariance_of_relative(pseudo: Array, relative: float) -> Array:
    """Covariance (10, 10) of a body's parameters in the metric of the cone of possible bodies.

    ``cov(J_ij, J_kl) = s^2 / 2 (J_ik J_jl + J_il J_jk)`` (Lee, Wensing, Park 2020): independent of units and axes, the
    mass has the relative standard deviation s, and a slender or flat body stays one.
    """
    fourth = np.einsum('ik,jl->ijkl', pseudo, pseudo) + np.einsum('il,jk->ijkl', pseudo, pseudo)
    return np.asarray(0.5 * relative**2 * FROM_PSEUDO @ fourth.reshape(16, 16) @ FROM_PSEUDO.T, dtype=float)


def is_inertial(name: str) -> bool:
    """Whether a parameter's name, ``leg_rod.Ixx`` or ``leg1_prismatic.viscous``, is that of a body."""
    return name.rpartition('.')[2] in INERTIAL_PARAMETERS


def places_of_bodies(names: Sequence[str]) -> dict[str, Indices]:
    """Places (10,) of the parameters of every body of which all ten are among the named ones."""
    place = {name: index for index, name in enumerate(names)}
    bodies = (name.removesuffix('.m') for name in names if name.endswith('.m'))
    found = {body: [place.get(f'{body}.{kind}', -1) for kind in INERTIAL_PARAMETERS] for body in bodies}
    return {body: np.array(places) for body, places in found.items() if min(places) >= 0}


def bodies_by_name(names: Sequence[str], values: Array) -> dict[str, Array]:
    """Collect ten parameters per body from named parameters; friction is left out."""
    return {body: np.array(values)[places] for body, places in places_of_bodies(names).items()}
