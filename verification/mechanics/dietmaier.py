"""Dietmaier's platform: 40 real poses for one set of leg lengths, the most that a hexapod can have."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kinematics import (
    AssemblyModes,
    assembly_modes,
    forward_kinematics,
    leg_lengths,
    length_jacobian,
)
from pkm_description.kinematics.rotation import rotation_exp, rotation_log
from pkm_description.machine import Machine, Pose

from verification.check import Check, at_least, at_most, equal

# Dietmaier 1998, "The Stewart-Gough platform of general geometry can have 40 real postures"; numbers, lengths and the
# pose as the public solver martyushev/fkSGP (MIT licence) gives them
BASE_POINTS = np.array(
    [
        [0.0, 0.0, 0.0],
        [1.107915, 0.0, 0.0],
        [0.549094, 0.756063, 0.0],
        [0.735077, -0.223935, 0.525991],
        [0.514188, -0.526063, -0.368418],
        [0.590473, 0.094733, -0.205018],
    ]
)
PLATFORM_POINTS = np.array(
    [
        [0.0, 0.0, 0.0],
        [0.542805, 0.0, 0.0],
        [0.956919, -0.528915, 0.0],
        [0.665885, -0.353482, 1.402538],
        [0.478359, 1.158742, 0.107672],
        [-0.137087, -0.235121, 0.353913],
    ]
)
LENGTHS = np.array([1.0, 0.645275, 1.086284, 1.503439, 1.281933, 0.771071])
POSE = Pose(
    np.array([0.955868038233880, -0.046995628998516, -0.290013283037649]),
    np.array(
        [
            [-0.040450357031281, -0.932229494397471, 0.359599691867884],
            [0.983337493748685, 0.026695523074364, 0.179818582009314],
            [-0.177231887661606, 0.360881585597300, 0.915616371179918],
        ]
    ),
)
#: poses of a path between two modes
_SAMPLES = 200


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """Judge all poses, and paths that join modes of one sign, sample by sample; legs are the machine's."""
    hexapod = _with_points(machine)
    modes = assembly_modes(hexapod, LENGTHS - hexapod.lengths_at_zero)
    yield equal('FK-40', "Dietmaier's platform: real poses", 40, len(modes))
    yield at_most('FK-40', "Dietmaier's platform: lengths of all poses", 1e-12, modes.residual, 'm')
    published = leg_lengths(hexapod, POSE.position[None], POSE.rotation_base_platform[None]) - LENGTHS
    yield at_most('FK-40', "Dietmaier's platform: lengths of the published pose", 1e-12, published, 'm')
    yield at_least('FK-40', 'random starts that converge to each pose', 1, modes.hits.min())
    kept, error = _joined_modes(hexapod, modes)
    yield at_least('FK-40', 'paths that end in another pose with the lengths of the start', 4, kept)
    yield at_most('FK-40', 'their assembly mode is kept: error of the poses', 1e-8, error, 'm')


def _joined_modes(machine: Machine, modes: AssemblyModes) -> tuple[int, float]:
    """Count the straight paths that join two modes far from singular poses, and the largest error along them."""
    count, worst = 0, 0.0
    for first, last in np.argwhere(np.triu(modes.determinant_sign[:, None] == modes.determinant_sign, 1)):
        position, rotation, determinant = _path(machine, modes, first, last)
        if determinant.min() > 0.0 and np.linalg.cond(length_jacobian(machine, position, rotation)).max() < 200.0:
            at = Pose(position[0], rotation[0])
            for sample, lengths in enumerate(leg_lengths(machine, position, rotation)):
                found = forward_kinematics(machine, lengths - machine.lengths_at_zero, at)
                at = Pose(found.position[0], found.rotation_base_platform[0])
                move, turn = at.position - position[sample], at.rotation_base_platform - rotation[sample]
                worst = max(worst, np.abs(move).max(), np.abs(turn).max())
            count += 1
    return count, worst


def _path(machine: Machine, modes: AssemblyModes, first: int, last: int) -> tuple[Array, Array, Array]:
    """Straight path of poses (N, 3), (N, 3, 3), and the determinant (N,) of the length Jacobian, positive at first."""
    part = np.linspace(0.0, 1.0, _SAMPLES)[:, None]
    begin, end = modes.rotation_base_platform[first], modes.rotation_base_platform[last]
    position = modes.position[first] + part * (modes.position[last] - modes.position[first])
    rotation = rotation_exp(part * rotation_log(end @ begin.T)) @ begin
    determinant = np.linalg.det(length_jacobian(machine, position, rotation))
    return position, rotation, determinant * modes.determinant_sign[first]


def _with_points(machine: Machine) -> Machine:
    """Hexapod with Dietmaier's joints on the machine's legs."""
    legs = tuple(
        dataclasses.replace(
            leg, joints=(dataclasses.replace(leg.joints[0], translation=base), *leg.joints[1:])
        ).with_end(other_point=platform)
        for leg, base, platform in zip(machine.legs, BASE_POINTS, PLATFORM_POINTS, strict=True)
    )
    return dataclasses.replace(machine, name='dietmaier', legs=legs, home=POSE)
