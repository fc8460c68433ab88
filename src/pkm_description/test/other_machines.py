"""Machines of other kinds than 6-UPS, built in code: limited freedom, planar, sliders at the base, open chain."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
from hand_built_machines import hexapod, polar, random_body
from pkm_description.arrays import Array
from pkm_description.bounded_yaml import bounded_file
from pkm_description.kinematics import joint_positions
from pkm_description.loading import machine_file, machine_names
from pkm_description.machine import NO_IMU, Freedom, Joint, JointFriction, JointLimits, Leg, Machine, Pose, RigidBody
from scipy.spatial.transform import Rotation

#: kind, axis, translation, rotation in the body before, position at home
JointSpec = tuple[str, Sequence[float], Sequence[float], Array, float]

#: machines of the package whose legs hold a platform
WITH_PLATFORM = [name for name in machine_names() if 'platform' in bounded_file(machine_file(name))]

GRAVITY = np.array([0.0, 0.0, -9.80665])


def turn(axis: str, angle: float) -> Array:
    """Rotation matrix about a base axis."""
    matrix: Array = Rotation.from_euler(axis, angle).as_matrix()
    return matrix


def chain_leg(
    name: str, specs: Sequence[JointSpec], driven: int, tip: Array, platform_point: Array, seed: int
) -> Leg:
    """Leg of any joints with general bodies, friction and rotor."""
    random = np.random.default_rng(seed)
    joints = [
        Joint(
            f'{name}_joint{place}', kind, np.array(axis, dtype=float), np.array(translation, dtype=float), rotation,
            place == driven, JointLimits(), JointFriction.viscous_coulomb(*random.uniform(1.0, 20.0, size=2)),
            random_body(f'{name}_body{place}', random.uniform(2.0, 6.0), 0.1, random), home,
            random.uniform(1.0, 5.0) if place == driven else 0.0,
        )
        for place, (kind, axis, translation, rotation, home) in enumerate(specs)
    ]  # fmt: skip
    return Leg.to_platform(name, tuple(joints), 'ball', tip, 'platform_link', platform_point)


def machine_of(legs: Sequence[Leg], home: Pose, freedom: Freedom, gravity: Array = GRAVITY) -> Machine:
    """Machine around given legs."""
    points = polar(0.6, [-12, 12, 108, 132, 228, 252])
    anchors, above = polar(0.2, [-48, 48, 72, 168, 192, 288]), Pose(np.array([0.0, 0.0, 0.7]), np.eye(3))
    frame = hexapod(points, anchors, above, gravity)
    if freedom == 'planar':
        legs = [leg.with_end(kind='pin') for leg in legs]
    elif freedom == 'none':
        legs = [dataclasses.replace(leg, closures=()) for leg in legs]
    machine = dataclasses.replace(frame, name=freedom, home=home, legs=tuple(legs), freedom=freedom)
    if freedom == 'none':
        empty = RigidBody('')
        return dataclasses.replace(machine, platform=empty, imu=NO_IMU)
    return machine


def three_rps() -> Machine:
    """R-P legs on ball joints, radial planes: rises and tilts, z, about x, about y."""
    legs = []
    for index, (base, point) in enumerate(zip(polar(0.5, [0, 120, 240]), polar(0.3, [0, 120, 240]), strict=True)):
        lean = np.arctan2(0.2, 0.6)
        radial = turn('z', np.radians(120 * index))
        specs: list[JointSpec] = [
            ('revolute', [0, 1, 0], base.tolist(), radial, -lean),
            ('prismatic', [0, 0, 1], [0, 0, 0.2], np.eye(3), np.hypot(0.2, 0.6) - 0.2),
        ]
        legs.append(chain_leg(f'leg{index + 1}', specs, 1, np.zeros(3), point, index))
    return machine_of(legs, Pose(np.array([0.0, 0.0, 0.6]), np.eye(3)), 'free')


def three_prs() -> Machine:
    """Sliders on inclined rails, hinged rods of constant length on ball joints."""
    legs = []
    for index, point in enumerate(polar(0.3, [0, 120, 240])):
        radial = turn('z', np.radians(120 * index))
        # rail leans inwards by 0.3 rad; rod of 0.7 m
        rail = radial @ turn('y', -0.3)
        specs: list[JointSpec] = [
            ('prismatic', [0, 0, 1], (radial @ [0.6, 0, 0]).tolist(), rail, 0.2),
            ('revolute', [0, 1, 0], [0, 0, 0], np.eye(3), 0.0),
        ]
        legs.append(chain_leg(f'leg{index + 1}', specs, 0, np.array([0.0, 0.0, 0.7]), point, 10 + index))
    return machine_of(legs, Pose(np.array([0.0, 0.0, 0.82]), np.eye(3)), 'free')


def six_pus() -> Machine:
    """Vertical sliders, universal joints, rods of constant length on ball joints."""
    legs = []
    bases, points = polar(0.6, [-12, 12, 108, 132, 228, 252]), polar(0.2, [-48, 48, 72, 168, 192, 288])
    for index, (base, point) in enumerate(zip(bases, points, strict=True)):
        radial = turn('z', np.arctan2(base[1], base[0]))
        specs: list[JointSpec] = [
            ('prismatic', [0, 0, 1], base.tolist(), radial, 0.1),
            ('revolute', [0, 1, 0], [0, 0, 0], np.eye(3), -0.7),
            ('revolute', [1, 0, 0], [0, 0, 0], np.eye(3), 0.0),
        ]
        legs.append(chain_leg(f'leg{index + 1}', specs, 0, np.array([0.0, 0.0, 0.8]), point, 20 + index))
    return machine_of(legs, Pose(np.array([0.0, 0.0, 0.65]), np.eye(3)), 'free')


def six_rus() -> Machine:
    """Cranks with horizontal axes, universal joints, rods of constant length on ball joints; nothing has limits."""
    legs = []
    bases, points = polar(0.3, [-12, 12, 108, 132, 228, 252]), polar(0.2, [-48, 48, 72, 168, 192, 288])
    home = Pose(np.array([0.0, 0.0, 0.4]), np.eye(3))
    for index, (base, point) in enumerate(zip(bases, points, strict=True)):
        radial = turn('z', np.arctan2(base[1], base[0]))
        specs: list[JointSpec] = [
            ('revolute', [0, 1, 0], base.tolist(), radial, 0.2),
            ('revolute', [0, 1, 0], [0.15, 0.0, 0.0], np.eye(3), -0.9),
            ('revolute', [1, 0, 0], [0, 0, 0], np.eye(3), 0.0),
        ]
        legs.append(chain_leg(f'leg{index + 1}', specs, 0, np.array([0.0, 0.0, 0.5]), point, 50 + index))
    return machine_of(legs, home, 'free')


def planar_prr() -> Machine:
    """Three sliders on one guide along x, rods, pins; gravity in the plane of motion."""
    legs = []
    data = (
        (0.6, [0.28, 0.0, 0.0], 2.1, 0.9),
        (0.475, [0.0, 0.0, 0.0], 2.4, 0.35),
        (0.604, [0.28, 0.05, 0.0], 1.0, 0.0),
    )
    for index, (length, point, angle, slider) in enumerate(data):
        specs: list[JointSpec] = [
            ('prismatic', [1, 0, 0], [0, 0, 0], np.eye(3), slider),
            ('revolute', [0, 0, 1], [0, 0, 0], np.eye(3), angle),
        ]
        legs.append(chain_leg(f'leg{index + 1}', specs, 0, np.array([length, 0.0, 0.0]), np.array(point), 30 + index))
    return machine_of(legs, Pose(np.array([0.0, 0.32, 0.0]), np.eye(3)), 'planar', np.array([0.0, -9.80665, 0.0]))


def cart_with_pendulum() -> Machine:
    """Cart along x with two links, angles from the upward vertical in the x-z plane (Oh 2003, chapter 3)."""
    specs: list[JointSpec] = [
        ('prismatic', [1, 0, 0], [0, 0, 0], np.eye(3), 0.0),
        ('revolute', [0, 1, 0], [0, 0, 0], np.eye(3), 0.0),
        ('revolute', [0, 1, 0], [0, 0, 0.5], np.eye(3), 0.0),
    ]
    chain = chain_leg('chain', specs, 0, np.zeros(3), np.zeros(3), 40)
    return machine_of([chain], Pose(np.zeros(3), np.eye(3)), 'none')


def with_limits(machine: Machine, reach: float) -> Machine:
    """Drives that move by ``reach`` [m] to both sides of home."""
    home = machine.home
    at_home = joint_positions(machine, home.position[None], home.rotation_base_platform[None])[0]
    legs = []
    for leg, part in zip(machine.legs, machine.leg_slices, strict=True):
        joints = [
            dataclasses.replace(joint, limits=JointLimits(value - reach, value + reach, effort=100.0))
            if joint.actuated
            else joint
            for joint, value in zip(leg.joints, at_home[part], strict=True)
        ]
        legs.append(dataclasses.replace(leg, joints=tuple(joints)))
    return dataclasses.replace(machine, legs=tuple(legs))


CLOSED: dict[str, Callable[[], Machine]] = {
    '3-RPS': three_rps, '3-PRS': three_prs, '6-PUS': six_pus, 'planar 3-PRR': planar_prr,
}  # fmt: skip
