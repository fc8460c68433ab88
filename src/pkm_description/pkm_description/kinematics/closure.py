"""Forward kinematics of any machine: Newton iterations on all passive joints and the platform pose at once.

Behind :func:`pkm_description.kinematics.forward_kinematics`, which takes a faster way for hexapods.
"""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from pkm_description.arrays import Array
from pkm_description.errors import KinematicsError
from pkm_description.kinematics.arguments import columns, require_machine, require_platform
from pkm_description.kinematics.chain import ChainPose, chain_pose, tip_jacobian
from pkm_description.kinematics.forward_result import ForwardKinematicsResult
from pkm_description.kinematics.leg_branch import leg_orientations
from pkm_description.kinematics.leg_motion import close_legs, joint_positions
from pkm_description.kinematics.overall_jacobian import scaled_condition
from pkm_description.kinematics.rotation import rotation_exp, skew
from pkm_description.machine import Machine

#: steps from home to the target where iterations from home itself fail
_CONTINUATION_STEPS = 20

#: longest Newton step: rad, and m as a fraction of the platform radius
_LONGEST_STEP = 0.3


@dataclass(frozen=True)
class _Home:
    """Home configuration: joint positions (1, L, J), pose, and the signs that tell its branch."""

    joint_positions: Array
    position: Array
    rotation: Array
    determinant_sign: float
    leg_orientations: Array


_HOMES: WeakKeyDictionary[Machine, _Home] = WeakKeyDictionary()


def solve_closure(
    machine: Machine,
    drives: Array,
    initial: ForwardKinematicsResult | None = None,
    tolerance: float = 1e-12,
    max_iterations: int = 30,
    max_condition: float = 1e4,
) -> ForwardKinematicsResult:
    """Close all loops at given positions of the driven joints, all samples at once.

    Damped Newton steps of limited length, from home or from ``initial``. Samples that fail from home, or end on
    another assembly mode, are approached once more in small steps of the drives. What still fails is marked in the
    result, never mended.

    Parameters
    ----------
    drives : (N, A) m or rad
    initial : configuration(s) to start from, one or N; default home
    tolerance : m, on the largest gap between a leg's tip and its platform joint
    max_iterations : Newton steps
    max_condition : see :meth:`ForwardKinematicsResult.require`
    """
    require_machine(machine)
    require_platform(machine, 'chain_pose')
    drives = columns('drives', drives, machine.actuated_count, 'drive')
    home = _home(machine)
    start = initial or home
    rotation = start.rotation if isinstance(start, _Home) else start.rotation_base_platform
    joints = start.joint_positions.reshape(-1, machine.leg_count, machine.joint_count)
    state = _State.spread(len(drives), joints, start.position, rotation)
    iterations = _iterate(machine, state, drives, tolerance, max_iterations)
    result = _judged(machine, state, iterations, tolerance, max_condition)
    failed = np.flatnonzero(~result.trusted & np.isfinite(drives).all(axis=1))
    if initial is None and len(failed):
        again = _continued(machine, home, drives[failed], tolerance, max_iterations)
        good = _judged(machine, again, iterations[failed], tolerance, max_condition).trusted
        state.replace(failed[good], again, good)
        result = _judged(machine, state, iterations, tolerance, max_condition)
    return result


@dataclass
class _State:
    """Iterates of N samples."""

    joints: Array
    position: Array
    rotation: Array

    @classmethod
    def spread(cls, count: int, joints: Array, position: Array, rotation: Array) -> _State:
        return cls(
            np.array(np.broadcast_to(joints, (count, *joints.shape[-2:]))),
            np.array(np.broadcast_to(position, (count, 3))),
            np.array(np.broadcast_to(rotation, (count, 3, 3))),
        )

    def replace(self, places: NDArray[np.intp], other: _State, chosen: NDArray[np.bool_]) -> None:
        self.joints[places] = other.joints[chosen]
        self.position[places] = other.position[chosen]
        self.rotation[places] = other.rotation[chosen]


def _continued(
    machine: Machine, home: _Home, drives: Array, tolerance: float, max_iterations: int
) -> _State:
    """Follow the drives from home to their targets in small steps."""
    at_home = home.joint_positions[..., machine.actuated_index]
    state = _State.spread(len(drives), home.joint_positions, home.position, home.rotation)
    for step in range(1, _CONTINUATION_STEPS + 1):
        target = at_home + (drives - at_home) * (step / _CONTINUATION_STEPS)
        _iterate(machine, state, target, tolerance, max_iterations)
    return state


def _iterate(
    machine: Machine, state: _State, drives: Array, tolerance: float, max_iterations: int
) -> NDArray[np.intp]:
    """Newton iterations in place; returns the number of steps (N,)."""
    passive, free = _unknowns(machine)
    state.joints[..., machine.actuated_index] = drives
    iterations = np.zeros(len(drives), dtype=np.intp)
    limit = np.concatenate([_step_limits(machine)[passive], _pose_limits(machine)[free]])
    active = np.arange(len(drives))
    for iteration in range(max_iterations):
        chain = chain_pose(machine, state.joints[active])
        gap, levers = _gaps(machine, chain, state.position[active], state.rotation[active])
        going = np.abs(gap).max(axis=(1, 2)) > tolerance
        iterations[active] = iteration
        if not going.any():
            break
        matrix = _closure_matrix(machine, chain, levers)[going]
        active, right = active[going], -gap[going].reshape(int(going.sum()), -1)
        step = _damped_solve(matrix, right)
        step /= np.maximum(np.abs(step / limit).max(axis=1, keepdims=True), 1.0)
        change = np.zeros((len(active), machine.leg_count * machine.joint_count))
        change[:, passive] = step[:, : len(passive)]
        state.joints[active] += change.reshape(-1, machine.leg_count, machine.joint_count)
        move = np.zeros((len(active), 6))
        move[:, free] = step[:, len(passive) :]
        state.position[active] += move[:, :3]
        state.rotation[active] = rotation_exp(move[:, 3:]) @ state.rotation[active]
    return iterations


def _unknowns(machine: Machine) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Places of the passive joints among all joints, and of the free components of the platform's twist."""
    places = np.arange(machine.leg_count * machine.joint_count).reshape(machine.leg_count, machine.joint_count)
    passive = np.delete(places, machine.actuated_index, axis=1).ravel()
    return passive, np.array([0, 1, 5]) if machine.planar else np.arange(6)


def _step_limits(machine: Machine) -> Array:
    one = [
        _LONGEST_STEP if kind == 'revolute' else _LONGEST_STEP * machine.platform_radius
        for kind in machine.joint_kinds
    ]
    return np.tile(one, machine.leg_count)


def _pose_limits(machine: Machine) -> Array:
    return _LONGEST_STEP * np.array([machine.platform_radius] * 3 + [1.0] * 3)


def _gaps(machine: Machine, chain: ChainPose, position: Array, rotation: Array) -> tuple[Array, Array]:
    """Tips minus platform joints (N, L, R) m in the closing directions, and levers (N, L, 3)."""
    levers = machine.platform_points @ np.swapaxes(rotation, -1, -2)
    gap = chain.tip - position[:, None] - levers
    return gap[..., : machine.closing_equations], levers


def _closure_matrix(machine: Machine, chain: ChainPose, levers: Array) -> Array:
    """Derivative (N, L R, unknowns) of the gaps by passive joints and pose."""
    passive, free = _unknowns(machine)
    samples, legs, joints, rows = len(levers), machine.leg_count, machine.joint_count, machine.closing_equations
    tips = tip_jacobian(machine, chain)[..., :rows, :]
    by_joints = np.zeros((samples, legs, rows, legs, joints))
    each = np.arange(legs)
    by_joints[:, each, :, each, :] = np.moveaxis(tips, 1, 0)
    by_pose = np.empty((samples, legs, rows, 6))
    by_pose[..., :3] = -np.eye(3)[:rows]
    by_pose[..., 3:] = skew(levers)[..., :rows, :]
    flat = by_joints.reshape(samples, legs * rows, legs * joints)[..., passive]
    return np.concatenate([flat, by_pose.reshape(samples, legs * rows, 6)[..., free]], axis=-1)


def _damped_solve(matrix: Array, right: Array) -> Array:
    """Solve square systems; singular ones by least squares, so that one bad sample does not stop the others."""
    try:
        return np.asarray(np.linalg.solve(matrix, right[..., None]), dtype=float)[..., 0]
    except np.linalg.LinAlgError:
        transposed = np.swapaxes(matrix, -1, -2)
        normal = transposed @ matrix
        places = np.arange(normal.shape[-1])
        normal[..., places, places] += 1e-10 * normal[..., places, places].max(axis=-1, keepdims=True)
        return np.asarray(np.linalg.solve(normal, transposed @ right[..., None]), dtype=float)[..., 0]


def _judged(
    machine: Machine, state: _State, iterations: NDArray[np.intp], tolerance: float, max_condition: float
) -> ForwardKinematicsResult:
    for place, kind in enumerate(machine.joint_kinds):  # full turns of passive joints mean nothing
        if kind == 'revolute' and place != machine.actuated_index:
            home = machine.leg_home_positions[:, place]
            state.joints[..., place] = home + (state.joints[..., place] - home + np.pi) % (2.0 * np.pi) - np.pi
    chain = chain_pose(machine, state.joints)
    gap, levers = _gaps(machine, chain, state.position, state.rotation)
    distance = np.sqrt(np.sum(gap * gap, axis=-1))
    home_branch = _home(machine)
    with np.errstate(invalid='ignore'):  # NaN where the solver found nothing: not right
        orientations = leg_orientations(machine, chain)
        determinant = np.linalg.det(_closure_matrix(machine, chain, levers))
    right = (determinant * home_branch.determinant_sign > 0.0) & (
        np.sum(orientations * home_branch.leg_orientations, axis=-1) > 0.0
    ).all(axis=1)
    residual = distance.max(axis=1)
    converged = residual <= max(tolerance, 1e-11)
    condition = np.full(len(residual), np.nan)
    if converged.any():
        condition[converged] = _conditions(machine, state, converged)
    count = len(residual)
    return ForwardKinematicsResult(
        machine, state.position, state.rotation, converged, iterations, residual, distance.argmax(axis=1), condition,
        right, max_condition, np.full((count, 6), np.nan), np.zeros(count, dtype=bool), state.joints.reshape(count, -1),
    )  # fmt: skip


def _conditions(machine: Machine, state: _State, chosen: NDArray[np.bool_]) -> Array:
    """Condition numbers of chosen samples; infinite where a leg itself is singular."""
    try:
        legs = close_legs(machine, state.position[chosen], state.rotation[chosen], state.joints[chosen])
    except KinematicsError:
        if chosen.sum() == 1:
            return np.array([np.inf])
        singles = []
        for place in np.flatnonzero(chosen):  # rare: find the singular samples one by one
            one = np.zeros_like(chosen)
            one[place] = True
            singles.append(_conditions(machine, state, one)[0])
        return np.array(singles)
    return scaled_condition(machine, legs)


def _home(machine: Machine) -> _Home:
    """Home configuration of a machine, computed once."""
    if machine not in _HOMES:
        pose = machine.home
        position, rotation = pose.position[None], pose.rotation_base_platform[None]
        joints = joint_positions(machine, position, rotation)
        chain = chain_pose(machine, joints)
        _, levers = _gaps(machine, chain, position, rotation)
        sign = float(np.sign(np.linalg.det(_closure_matrix(machine, chain, levers))[0]))
        _HOMES[machine] = _Home(joints, position, rotation, sign, leg_orientations(machine, chain))
    return _HOMES[machine]
