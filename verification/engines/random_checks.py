"""Machines with mixed legs, drawn at random, against Pinocchio: motion, forces and forward dynamics.

The comparison uses Pinocchio's joint Jacobians, mass matrix and recursion only. A machine that the library refuses is
counted with its reason; one whose figures differ without a refusal is what must not happen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics import forward_dynamics, inverse_dynamics, rigid_body_parameters, rigid_body_regressor
from pkm_description.errors import PkmError
from pkm_description.kinematics import forward_kinematics, joint_motion
from pkm_description.kinematics.workspace import random_states
from pkm_description.machine import Machine, PlatformMotion
from pkm_description.machine.machine import without_rotors

from verification.check import Check, at_most, holds, not_reachable, relative_error
from verification.engines.drives import driven_by, independent_drives
from verification.engines.pinocchio import PinocchioTree, pinocchio_result
from verification.engines.pinocchio_models import forward_motion
from verification.engines.projection import EngineMissingError, position_rows
from verification.engines.random_machines import random_machines
from verification.machine_groups import CheckGroup, machine_plan
from verification.suite import Part, Plan, Request, Workers

#: steps of the drives, and Newton's iterations after each, and after the last
_STEPS, _ITERATIONS, _LAST_ITERATIONS = 300, 3, 30
#: singular values of the closures' Jacobian below this part of the largest count as zero
_RANK = 1e-9


def followed_from_home(tree: PinocchioTree, drives: Array) -> Array:
    """Positions (J,) of all joints. Redundant drives are met in the sense of least squares.

    Parameters
    ----------
    tree : of a machine with a platform
    drives : (A,) their positions at the end
    """
    machine = tree.machine
    home = machine.home
    joints: Array = machine.model.home_joints
    configuration = tree.configuration(joints, home.position, home.rotation_base_platform)
    places = [tree.model.joints[joint].idx_q for joint in tree.ids]
    driven = np.array(places)[machine.drive_columns]
    begin = configuration[driven]
    for part in np.linspace(0.0, 1.0, _STEPS + 1)[1:]:
        for _ in range(_ITERATIONS if part < 1.0 else _LAST_ITERATIONS):
            wanted = begin + part * (drives - begin) - configuration[driven]
            configuration = tree.pin.integrate(tree.model, configuration, _correction(tree, configuration, wanted))
    reached: Array = configuration[places]
    return reached


def _correction(tree: PinocchioTree, configuration: Array, wanted: Array) -> Array:
    """Change (nv,) that closes the loops and, along what they leave free, moves the drives by what is wanted (A,)."""
    jacobian = tree.closure_jacobian(configuration)
    jacobian[:, tree.idle] = 0.0
    left, values, right = np.linalg.svd(jacobian)
    rank = int(np.sum(values > _RANK * values[0]))
    closing = -right[:rank].T @ (left[:, :rank].T @ _gaps(tree) / values[:rank])
    free = np.delete(np.eye(tree.model.nv), tree.idle, axis=1)
    free = free @ np.linalg.svd(jacobian @ free)[2][rank:].T
    along: Array = np.linalg.lstsq(free[tree.driven], wanted - closing[tree.driven], rcond=None)[0]
    return np.asarray(closing + free @ along)


def _gaps(tree: PinocchioTree) -> Array:
    """What is left open (C,), row by row of the closures' Jacobian; nothing leaves the plane of a planar machine."""
    planar, rows = tree.machine.planar, []
    for cut in tree.closures:
        tip, anchor = tree.data.oMf[cut.tip], tree.data.oMf[cut.anchor]
        rows += list((tip.translation - anchor.translation)[: position_rows(planar)])
        rows += [tip.rotation[:, first] @ anchor.rotation[:, second] for first, second in cut.pairs]
    return np.array(rows + [0.0] * (3 * planar))


#: random machines, in full and quick
_COUNT, _QUICK_COUNT = 240, 20
#: random states of each machine
_SAMPLES = 3
#: relative, what rounding makes of conditions up to a thousand in a random state
_LIMIT = 1e-8
#: part of the machines that may be refused: states near singular poses
_REFUSED = 0.05
#: part of the states to which forward kinematics from home does not come back
_OTHER = 0.05
#: rad, m: joints nearer than this are the same configuration; near a singular pose there is another one close by
_NEAR = 1e-6
_SEED = 2026


@dataclass(frozen=True)
class Comparison:
    """Largest errors of one machine, by what was compared; relative, gaps in m; and how its samples came out."""

    name: str
    errors: dict[str, float]
    counts: Counter[str]


def plan(groups: Sequence[CheckGroup], request: Request, workers: Workers) -> Plan:
    """Checks of every machine; where no machine is named, random ones, too."""
    whole = machine_plan(groups, request, workers)
    if request.machines:
        return whole
    count = _QUICK_COUNT if request.quick else _COUNT
    part = Part(f'{count} random machines', partial(checks, count))
    return replace(whole, parts=(*whole.parts, part))


def checks(count: int) -> Iterator[Check]:
    """Compare so many random machines; one check for each quantity, and how many were refused."""
    found: list[Comparison] = []
    reasons: Counter[str] = Counter()
    try:
        for number, machine in enumerate(random_machines(count, _SEED)):
            try:
                found.append(compared(machine, number))
            except PkmError as error:
                reasons[f'{machine.name}: {error}'] += 1
    except EngineMissingError as error:
        yield not_reachable('random', f'{count} random machines', f'<= {_LIMIT:g}', str(error))
        return
    for what in dict.fromkeys(what for one in found for what in one.errors):
        worst = max((one for one in found if what in one.errors), key=lambda one: _size(one.errors[what]))
        text = f'{len(found)} random machines, {what} (worst: {worst.name})'
        yield at_most('random', text, _LIMIT, worst.errors[what])
    counts = sum((one.counts for one in found), Counter[str]())
    other, doubtful = counts['another configuration'], counts['not trusted']
    text = f"{other} and {doubtful} of {counts['samples']}"
    what = 'forward kinematics from home: another configuration of the same drives, and not trusted'
    good = other + doubtful <= _OTHER * counts['samples']
    yield holds('random', what, f'together at most {_OTHER:.0%}', text, good)
    refused = sum(reasons.values())
    text = f'{refused} of {count}' + ''.join(f'; {reason}' for reason in list(reasons)[:3])
    required = f'at most {_REFUSED:.0%}'
    yield holds('random', 'random machines refused, with the reason', required, text, refused <= _REFUSED * count)


def _size(error: float) -> float:
    return np.inf if np.isnan(error) else error


def compared(machine: Machine, seed: int) -> Comparison:
    """Compare one machine at random states without friction.

    Raises
    ------
    PkmError
        The library refuses the machine or all of its states.
    """
    motion = states(machine, seed)
    joints = joint_motion(machine, motion)
    result = pinocchio_result(machine, joints.positions, motion)
    forces = inverse_dynamics(machine, motion, friction=False)
    errors = {
        'closures at our joint positions [m]': float(result.gaps.max()),
        'joint velocities, relative': relative_error(joints.velocities, result.velocities),
        'joint accelerations, relative': relative_error(joints.accelerations, result.accelerations),
        'inverse dynamics, relative': relative_error(forces, result.drive_forces),
    }
    rigid = rigid_body_regressor(machine, motion, False) @ rigid_body_parameters(machine, False)
    bare = inverse_dynamics(without_rotors(machine), motion, friction=False)
    errors['regressor x parameters, relative'] = relative_error(rigid, bare)
    pushed = forces * np.random.default_rng(seed).uniform(0.5, 1.5, forces.shape)
    expected, _ = forward_motion(machine, joints.positions, motion, pushed)
    pose = motion.position, motion.rotation_base_platform
    moved = forward_dynamics(machine, *pose, motion.twist, pushed, friction=False)
    errors['forward dynamics, relative'] = relative_error(moved, expected)
    forward, counts = _forward(machine, motion, joints.positions)
    return Comparison(machine.name, errors | forward, counts)


def _forward(machine: Machine, motion: PlatformMotion, positions: Array) -> tuple[dict[str, float], Counter[str]]:
    """Forward kinematics from home against the drawn states: errors, and how many samples came out how.

    Drives have several configurations. One that is trusted and is not the drawn one must close in the engine, and must
    be where the engine gets from home while the drives go straight to their positions; it is counted.
    """
    found = forward_kinematics(machine, positions[:, machine.drive_columns])
    near = np.abs(found.joint_positions - positions).max(axis=1) < _NEAR
    tree, gaps, apart = PinocchioTree(machine), [0.0], [0.0]
    for sample in np.flatnonzero(found.trusted):
        pose = found.position[sample], found.rotation_base_platform[sample]
        tree.closure_jacobian(tree.configuration(found.joint_positions[sample], *pose))
        gaps.append(tree.gap())
        if not near[sample]:
            reached = followed_from_home(tree, positions[sample, machine.drive_columns])
            apart.append(float(np.abs(reached - found.joint_positions[sample]).max()))
    same = found.trusted & near
    shift = found.position[same] - motion.position[same]
    turn = found.rotation_base_platform[same] - motion.rotation_base_platform[same]
    errors = {
        'closures where forward kinematics is trusted [m, 1]': max(gaps),
        'forward kinematics on the drawn configuration [m, 1]': max(
            np.abs(shift).max(initial=0.0), np.abs(turn).max(initial=0.0)
        ),
        'forward kinematics on another configuration against the path of the drives [m, rad]': max(apart),
    }
    counts = Counter({
        'samples': len(positions), 'not trusted': int(np.sum(~found.trusted)),
        'another configuration': int(np.sum(found.trusted & ~near)),
    })  # fmt: skip
    return errors, counts


def states(machine: Machine, seed: int) -> PlatformMotion:
    """Random states; where drives are redundant, of as many of them as there are degrees of freedom."""
    chosen = driven_by(machine, independent_drives(machine))
    return random_states(chosen, _SAMPLES, seed=seed, turn=0.15, move=0.06)
