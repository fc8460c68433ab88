"""Drive forces that hold a cut mechanism at home."""

from __future__ import annotations

import numpy as np

from pkm_description.arrays import Array
from pkm_description.importing.closing import Loops
from pkm_description.importing.mechanism import Mechanism


def holding_forces(mechanism: Mechanism) -> Array:
    """Forces (A,) N, N m of the drives against gravity at home, by virtual work; least ones where there are several."""
    loops = Loops(mechanism)
    places = loops.places(loops.home)
    weight = np.zeros(len(mechanism.joints) + 6)
    for body in (*(joint.body for joint in mechanism.joints), mechanism.platform):
        center = places[body.name].point(body.center_of_mass)
        weight += body.mass * mechanism.gravity @ loops.velocity_map(loops.home, body.name, center)
    matrix = loops.jacobian(loops.home)
    _, values, rows = np.linalg.svd(matrix)
    motions = rows[int((values > 1e-7 * values[0]).sum()) :].T
    forces: Array = -np.linalg.lstsq(motions[list(mechanism.drives)].T, motions.T @ weight, rcond=1e-9)[0]
    return forces
