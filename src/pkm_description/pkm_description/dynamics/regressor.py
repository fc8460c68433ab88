"""Rigid-body regressor: drive forces as a linear function of the inertial parameters."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pkm_description.arrays import Array
from pkm_description.dynamics.body_blocks import Groups, body_blocks
from pkm_description.kernels.dynamics.regressor import observations
from pkm_description.kinematics.arguments import require_machine_and_motion, require_platform, run_kernel
from pkm_description.kinematics.drive_map import require_drives
from pkm_description.kinematics.joint_motion import packed_motion, start_of
from pkm_description.machine import Machine, PlatformMotion

#: bytes of the regressor that :func:`regressor_parts` builds at once
_PART = 32_000_000


def rigid_body_regressor(
    machine: Machine,
    motion: PlatformMotion,
    identical_legs: bool = True,
    groups: Groups | None = None,
    start: Array | None = None,
) -> Array:
    """Regressor (N, A, P): drive forces without friction and rotors = regressor @ ``rigid_body_parameters``.

    Newton-Euler wrenches of every body, taken to the drives by virtual power (Heimann & Abdellatif, Eq. 1). Bodies
    that share parameters are summed on the way, so that the separate columns are never built. Long recordings do not
    fit into memory as one regressor: :func:`regressor_parts`.

    Parameters
    ----------
    motion : N samples
    identical_legs : as in :func:`pkm_description.dynamics.rigid_body_parameters`
    groups : bodies that share parameters instead, see :func:`pkm_description.dynamics.sharing_matrix`; the columns are
        those of its ``names``
    start : see :func:`pkm_description.kinematics.joint_positions`

    Raises
    ------
    SingularPoseError
        Where the drives do not determine the platform's motion, or a leg's angles are undefined; names the
        sample.
    """
    require_machine_and_motion(machine, motion)
    require_platform(machine, 'open_chain_regressor')
    require_drives(machine)
    block, count = body_blocks(machine, identical_legs, groups)
    result = np.empty((len(motion), machine.actuated_count, 10 * count))
    run_kernel(machine, observations, start_of(machine, start), *packed_motion(motion), block, result)
    return result


def regressor_parts(
    machine: Machine, motion: PlatformMotion, identical_legs: bool = True, groups: Groups | None = None
) -> Iterator[tuple[slice, Array]]:
    """Regressors of a long motion, part by part, in little memory: to sum up normal equations, or a QR.

    Parameters as :func:`rigid_body_regressor`; an error counts samples within the part.

    Yields
    ------
    samples : slice of the motion
    regressor : (n, A, P) of these samples
    """
    require_machine_and_motion(machine, motion)
    _, count = body_blocks(machine, identical_legs, groups)
    step = max(1, _PART // (8 * machine.actuated_count * 10 * count))
    parts = (slice(first, min(first + step, len(motion))) for first in range(0, len(motion), step))
    return ((part, rigid_body_regressor(machine, motion[part], identical_legs, groups)) for part in parts)
