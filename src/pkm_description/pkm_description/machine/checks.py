"""What no single number shows: whether the machine as a whole is possible."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkm_description.errors import KinematicsError, MachineFileError
from pkm_description.machine.model import Joint, Machine, RigidBody
from pkm_description.machine.yaml_reader import Section

Array = NDArray[np.float64]

#: condition number of the length Jacobian (rotations scaled by the platform's radius) at home that is refused
MAX_CONDITION = 1e3

#: ratio of two lengths of one machine beyond which one of them is in millimetres
_UNIT_RATIO = 20.0

#: larger than any motion base: m and kg of one body
_LARGEST_MACHINE, _HEAVIEST_BODY = 100.0, 1e6

#: ratio of a centre of mass, IMU place or radius of gyration to the legs beyond which its unit is another one
_BODY_RATIO = 3.0

_MILLIMETRES = 'looks like millimetres; give metres'


def check_inertia(section: Section, inertia: Array) -> None:
    """Refuse an inertia tensor (3, 3) about the centre of mass that no body can have.

    Raises
    ------
    MachineFileError
        Not positive definite, or principal moments that break the triangle inequality.
    """
    moments = np.linalg.eigvalsh(inertia)
    advice = 'give the inertia about the centre of mass, kg m^2, products as in the tensor (ixy = -sum m x y)'
    if moments[0] <= 0.0:
        raise section.error(
            'inertia', inertia.tolist(), f'is not positive definite, principal moments {moments}; {advice}'
        )
    if moments[0] + moments[1] < moments[2] * (1.0 - 1e-9):
        raise section.error(
            'inertia', inertia.tolist(),
            f'principal moments {moments}: the largest exceeds the sum of the others, which no body has; {advice}',
        )  # fmt: skip


def check_provenance(path: Path, content: dict[str, Any]) -> None:
    """Refuse a provenance of values that the file does not have.

    Raises
    ------
    MachineFileError
        A key that names nothing in the file, or an entry that is not a text.
    """
    if 'provenance' not in content:
        return
    section = Section(path, 'provenance', content['provenance'])
    known = _dotted_keys(content, '')
    for key, value in section.content.items():
        if key not in known:
            near = difflib.get_close_matches(str(key), known, n=1)
            hint = f'did you mean {near[0]!r}?' if near else 'give the dotted key of a value of this file'
            raise section.error(str(key), value, f'names nothing in this file; {hint}')
        section.text(key)


def _dotted_keys(content: dict[str, Any], place: str) -> list[str]:
    keys = []
    for key, value in content.items():
        keys.append(f'{place}{key}')
        if isinstance(value, dict) and key != 'provenance':
            keys += _dotted_keys(value, f'{place}{key}.')
    return keys


def check_machine(machine: Machine) -> None:
    """Check names, units, strokes and the home pose.

    Raises
    ------
    MachineFileError
        Naming the key concerned and what to do.
    """
    _check_names(machine)
    _check_drives(machine)
    _check_units(machine)
    _check_home_lengths(machine)
    _check_home_condition(machine)
    _check_home_joints_and_forces(machine)


def _check_names(machine: Machine) -> None:
    links = [('platform.link', 'base_link'), ('platform.link', machine.platform.name)]
    links += [('sensors.imu.link', machine.imu.frame)]
    for number, leg in enumerate(machine.legs, start=1):
        links += [(f'legs.{leg.name}', f'{leg.name}_base'), (f'legs.{leg.name}', f'{leg.name}_tip')]
        links += [(f'legs.{leg.name}', f'platform_anchor{number}')]
        links += [(f'{_key(machine, joint)}.body.name', joint.body.name) for joint in leg.joints]
    names = set()
    for key, name in links:
        if name in names:
            raise MachineFileError(machine.path, key, name, 'two links have this name; rename one')
        names.add(name)
    # the URDF's fixed joints count, too
    joints = [('platform.link', f'{machine.platform.name}_pose'), ('sensors.imu.link', f'{machine.imu.frame}_mount')]
    for number, leg in enumerate(machine.legs, start=1):
        joints += [(f'legs.{leg.name}', f'{leg.name}_mount'), (f'legs.{leg.name}', f'{leg.name}_end')]
        joints += [(f'legs.{leg.name}', f'platform_anchor{number}_mount')]
        joints += [(_key(machine, joint), joint.name) for joint in leg.joints]
    names = set()
    for key, name in joints:
        if name in names:
            raise MachineFileError(machine.path, key, name, 'two joints have this name; rename one')
        names.add(name)


def _check_drives(machine: Machine) -> None:
    driven = [joint.name for joint in machine.legs[0].joints if joint.actuated]
    if len(driven) != 1:
        found = 'no joint is driven' if not driven else f'{len(driven)} joints are driven ({", ".join(driven)})'
        raise MachineFileError(
            machine.path, 'leg_chain', driven or None, f'{found}; set actuated: true for exactly one joint'
        )
    if len(machine.legs) != 6:
        raise MachineFileError(
            machine.path, 'legs', [leg.name for leg in machine.legs],
            f'{len(machine.legs)} legs; this version computes platforms that move freely on 6 driven legs',
        )  # fmt: skip


def _bodies(machine: Machine) -> list[tuple[str, RigidBody]]:
    """All bodies with their dotted keys."""
    legs = [(f'{_key(machine, joint)}.body', joint.body) for leg in machine.legs for joint in leg.joints]
    return [('platform.body', machine.platform), *legs]


def _key(machine: Machine, joint: Joint) -> str:
    """Dotted key of a joint, which is called leg name, underscore, last part of the key."""
    leg = next(leg for leg in machine.legs if any(joint is own for own in leg.joints))
    return f'leg_chain.{joint.name.removeprefix(leg.name + "_")}'


def _check_units(machine: Machine) -> None:
    for leg in machine.legs:
        for key, point in (('base_point', leg.base_point), ('platform_point', leg.platform_point)):
            if np.abs(point).max() > _LARGEST_MACHINE:
                raise _error(machine, f'legs.{leg.name}.{key}', point, _MILLIMETRES)
    if np.abs(machine.home.position).max() > _LARGEST_MACHINE:
        raise _error(machine, 'platform.home.xyz', machine.home.position, _MILLIMETRES)
    for key, body in _bodies(machine):
        if body.mass > _HEAVIEST_BODY:
            raise _error(machine, f'{key}.mass', body.mass, 'looks like grams; give kilograms')
    if float(np.linalg.norm(machine.gravity)) > _LARGEST_MACHINE:
        raise _error(machine, 'gravity', machine.gravity, 'looks like mm/s^2; give m/s^2')


def _anchors(machine: Machine) -> Array:
    turned: Array = machine.platform_points @ machine.home.rotation_base_platform.T
    return turned


def _leg_vectors(machine: Machine) -> Array:
    vectors: Array = machine.home.position + _anchors(machine) - machine.base_points
    return vectors


def _check_home_lengths(machine: Machine) -> None:
    """Every leg must reach its platform joint at home, and nothing may be a thousand times longer than the legs."""
    lengths = np.linalg.norm(_leg_vectors(machine), axis=1)
    for leg, length in zip(machine.legs, lengths, strict=True):
        drive = next(joint for joint in leg.joints if joint.actuated)
        if drive.kind != 'prismatic':
            continue
        shortest = leg.length_at_zero + drive.limits.lower
        longest = leg.length_at_zero + drive.limits.upper
        key = _key(machine, drive)
        if drive.limits.upper - drive.limits.lower > _UNIT_RATIO * length:
            stroke, at_home = [drive.limits.lower, drive.limits.upper], f'at home {leg.name} is {length:.6g} m long'
            raise _error(machine, f'{key}.limits', stroke, f'{_MILLIMETRES} ({at_home})')
        if shortest <= length <= longest:
            continue
        ratio = length / max(abs(0.5 * (shortest + longest)), np.finfo(float).tiny)
        hint = 'change platform.home, the joint points or the stroke'
        if not 1.0 / _UNIT_RATIO < ratio < _UNIT_RATIO:
            hint = 'one of geometry and stroke looks like millimetres; give metres'
        raise _error(
            machine, f'legs.{leg.name}', float(length),
            f'at home this leg is {length:.6g} m long, outside of its stroke {shortest:.6g} to {longest:.6g} m; {hint}',
        )  # fmt: skip
    size = float(max(lengths.max(), np.abs(machine.platform_points).max()))
    vectors = [(f'{key}.center_of_mass', body.center_of_mass) for key, body in _bodies(machine)]
    for key, vector in [('sensors.imu.xyz', machine.imu.position), *vectors]:
        if np.abs(vector).max() > _BODY_RATIO * size:
            raise _error(machine, key, vector, f'{_MILLIMETRES} (at home the legs are {lengths.max():.6g} m long)')
    for key, body in _bodies(machine):
        gyration = np.sqrt(np.linalg.eigvalsh(body.inertia)[-1] / body.mass)
        if gyration > _BODY_RATIO * size:
            raise _error(
                machine, f'{key}.inertia', body.inertia,
                f'with {body.mass:.6g} kg the radius of gyration is {gyration:.6g} m, at home the legs are '
                f'{lengths.max():.6g} m long; give kg m^2 (CAD programs: kg mm^2, g mm^2), and the mass in kg',
            )  # fmt: skip


def _check_home_condition(machine: Machine) -> None:
    """The legs must hold the platform at home."""
    vectors = _leg_vectors(machine)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    anchors = _anchors(machine)
    radius = float(np.linalg.norm(anchors, axis=1).mean())
    if lengths.min() == 0.0:
        leg = machine.legs[int(lengths.argmin())].name
        raise _error(machine, f'legs.{leg}', 0.0, 'at home this leg has no length; move home or the joint points')
    if radius == 0.0:
        raise _error(machine, 'legs', anchors, 'all platform points lie in the platform origin; give their places')
    directions = vectors / lengths
    jacobian = np.hstack([directions, np.cross(anchors, directions) / radius])
    singular_values = np.linalg.svd(jacobian, compute_uv=False)
    if singular_values[-1] * MAX_CONDITION < singular_values[0]:
        # no more digits than rounding leaves
        condition = min(singular_values[0] / max(singular_values[-1], np.finfo(float).tiny), 1e16)
        raise _error(
            machine, 'platform.home', machine.home.position,
            f'singular pose: the legs do not hold the platform at home (condition number {condition:.3g}, at most '
            f'{MAX_CONDITION:g}); parallel legs, or a platform of the same shape as the base, do that. '
            'Move home or the joint points',
        )  # fmt: skip


def _check_home_joints_and_forces(machine: Machine) -> None:
    """Passive joints must reach home and the drives must hold the weight there."""
    # imported here, because those modules are built on this package
    from pkm_description.dynamics import gravity_forces
    from pkm_description.kinematics.workspace import position_violations
    from pkm_description.mechanism import Mechanism
    from pkm_description.motion import PlatformMotion

    home = PlatformMotion.at_rest(machine.home.position, machine.home.rotation_base_platform)
    try:
        mechanism = Mechanism(machine)
        violations = position_violations(mechanism, home)
        forces = gravity_forces(mechanism, home.position, home.rotation_base_platform)[0]
    except KinematicsError as error:
        raise _error(machine, 'leg_chain', None, str(error)) from None
    joints = {joint.name: joint for leg in machine.legs for joint in leg.joints}
    if violations:
        first = violations[0]
        raise _error(
            machine, f'{_key(machine, joints[first.joint])}.limits', [first.lower, first.upper],
            f'at home {first}; change the limits (rad), base_rpy or platform.home',
        )  # fmt: skip
    for drive, force in zip(machine.actuated_joints, forces, strict=True):
        if abs(force) > drive.limits.effort:
            raise _error(
                machine, f'{_key(machine, drive)}.limits.effort', drive.limits.effort,
                f'{drive.name} would need {force:.6g} N to hold the machine at home; '
                'give a stronger drive, or masses in kg and not in g',
            )  # fmt: skip


def _error(machine: Machine, key: str, value: object, reason: str) -> MachineFileError:
    shown = np.asarray(value).tolist() if isinstance(value, np.ndarray) else value
    return MachineFileError(machine.path, key, shown, reason)
