"""Platform motion from the motion of the drives, for machines with any number of degrees of freedom."""

from __future__ import annotations

import numpy as np

from pkm_description.arrays import Array
from pkm_description.errors import ShapeError
from pkm_description.kinematics.arguments import columns, numbers, of_samples, require_machine
from pkm_description.kinematics.closure import solve_closure
from pkm_description.kinematics.forward_result import ForwardKinematicsResult
from pkm_description.kinematics.leg_motion import close_legs, constraint_bias, leg_rates
from pkm_description.kinematics.overall_jacobian import inverse_overall_jacobian
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

    Velocities by the inverse of the overall Jacobian, accelerations with its analytic time derivative.

    Parameters
    ----------
    time : (N,) s
    positions, velocities, accelerations : (N, A) of the driven joints, m or rad and time derivatives
    initial, max_condition : see :func:`pkm_description.kinematics.solve_closure`

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
    closed = solve_closure(machine, positions, initial, max_condition=max_condition).require()
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
    pose = closed.position, closed.rotation_base_platform
    legs = close_legs(machine, *pose, closed.joint_positions)
    inverse = inverse_overall_jacobian(machine, legs)
    held = np.zeros((len(time), machine.constraint_count))
    twist = (inverse @ np.concatenate([velocities, held], axis=1)[..., None])[..., 0]
    still = np.zeros((len(time), 3))
    coasting = PlatformMotion(time, *pose, twist[:, :3], twist[:, 3:], still, still)
    rates, drift, chain_rates = leg_rates(machine, legs, coasting)
    held = constraint_bias(machine, legs, rates, chain_rates, twist[:, 3:])
    excess = np.concatenate([accelerations - drift[..., machine.actuated_index], held], axis=1)
    acceleration = (inverse @ excess[..., None])[..., 0]
    return PlatformMotion(coasting.time, *pose, twist[:, :3], twist[:, 3:], acceleration[:, :3], acceleration[:, 3:])
