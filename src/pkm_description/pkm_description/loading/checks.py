"""Plausibility checks of the machine as a whole: names, masses, inertias, units, drives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pkm_description.arrays import Array
from pkm_description.errors import MachineFileError, nearest_of
from pkm_description.kinematics.geometry_constants import geometry_constant_names, geometry_constants
from pkm_description.loading.home_checks import check_home
from pkm_description.loading.yaml_reader import (
    MILLIMETRES,
    Section,
    bodies_with_keys,
    closure_key,
    dotted_keys,
    joint_key,
    machine_error,
)
from pkm_description.machine import Joint, Machine
from pkm_description.machine.machine import closure_ends
from pkm_description.machine.tolerances import IMU_CONSTANTS, OF_STAMPS, imu_constant_name

#: m/s and rad/s that no drive of a machine reaches
_FASTEST = {'prismatic': 100.0, 'revolute': 1000.0}

#: s to cross the stroke at full speed; the fastest linear motors need ten times as long, mm/s in place of m/s a
#: thousandth of what a usual drive needs
_QUICKEST_STROKE = 5e-3
#: share of the inertia of such a ball of osmium below which no body with a size has that inertia. Identified bodies may
#: come out denser than any material, wrong units are off by a million
_POINT_LIKE = 0.01

#: larger than any motion base: m and kg of one body
_LARGEST_MACHINE, _HEAVIEST_BODY = 100.0, 1e6


def densest_ball(mass: float) -> float:
    """Inertia [kg m^2] of a ball of a mass [kg] of osmium, 22600 kg/m^3."""
    radius = (3.0 * mass / (4.0 * np.pi * 22600.0)) ** (1.0 / 3.0)
    return float(0.4 * mass * radius**2)


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
    known = [key for key in dotted_keys(content, '', all_levels=True) if not key.startswith('provenance.')]
    for key, value in section.content.items():
        if key not in known:
            hint = nearest_of(key, known, 'give the dotted key of a value of this file')
            raise section.error(str(key), value, f'names nothing in this file; {hint}')
        section.text(key)


def check_machine(machine: Machine) -> None:
    """Check names, units, strokes and the home pose.

    Raises
    ------
    MachineFileError
        Naming the key concerned and what to do.
    """
    check_names(machine)
    _check_units(machine)
    check_home(machine)
    # after home: a mass in grams shows in these, too, and is better recognised by the forces at home
    check_drives(machine)
    _check_inertias(machine)
    _check_calibrated(machine)


def _check_calibrated(machine: Machine) -> None:
    """What a calibration has found are constants of this machine."""
    named = machine.tolerances.calibrated.names
    if not named:
        return
    known = geometry_constant_names(machine, geometry_constants(machine))
    of_imu = {kind: count for kind, count in IMU_CONSTANTS.items() if kind not in OF_STAMPS}
    known += [imu_constant_name(kind, axis) for kind, count in of_imu.items() for axis in range(count)]
    for name in named:
        if name not in known or named.count(name) > 1:
            reason = 'stands there twice' if name in known else 'is no constant of this machine that is not exact'
            raise machine_error(
                machine, 'tolerances.calibrated.constants', name, f'{reason}; calibrate the machine as it is now'
            )


def _check_inertias(machine: Machine) -> None:
    """No body may be as if it were a point: its inertia would be in another unit."""
    for key, body in bodies_with_keys(machine):
        ball = densest_ball(body.mass)
        largest = float(np.linalg.eigvalsh(body.inertia)[-1])
        if largest < _POINT_LIKE * ball:  # also a body without mass, as between the axes of a universal joint
            raise machine_error(
                machine, f'{key}.inertia', body.inertia,
                f'is too small for {body.mass:.6g} kg: a ball of osmium, the densest metal, has {ball:.3g} kg m^2, '
                f'this body {largest:.3g}; give kg m^2 and kg (for a point mass at least the inertia of such a ball)',
            )  # fmt: skip


def _check_units(machine: Machine) -> None:
    for leg in machine.legs:
        points = [('base_point', leg.base_point)]
        points += [('platform_point', closure.other_point) for closure in leg.platform_closures]
        for key, point in points:
            if np.abs(point).max() > _LARGEST_MACHINE:
                raise machine_error(machine, f'legs.{leg.name}.{key}', point, MILLIMETRES)
    if np.abs(machine.home.position).max() > _LARGEST_MACHINE:
        raise machine_error(machine, 'platform.home.xyz', machine.home.position, MILLIMETRES)
    for key, body in bodies_with_keys(machine):
        if body.mass > _HEAVIEST_BODY:
            raise machine_error(machine, f'{key}.mass', body.mass, 'looks like grams; give kilograms')
    if float(np.linalg.norm(machine.gravity)) > _LARGEST_MACHINE:
        raise machine_error(machine, 'gravity', machine.gravity, 'looks like mm/s^2; give m/s^2')


def check_drives(machine: Machine) -> None:
    """Check speed and dry friction of the driven joints.

    Raises
    ------
    MachineFileError
        Naming the key concerned and what to do.
    """
    for joint in machine.actuated_joints:
        _check_speed(machine, joint)
        _check_dry_friction(machine, joint)


def _check_speed(machine: Machine, joint: Joint) -> None:
    limits = joint.limits
    crossing = (limits.upper - limits.lower) / limits.velocity
    if limits.velocity <= _FASTEST[joint.kind] and crossing >= _QUICKEST_STROKE:
        return
    right, wrong = ('m/s', 'mm/s') if joint.kind == 'prismatic' else ('rad/s', 'degrees/s or rpm')
    raise machine_error(
        machine, f'{joint_key(machine, joint)}.limits.velocity', limits.velocity,
        f'{joint.name} would cross its stroke in {crossing:.3g} s; looks like {wrong}, give {right}',
    )  # fmt: skip


def _check_dry_friction(machine: Machine, joint: Joint) -> None:
    friction = joint.friction
    law, key = friction.law, f'{joint_key(machine, joint)}.friction'
    no_load = 0.0 if law.needs_load else None
    dry = max(friction.coulomb, *(abs(float(law.breakaway_force(way, no_load))) for way in (1.0, -1.0)))
    if dry > joint.limits.effort:
        unit = 'N' if joint.kind == 'prismatic' else 'N m'
        coulomb = f'{key}.coulomb' if hasattr(law, 'coulomb') else key
        raise machine_error(
            machine, coulomb, dry,
            f'{joint.name} could not move: its dry friction of {dry:.6g} {unit} is more than the drive gives '
            f'(limits.effort = {joint.limits.effort:.6g} {unit}); correct one of the two',
        )  # fmt: skip


def exported_names(machine: Machine) -> set[str]:
    """Names of the links, frames and joints of the exported models that are not those of leg bodies and joints."""
    names = {'base_link', 'base_mount', machine.platform.name}
    if machine.has_imu:
        names.add(machine.imu.frame)
    names |= {f'platform_{axis}' for axis in ('x', 'y', 'z', 'rotation')}  # joints of the platform in MJCF
    for end in closure_ends(machine):
        # in SDF legs end in small links and closing joints; in MJCF pins have a second point, universal ones a cross
        closure = end.closure
        names |= {end.tip, end.anchor, end.link, closure.name}
        if closure.kind in ('universal', 'pin'):
            names |= {f'{end.tip}_axis', f'{end.anchor}_axis', f'{closure.name}_axis', f'{closure.name}_cross'}
    return names


def check_names(machine: Machine) -> None:
    """Refuse names that stand twice, that simulators keep for themselves, or that the exported models need.

    Raises
    ------
    MachineFileError
        Naming the key concerned, and the name.
    """
    links = [('platform.link', 'base_link')]
    joints = []
    if machine.has_platform:
        links += [('platform.link', machine.platform.name)]
        # the URDF's fixed joints count, too
        joints += [('platform.link', f'{machine.platform.name}_pose')]
    if machine.has_imu:
        links += [('sensors.imu.link', machine.imu.frame)]
        joints += [('sensors.imu.link', f'{machine.imu.frame}_mount')]
    for leg in machine.legs:
        links += [(f'legs.{leg.name}', f'{leg.name}_base')]
        links += [(f'{joint_key(machine, joint)}.body.name', joint.body.name) for joint in leg.joints]
        joints += [(f'legs.{leg.name}', f'{leg.name}_mount'), (f'legs.{leg.name}', f'{leg.name}_end')]
        joints += [(joint_key(machine, joint), joint.name) for joint in leg.joints]
    for end in closure_ends(machine):
        links += [(f'legs.{end.leg.name}', end.tip), (f'legs.{end.leg.name}', end.anchor)]
        joints += [(f'legs.{end.leg.name}', f'{end.tip}_mount'), (f'legs.{end.leg.name}', f'{end.anchor}_mount')]
    joints += [
        (closure_key(leg, closure), closure.name) for leg in machine.legs for closure in leg.closures if leg.chain
    ]
    _check_unique(machine, 'links', links)
    _check_reserved(machine, links)
    _check_unique(machine, 'joints', joints)
    _check_exported_names(machine)


def _check_unique(machine: Machine, kind: str, named: list[tuple[str, str]]) -> None:
    names = set()
    for key, name in named:
        if name in names:
            raise MachineFileError(machine.path, key, name, f'two {kind} have this name; rename one')
        names.add(name)


def _check_reserved(machine: Machine, links: list[tuple[str, str]]) -> None:
    for key, name in [('name', machine.name), *links]:
        if name == 'world' or (name.startswith('__') and name.endswith('__')):
            reason = 'simulators (SDF, MuJoCo) keep this name for themselves; rename it'
            raise MachineFileError(machine.path, key, name, reason)


def _check_exported_names(machine: Machine) -> None:
    """SDF has one set of names for joints, links and frames; links are renamed by its exporter, joints never."""
    taken = exported_names(machine)
    for leg in machine.legs:
        for joint in leg.joints:
            if joint.name in taken:
                raise MachineFileError(
                    machine.path, joint_key(machine, joint), joint.name,
                    'a joint of this name would clash with a link, frame or joint of the exported models; rename it',
                )  # fmt: skip
