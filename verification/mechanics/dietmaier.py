"""Dietmaier's platform: 40 real poses for one set of leg lengths, the most that a hexapod can have."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import SingularPoseError
from pkm_description.kinematics import (
    AssemblyModes,
    ForwardKinematicsResult,
    assembly_modes,
    forward_kinematics_sequence,
    leg_lengths,
    length_jacobian,
)
from pkm_description.kinematics.rotation import rotation_exp, rotation_log
from pkm_description.machine import Machine, Pose

from verification.check import Check, at_least, at_most, equal, holds

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
    """Judge all poses, paths that join modes of one sign, and paths through singular poses; legs are the machine's."""
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
    yield from _singular_checks(hexapod, modes, 6 if quick else 30)


def _singular_checks(machine: Machine, modes: AssemblyModes, wanted: int) -> Iterator[Check]:
    """Paths between modes of different sign pass a singular pose; later poses must not be marked as trusted."""
    wrong = trusted = named = paths = 0
    for first, last in np.argwhere(np.triu(modes.determinant_sign[:, None] != modes.determinant_sign)):
        position, rotation, determinant = _path(machine, modes, first, last)
        crossing = int(np.argmax(determinant <= 0.0))
        if crossing < 10:
            continue  # a mode cannot be watched before the path has begun
        result = _solved(machine, position, rotation)
        wrong += int(np.count_nonzero(result.trusted & (_error(result, position, rotation) > 1e-6)))
        trusted += int(np.count_nonzero(result.trusted[crossing:]))
        try:
            result.require()
        except SingularPoseError:
            named += 1
        paths += 1
        if paths == wanted:
            break
    yield equal('FK-40', f'{paths} paths through a singular pose: wrong poses not marked', 0, wrong)
    yield equal('FK-40', 'poses beyond the singular one not marked', 0, trusted)
    yield holds('FK-40', 'paths refused for their singular pose by name', f'{paths}', f'{named}', named == paths)


def _joined_modes(machine: Machine, modes: AssemblyModes) -> tuple[int, float]:
    """Count the straight paths that join two modes far from singular poses, and the largest error along them."""
    count, worst = 0, 0.0
    for first, last in np.argwhere(np.triu(modes.determinant_sign[:, None] == modes.determinant_sign, 1)):
        position, rotation, determinant = _path(machine, modes, first, last)
        if determinant.min() > 0.0 and np.linalg.cond(length_jacobian(machine, position, rotation)).max() < 200.0:
            result = _solved(machine, position, rotation).require()
            count, worst = count + 1, max(worst, float(_error(result, position, rotation).max()))
    return count, worst


def _solved(machine: Machine, position: Array, rotation: Array) -> ForwardKinematicsResult:
    """Solve the lengths of a path for its poses."""
    lengths = leg_lengths(machine, position, rotation)
    return forward_kinematics_sequence(machine, lengths - machine.lengths_at_zero, Pose(position[0], rotation[0]))


def _error(result: ForwardKinematicsResult, position: Array, rotation: Array) -> Array:
    move = np.abs(result.position - position).max(axis=1)
    return np.asarray(np.maximum(move, np.abs(result.rotation_base_platform - rotation).max(axis=(1, 2))))


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
