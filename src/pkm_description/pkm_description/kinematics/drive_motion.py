"""Platform motion from the motion of the drives, for machines with any number of degrees of freedom."""

from __future__ import annotations

from math import prod

import numpy as np

from pkm_description.arrays import Array, packed
from pkm_description.errors import ShapeError
from pkm_description.kernels.drive_motion import motions_of_drives
from pkm_description.kinematics.arguments import columns, numbers, of_samples, require_machine
from pkm_description.kinematics.drive_map import require_drives
from pkm_description.kinematics.failures import require_ok
from pkm_description.kinematics.forward import forward_kinematics
from pkm_description.kinematics.forward_result import ForwardKinematicsResult
from pkm_description.machine import Machine, PlatformMotion


def motion_from_drives(
    machine: Machine,
    time: Array,
    positions: Array,
    velocities: Array,
    accelerations: Array,
    initial: ForwardKinematicsResult | None = None,
    max_condition: float = 1e4,
) -> PlatformMotion:
    """Platform motion of given drive motions, exact on the constraints of legs and plane.

    Velocities by the inverse of the drives' and constraints' Jacobian, accelerations with its analytic time derivative.

    Parameters
    ----------
    time : (N,) s
    positions, velocities, accelerations : (N, A) of the driven joints, m or rad and time derivatives; of machines with
        more drives than degrees of freedom they must fit together
    initial, max_condition : see :func:`pkm_description.kinematics.forward_kinematics`

    Raises
    ------
    SingularPoseError, ConvergenceError, AssemblyModeError
        Where the drives do not give a configuration on the home branch; names the sample.
    ShapeError
        Arrays of other shapes, or of different numbers of samples.
    """
    require_machine(machine)
    count = machine.actuated_count
    positions = columns('positions', positions, count, 'drive')
    samples = len(positions)
    time = numbers('time', time, f'({samples},)')
    if time.shape != (samples,):
        raise ShapeError('time', f'({samples},), one per row of the positions', time.shape)
    velocities = of_samples('velocities', velocities, samples, count)
    accelerations = of_samples('accelerations', accelerations, samples, count)
    closed = forward_kinematics(machine, positions, initial, max_condition=max_condition).require()
    return motion_of_configurations(machine, time, closed, velocities, accelerations)


def motion_of_configurations(
    machine: Machine, time: Array, closed: ForwardKinematicsResult, velocities: Array, accelerations: Array
) -> PlatformMotion:
    """Platform motion of configurations that forward kinematics found already, see :func:`motion_from_drives`.

    Parameters
    ----------
    time : (N,) s
    closed : N configurations, all of them trusted
    velocities, accelerations : (N, A) of the driven joints
    """
    require_drives(machine)
    data, scratch = machine.scratch
    position, rotation = packed(closed.position), packed(closed.rotation_base_platform)
    joints = packed(closed.joint_positions)
    joints = joints.reshape(len(position), prod(joints.shape[1:]))
    found = [np.empty_like(position) for _ in range(4)]
    status = motions_of_drives(
        machine.compiled_model, scratch, joints, position, rotation, packed(velocities), packed(accelerations), *found
    )
    if status < 0:
        require_ok(machine, status, data.detail)
    return PlatformMotion(time, position, rotation, *found)
