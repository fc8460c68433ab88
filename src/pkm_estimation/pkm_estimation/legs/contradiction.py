"""Whether measured positions of redundant drives fit together."""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kinematics import drive_positions
from pkm_description.kinematics.admissible_home import admissible_home
from pkm_description.kinematics.closed_legs import close_legs
from pkm_description.kinematics.drive_map import reduced_jacobian
from pkm_description.machine import Machine, Pose
from scipy.special import chdtri

#: probability of a contradiction by noise alone
_UNLIKELY = 1e-3


def contradiction(machine: Machine, positions: Array, pose: Pose, std: Array) -> str:
    """How positions (A,) of redundant drives contradict each other beyond their noise, in words; empty if they do not.

    What no pose explains of them is compared with its noise: chi-square with as many degrees of freedom as there are
    drives to spare.

    Parameters
    ----------
    pose : near the one that fits them best
    std : (A,) m or rad, standard deviations of the positions

    Raises
    ------
    KinematicsError
        No pose near is one that the legs admit.
    """
    spare = machine.actuated_count - machine.degrees_of_freedom
    if spare <= 0:
        return ''
    # noise leaves the pose that fits best off what legs admit that hold the platform
    pose = admissible_home(machine, pose).pose
    legs = close_legs(machine, pose.position[None], pose.rotation_base_platform[None])
    jacobian = reduced_jacobian(legs)[0] / std[:, None]
    off = (positions - np.ravel(drive_positions(machine, pose.position, pose.rotation_base_platform))) / std
    off -= jacobian @ np.linalg.lstsq(jacobian, off, rcond=None)[0]
    if not float(off @ off) > float(chdtri(spare, _UNLIKELY)):
        return ''
    worst = int(np.argmax(np.abs(off)))
    size = 1e3 * abs(off[worst] * std[worst])
    return (
        f'redundant drives contradict each other: {machine.drive_labels[worst]} is '
        f'{size:.3g} m{machine.position_units[worst]} '
        f'({abs(off[worst]):.3g} standard deviations) off what fits all best. Calibrate the zeros of the drives, state '
        'a larger noise of their positions, or estimate: [leg_offsets]'
    )
