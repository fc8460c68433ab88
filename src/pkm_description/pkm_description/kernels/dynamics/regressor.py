"""Regressors of one sample: drive forces linear in the inertial parameters of the bodies."""

from __future__ import annotations

import math

from pkm_description.arrays import Array
from pkm_description.kernels.dynamics.inverse_dynamics import forces_of_state
from pkm_description.kernels.dynamics.state import move
from pkm_description.kernels.friction import law_columns, sign_of
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.kinematics.drive_map import map_drives, map_joints_to_drives
from pkm_description.kernels.kinematics.drive_motion import motion_of_drives
from pkm_description.kernels.kinematics.legs import accelerations_of_joints
from pkm_description.kernels.kinematics.tree import body_accelerations, column, map_bodies
from pkm_description.kernels.linalg import cross, dot, minus, plus, times, turned_back, vector
from pkm_description.kernels.model import MOTION_NOT_FINITE, OK, Integers, ModelData, ScratchData


@kernel
def add_blocks(
    model: ModelData, scratch: ScratchData, block: Integers, count: int, regressor: Array, sample: int
) -> None:
    """Add every body's ten columns to its block of a regressor (N, count, P); ``scratch.body_map`` has the coordinates.

    The power of Newton-Euler's wrench (:func:`.newton_euler.body_wrench`) on the body's twist
    [v, u] per coordinate, sorted by parameters: of the mass ``v . a``, of the first moment
    ``v x alpha + (v . w) w - (w . w) v + a x u``, of the inertia ``u . I alpha + (u x w) . I w``; in body axes, w the
    spin (Heimann & Abdellatif, Eq. 1).

    Parameters
    ----------
    block : (J + 1,) block of each body, the platform last; bodies with the same block are summed, -1 leaves one out
    """
    gravity = model.gravity[0], model.gravity[1], model.gravity[2]
    rotation, twists = scratch.rotation, scratch.body_map
    spins, spin_rates, accelerations = scratch.spin, scratch.spin_rate, scratch.acceleration
    for body in range(len(block)):
        if block[body] < 0:
            continue
        first = 10 * block[body]
        w = turned_back(rotation, body, vector(spins, body))
        alpha = turned_back(rotation, body, vector(spin_rates, body))
        a = turned_back(rotation, body, minus(vector(accelerations, body), gravity))
        ww = dot(w, w)
        for k in range(count):
            velocity, spin = column(twists, body, k)
            v, u = turned_back(rotation, body, velocity), turned_back(rotation, body, spin)
            uw = cross(u, w)
            moment = plus(minus(times(dot(v, w), w), times(ww, v)), plus(cross(v, alpha), cross(a, u)))
            regressor[sample, k, first] += dot(v, a)
            regressor[sample, k, first + 1] += moment[0]
            regressor[sample, k, first + 2] += moment[1]
            regressor[sample, k, first + 3] += moment[2]
            regressor[sample, k, first + 4] += u[0] * alpha[0] + uw[0] * w[0]
            regressor[sample, k, first + 5] += u[0] * alpha[1] + u[1] * alpha[0] + uw[0] * w[1] + uw[1] * w[0]
            regressor[sample, k, first + 6] += u[0] * alpha[2] + u[2] * alpha[0] + uw[0] * w[2] + uw[2] * w[0]
            regressor[sample, k, first + 7] += u[1] * alpha[1] + uw[1] * w[1]
            regressor[sample, k, first + 8] += u[1] * alpha[2] + u[2] * alpha[1] + uw[1] * w[2] + uw[2] * w[1]
            regressor[sample, k, first + 9] += u[2] * alpha[2] + uw[2] * w[2]


@kernel
def observation(
    model: ModelData, scratch: ScratchData, start: Array, position: Array, rotation: Array, linear: Array,
    angular: Array, linear_rate: Array, angular_rate: Array, block: Integers, regressor: Array, sample: int,
) -> int:  # fmt: skip
    """Add the regressor of one sample to a row of (N, A, P), which is zero before; see :func:`add_blocks`."""
    status = move(model, scratch, start, position, rotation, linear, angular, linear_rate, angular_rate, sample)
    if status < 0:
        return status
    status = map_drives(model, scratch)
    if status < 0:
        return status
    map_joints_to_drives(model, scratch)
    drives = len(model.drive_joint)
    map_bodies(model, scratch, scratch.joint_per_drive, scratch.twist_map, drives)
    add_blocks(model, scratch, block, drives, regressor, sample)
    return OK


@kernel
def observations(
    model: ModelData, scratch: ScratchData, start: Array, position: Array, rotation: Array, linear: Array,
    angular: Array, linear_rate: Array, angular_rate: Array, block: Integers, regressor: Array,
) -> int:  # fmt: skip
    """:func:`observation` of N samples; the regressor (N, A, P) is overwritten."""
    for sample in range(len(position)):
        clear(regressor, sample)
        status = observation(
            model, scratch, start, position, rotation, linear, angular, linear_rate, angular_rate, block, regressor,
            sample,
        )  # fmt: skip
        if status < 0:
            return status
    return OK


@kernel
def clear(matrices: Array, sample: int) -> None:
    """Set one of the matrices (N, I, K) to zero."""
    for i in range(matrices.shape[1]):
        for k in range(matrices.shape[2]):
            matrices[sample, i, k] = 0.0


@kernel
def drive_regressor(
    model: ModelData, scratch: ScratchData, joints: Array, position: Array, rotation: Array, rates: Array,
    accelerations: Array, external: Array, block: Integers, forces: Array, bodies: Array, friction: Array,
) -> int:  # fmt: skip
    """Forces of a machine's own parameters and regressors of one sample whose configuration is known.

    Parameters
    ----------
    joints, position, rotation : (1, J), (1, 3) m, (1, 3, 3)
    rates, accelerations : (1, A) of the drives
    external : (1, 6) wrench on the platform, base axes
    block : see :func:`~pkm_description.kernels.dynamics.regressor.add_blocks`
    forces : (1, A) with rotors and all friction
    bodies : (1, A, P) of the inertial parameters
    friction : (1, A, 4 A) of the linear parameters of each drive's friction law, unused ones zero
    """
    status = drive_dynamics(
        model, scratch, joints, position, rotation, rates, accelerations, True, 0.0, external, forces
    )
    if status < 0:
        return status
    map_joints_to_drives(model, scratch)
    clear(bodies, 0)
    drives = len(model.drive_joint)
    map_bodies(model, scratch, scratch.joint_per_drive, scratch.twist_map, drives)
    add_blocks(model, scratch, block, drives, bodies, 0)
    for d in range(drives):
        joint = model.drive_joint[d]
        rate = scratch.joint_rates[joint]
        sign = sign_of(rate, model.friction_sign[joint], model.friction_width[joint])
        columns = law_columns(model.friction_law[joint], rate, scratch.loads[joint], sign, model.friction_shape, joint)
        for a in range(drives):
            for k in range(4):
                friction[0, a, 4 * d + k] = scratch.joint_per_drive[joint, a] * columns[k]
    return OK


@kernel
def drive_dynamics(
    model: ModelData, scratch: ScratchData, joints: Array, position: Array, rotation: Array, rates: Array,
    accelerations: Array, friction: bool, smoothing: float, external: Array, forces: Array,
) -> int:  # fmt: skip
    """Drive forces (1, A) of one sample whose configuration is known.

    Parameters
    ----------
    joints, position, rotation : (1, J), (1, 3) m, (1, 3, 3)
    rates, accelerations : (1, A) of the drives
    """
    total = 0.0
    for a in range(rates.shape[1]):
        total += rates[0, a] + accelerations[0, a]
    if not math.isfinite(total):
        return MOTION_NOT_FINITE
    status = motion_of_drives(model, scratch, joints, position, rotation, rates, accelerations, 0)
    if status < 0:
        return status
    accelerations_of_joints(model, scratch)
    body_accelerations(model, scratch, scratch.joint_accelerations)
    return forces_of_state(model, scratch, friction, smoothing, external, forces, 0)
