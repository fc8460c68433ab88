"""What no single number shows: whether the machine as a whole is possible."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pkm_description.errors import MachineFileError
from pkm_description.machine.model import Machine
from pkm_description.machine.yaml_reader import Section

Array = NDArray[np.float64]

#: condition number of the length Jacobian (rotations scaled by the platform's radius) at home that is refused
MAX_CONDITION = 1e3

#: a length that is wrong by about this factor was given in millimetres, a mass in grams
_UNIT_FACTOR = 1000.0

#: larger than any motion base: m and kg of one body
_LARGEST_MACHINE, _HEAVIEST_BODY = 100.0, 1e6


def check_inertia(section: Section, inertia: Array) -> None:
    """Refuse an inertia tensor (3, 3) about the centre of mass that no body can have.

    Raises
    ------
    MachineFileError
        Not positive definite, or principal moments that break the triangle inequality.
    """
    moments = np.linalg.eigvalsh(inertia)
    if moments[0] <= 0.0:
        raise section.error('inertia', inertia.tolist(), f'is not positive definite, principal moments {moments}')
    if moments[0] + moments[1] < moments[2] * (1.0 - 1e-9):
        raise section.error(
            'inertia', inertia.tolist(),
            f'principal moments {moments}: the largest exceeds the sum of the others, which no body has; '
            'give the inertia about the centre of mass',
        )  # fmt: skip


def check_machine(machine: Machine) -> None:
    """Check names, units, strokes and the home pose.

    Raises
    ------
    MachineFileError
        Naming the key concerned and what to do.
    """
    _check_names(machine)
    _check_units(machine)
    _check_home_lengths(machine)
    _check_home_condition(machine)


def _check_names(machine: Machine) -> None:
    bodies = [machine.platform.name, machine.imu.frame, 'base_link']
    bodies += [joint.body.name for leg in machine.legs for joint in leg.joints]
    for name in bodies:
        if bodies.count(name) > 1:
            raise MachineFileError(machine.path, 'leg_chain', name, 'two links have this name; rename one')
    if not any(joint.actuated for joint in machine.legs[0].joints):
        raise MachineFileError(machine.path, 'leg_chain', None, 'no joint is driven; set actuated: true for one')


def _check_units(machine: Machine) -> None:
    for leg in machine.legs:
        for key, point in (('base_point', leg.base_point), ('platform_point', leg.platform_point)):
            if np.abs(point).max() > _LARGEST_MACHINE:
                raise _error(machine, f'legs.{leg.name}.{key}', point, 'looks like millimetres; give metres')
    if np.abs(machine.home.position).max() > _LARGEST_MACHINE:
        raise _error(machine, 'platform.home.xyz', machine.home.position, 'looks like millimetres; give metres')
    for body in (machine.platform, *(joint.body for leg in machine.legs for joint in leg.joints)):
        if body.mass > _HEAVIEST_BODY:
            raise _error(machine, f'mass of {body.name}', body.mass, 'looks like grams; give kilograms')
    strength = float(np.linalg.norm(machine.gravity))
    if strength > 100.0:
        raise _error(machine, 'gravity', machine.gravity, 'looks like mm/s^2; give m/s^2')


def _anchors(machine: Machine) -> Array:
    turned: Array = machine.platform_points @ machine.home.rotation_base_platform.T
    return turned


def _leg_vectors(machine: Machine) -> Array:
    vectors: Array = machine.home.position + _anchors(machine) - machine.base_points
    return vectors


def _check_home_lengths(machine: Machine) -> None:
    """Every leg must reach its platform joint at home."""
    lengths = np.linalg.norm(_leg_vectors(machine), axis=1)
    for leg, length in zip(machine.legs, lengths, strict=True):
        prismatic = [joint for joint in leg.joints if joint.actuated and joint.kind == 'prismatic']
        if not prismatic:
            continue
        shortest = leg.length_at_zero + prismatic[0].limits.lower
        longest = leg.length_at_zero + prismatic[0].limits.upper
        if shortest <= length <= longest:
            continue
        middle = 0.5 * (shortest + longest) if np.isfinite(longest) else shortest
        ratio = length / middle
        hint = 'change platform.home, the joint points or the stroke'
        if ratio > _UNIT_FACTOR / 20 or ratio < 20 / _UNIT_FACTOR:
            hint = 'one of geometry and stroke looks like millimetres; give metres'
        raise _error(
            machine, f'legs.{leg.name}', float(length),
            f'at home this leg is {length:.6g} m long, outside of its stroke {shortest:.6g} to {longest:.6g} m; {hint}',
        )  # fmt: skip


def _check_home_condition(machine: Machine) -> None:
    """The legs must hold the platform at home."""
    vectors = _leg_vectors(machine)
    directions = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    anchors = _anchors(machine)
    radius = float(np.linalg.norm(anchors, axis=1).mean())
    if radius == 0.0:
        raise _error(machine, 'legs', anchors, 'all platform points lie in the platform origin')
    jacobian = np.hstack([directions, np.cross(anchors, directions) / radius])
    singular_values = np.linalg.svd(jacobian, compute_uv=False)
    if len(jacobian) < 6 or singular_values[-1] * MAX_CONDITION < singular_values[0]:
        condition = singular_values[0] / max(singular_values[-1], np.finfo(float).tiny)
        raise _error(
            machine, 'platform.home', machine.home.position,
            f'the legs do not hold the platform at home (singular pose, condition number {condition:.3g}); '
            'move home or the joint points',
        )  # fmt: skip


def _error(machine: Machine, key: str, value: object, reason: str) -> MachineFileError:
    shown = np.asarray(value).tolist() if isinstance(value, np.ndarray) else value
    return MachineFileError(machine.path, key, shown, reason)
