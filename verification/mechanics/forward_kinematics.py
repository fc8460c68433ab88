"""How often forward kinematics is wrong: random poses of the workspace, solved again from their leg lengths."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array, packed
from pkm_description.kernels.forward_kinematics.assembly import straight_path_is_regular
from pkm_description.kernels.kinematics.tree import set_platform
from pkm_description.kinematics import drive_positions, forward_kinematics, leg_lengths
from pkm_description.kinematics.closed_legs import close_legs
from pkm_description.kinematics.forward import home_branch
from pkm_description.kinematics.joint_limits import position_limits, tilt_limits
from pkm_description.kinematics.rotation import rotation_exp
from pkm_description.kinematics.workspace import single_axis_limits
from pkm_description.machine import Machine

from verification.check import Check, at_most

#: rad, largest turn from home: ball joints do not tilt further, and few machine files give their cones
LARGEST_TURN = np.pi / 3.0
#: an answer this near to the pose drawn is right: position over platform radius, and rotation matrix entries;
#: 1e-12 m of length times the largest condition number accepted stays far below
SAME_POSE = 1e-6
#: poses drawn at once, and how many without a single usable one end the search
_BATCH, _PATIENCE = 20_000, 200


@dataclass(frozen=True)
class AnswerCount:
    """Results for the leg lengths of random poses that home reaches without passing a singular pose.

    Attributes
    ----------
    poses : drawn
    right : the pose drawn was returned
    refused : the result is marked, with a reason
    wrong : another pose was returned without a mark
    indistinguishable : those of the wrong ones that home reaches on a straight path without a singular pose, as it
        does the pose drawn: the machine has two such poses, and no method tells them apart by their lengths
    """

    poses: int
    right: int
    refused: int
    wrong: int
    indistinguishable: int


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """Judge the forward kinematics of a hexapod with U-P legs: 1e5 random poses, none wrong, few refused."""
    count = 5_000 if quick else 100_000
    found = count_wrong_answers(machine, count, seed=0)
    what = f'forward kinematics of {found.poses} random poses'
    yield at_most('FK', f'{what}: wrong answers', 0, found.wrong)
    yield at_most('FK', f'{what}: refused, share', 2e-3, found.refused / found.poses)


def count_wrong_answers(
    machine: Machine, count: int, seed: int, largest_turn: float = LARGEST_TURN
) -> AnswerCount:
    """Solve the leg lengths of random poses from home and count right, refused and wrong results.

    Parameters
    ----------
    count, seed, largest_turn : see :func:`random_workspace_poses`
    """
    position, rotation = random_workspace_poses(machine, count, seed, largest_turn)
    result = forward_kinematics(machine, drive_positions(machine, position, rotation))
    moved = np.abs(result.position - position).max(axis=1) / machine.platform_radius
    same = np.maximum(moved, np.abs(result.rotation_base_platform - rotation).max(axis=(1, 2))) < SAME_POSE
    wrong = result.trusted & ~same
    also_reached = regular_from_home(
        machine, result.position[wrong], result.rotation_base_platform[wrong], samples=200
    )
    return AnswerCount(
        poses=count,
        right=int(np.count_nonzero(result.trusted & same)),
        refused=int(np.count_nonzero(~result.trusted)),
        wrong=int(np.count_nonzero(wrong)),
        indistinguishable=int(np.count_nonzero(also_reached)),
    )


def random_workspace_poses(
    machine: Machine, count: int, seed: int, largest_turn: float = LARGEST_TURN
) -> tuple[Array, Array]:
    """Random poses (N, 3) m, (N, 3, 3) of a hexapod that its joints allow and home reaches.

    Uniform in the box of the single-axis excursions (position, and rotation vector from home), less the poses that
    break a joint's limit, turn further than ``largest_turn`` [rad] or lie beyond a singular pose on the straight
    path from home.

    Raises
    ------
    ValueError
        If no such pose is found.
    """
    random = np.random.default_rng(seed)
    home = machine.home
    box = np.array([excursion for _, excursion in sorted(single_axis_limits(machine).items())])
    stroke = machine.lengths_at_zero[:, None] + np.stack(
        [limit[machine.drive_columns] for limit in (machine.position_lower, machine.position_upper)], axis=1
    )
    positions, rotations, found, batches = [np.zeros((0, 3))], [np.zeros((0, 3, 3))], 0, 0
    while found < count:
        if batches == _PATIENCE and not found:
            raise ValueError(f'{machine.name}: no random pose within the limits of the joints')
        batches += 1
        move = random.uniform(box[:, 0], box[:, 1], (_BATCH, 6))
        move = move[np.linalg.norm(move[:, 3:], axis=1) <= largest_turn]
        position, rotation = home.position + move[:, :3], rotation_exp(move[:, 3:]) @ home.rotation_base_platform
        # cheap and selective tests first; only the remaining poses are closed and followed
        lengths = leg_lengths(machine, position, rotation)
        keep = ((lengths >= stroke[:, 0]) & (lengths <= stroke[:, 1])).all(axis=1)
        for allowed in (_within_limits, regular_from_home):
            position, rotation = position[keep], rotation[keep]
            keep = allowed(machine, position, rotation)
        positions.append(position[keep])
        rotations.append(rotation[keep])
        found += int(np.count_nonzero(keep))
    return np.concatenate(positions)[:count], np.concatenate(rotations)[:count]


def regular_from_home(machine: Machine, position: Array, rotation: Array, samples: int = 32) -> NDArray[np.bool_]:
    """Tell which poses (N,) a platform on struts reaches from home on a straight path without passing a singular pose.

    The sign of the length Jacobian's determinant is looked at in ``samples`` places of the path, so it proves no more
    than their spacing allows; and where the straight path is singular, another one may not be.
    """
    model, scratch, branch = machine.compiled_model, machine.scratch[1], home_branch(machine)
    regular = np.zeros(len(position), dtype=bool)
    for sample in range(len(position)):
        set_platform(model, scratch, packed(position), packed(rotation), sample)
        regular[sample] = straight_path_is_regular(model, scratch, branch, samples)
    return regular


def _within_limits(machine: Machine, position: Array, rotation: Array) -> NDArray[np.bool_]:
    """Which poses (N,) are within the limits of all joints."""
    legs = close_legs(machine, position, rotation)
    outside = position_limits(machine, legs.positions).outside().any(axis=1)
    return np.asarray(~(outside | tilt_limits(machine, legs, len(position)).outside().any(axis=1)))
