"""An IMU that is turned by any angle against the machine file, with legs that are as the file says."""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array

from pkm_bringup.robot_check.agreement import ImuEvidence
from pkm_bringup.robot_check.axes import AXES, is_rotation
from pkm_bringup.robot_check.prediction import Prediction

#: part of the angular rate's power that may stay unexplained
_UNEXPLAINED = 0.05
#: least second singular value (of at most 2): with less, gravity and rates lie on one axis, and a turn about it is free
_SECOND = 0.02
#: rad, nearer to a turn by right angles the named axes are said
_APART = np.radians(12.0)


def free_mounting(evidence: ImuEvidence, prediction: Prediction) -> Array | None:
    """Rotation (3, 3), measured = rotation @ the file's axes, that explains rates and specific force.

    Least squares over both (Wahba's problem, solved by singular values, Markley 1988), each scaled to the same power.

    Returns
    -------
    None if no rotation explains them, they do not determine one, or it is one by right angles
    """
    if not evidence.uses_force:
        return None
    rows, measured_rows = evidence.good[prediction.found], evidence.good & prediction.found
    force, rate = evidence.specific_force[measured_rows], evidence.angular_rate[measured_rows]
    felt, wanted = prediction.specific_force[rows], prediction.angular_rate[rows]
    rate, wanted = rate - rate.mean(axis=0), wanted - wanted.mean(axis=0)
    power = float(np.sum(rate**2))
    if len(rate) < 10 or min(power, float(np.sum(wanted**2))) <= 0.0:
        return None
    cross = rate.T @ wanted / (np.linalg.norm(rate) * np.linalg.norm(wanted))
    cross += force.T @ felt / (np.linalg.norm(force) * np.linalg.norm(felt))
    left, sizes, right = np.linalg.svd(cross)
    rotation: Array = left @ np.diag([1.0, 1.0, np.linalg.det(left @ right)]) @ right
    misfit = float(np.sum((rate - wanted @ rotation.T) ** 2)) / power
    error = float(np.sqrt(np.mean(np.sum((force - felt @ rotation.T) ** 2, axis=1))))
    if sizes[1] < _SECOND or misfit > _UNEXPLAINED or error > evidence.force_allowed:
        return None
    traces = np.array([np.trace(rotation.T @ axes) for axes in AXES if is_rotation(axes)])
    return rotation if np.arccos(np.clip(0.5 * (traces.max() - 1.0), -1.0, 1.0)) > _APART else None
