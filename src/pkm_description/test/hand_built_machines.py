"""Machines built in code, for tests that must not depend on the machine files."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
from pkm_description.arrays import Array
from pkm_description.machine import (
    ImuSensor,
    Joint,
    JointFriction,
    JointLimits,
    Leg,
    LegSensors,
    Machine,
    Pose,
    RigidBody,
    ServoGains,
)
from scipy.spatial.transform import Rotation

from verification.mechanics import dietmaier


def polar(radius: float, degrees: list[float]) -> Array:
    """Points (L, 3) on a circle in the plane z = 0."""
    angle = np.radians(degrees)
    return radius * np.stack([np.cos(angle), np.sin(angle), np.zeros_like(angle)], axis=1)


def random_body(name: str, mass: float, size: float, random: np.random.Generator) -> RigidBody:
    """Body with a general centre of mass and a full, physically possible inertia tensor."""
    cloud = size * random.normal(size=(12, 3))
    cloud -= cloud.mean(axis=0)
    second_moment = mass / len(cloud) * cloud.T @ cloud
    inertia = np.trace(second_moment) * np.eye(3) - second_moment
    return RigidBody(name, mass, size * random.normal(size=3), inertia)


def universal_prismatic_leg(
    name: str,
    base_point: Array,
    platform_point: Array,
    first_axis: Array,
    direction: Array,
    random: np.random.Generator,
    length_at_zero: float,
) -> Leg:
    """U-P leg whose strut, the z axis of its bodies, points along ``direction`` at zero joint positions."""
    z = direction - first_axis * (direction @ first_axis)
    z /= np.linalg.norm(z)
    rotation = np.column_stack([first_axis, np.cross(z, first_axis), z])
    parts = (
        ('universal_1', 'revolute', [1.0, 0.0, 0.0], base_point, rotation, 'cross', 3.0),
        ('universal_2', 'revolute', [0.0, 1.0, 0.0], np.zeros(3), np.eye(3), 'cylinder', 12.0),
        ('prismatic', 'prismatic', [0.0, 0.0, 1.0], np.array([0.0, 0.0, 0.4]), np.eye(3), 'rod', 6.0),
    )
    joints = tuple(
        Joint(
            f'{name}_{joint}',
            kind,
            np.array(axis),
            translation,
            rotation_parent_joint,
            joint == 'prismatic',
            JointLimits(),
            JointFriction.viscous_coulomb(*random.uniform(1.0, 20.0, size=2)),
            random_body(f'{name}_{body}', mass, 0.1, random),
        )
        for joint, kind, axis, translation, rotation_parent_joint, body, mass in parts
    )
    tip = np.array([0.0, 0.0, length_at_zero - 0.4])
    return Leg.to_platform(name, joints, 'ball', tip, 'platform_link', platform_point)


def hexapod(
    base_points: Array, platform_points: Array, home: Pose, gravity: Array, name: str = 'hand_built'
) -> Machine:
    """6-UPS machine with general seeded bodies; first universal axis tangential in the base plane."""
    random = np.random.default_rng(7)
    legs = []
    anchors = home.position + platform_points @ home.rotation_base_platform.T
    for index, (base, platform, anchor) in enumerate(zip(base_points, platform_points, anchors, strict=True)):
        # a base joint in the origin has no tangent: any axis will do that is square to the leg
        tangent = np.cross([0.0, 0.0, 1.0], base if base.any() else anchor)
        tangent /= np.linalg.norm(tangent)
        length = 0.8 * float(np.linalg.norm(anchor - base))
        legs.append(
            universal_prismatic_leg(f'leg{index + 1}', base, platform, tangent, anchor - base, random, length)
        )
    six = np.zeros(6)
    return Machine(
        name=name,
        path=Path('hand-built'),
        description='built in a test',
        gravity=gravity,
        home=home,
        platform=random_body('platform_link', 50.0, 0.2, random),
        legs=tuple(legs),
        imu=ImuSensor(
            'imu_link', np.zeros(3), np.eye(3), 100.0, np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3)
        ),
        leg_sensors=LegSensors(1000.0, six, six, six),
        servo=ServoGains(1.0e5, 1.0e3),
    )


def heimann_check_robot() -> Machine:
    """Build the invented hexapod of which the ranks 88, 82, 23, 22 were computed."""
    return hexapod(
        polar(0.6, [-12, 12, 108, 132, 228, 252]),
        polar(0.2, [-48, 48, 72, 168, 192, 288]),
        Pose(np.array([0.0, 0.0, 0.7]), np.eye(3)),
        np.array([0.0, 0.0, -9.80665]),
    )


def simona_z_down() -> Machine:
    """SIMONA's joints in the paper's frame, z down, platform at z = -2.3888 m (Miletovic 2017, table 1)."""
    upper, lower = np.degrees(np.arcsin(0.2 / 3.2)), np.degrees(np.arcsin(0.6 / 3.3))
    platform_points = polar(1.6, [-upper, upper, 120 - upper, 120 + upper, -120 - upper, -120 + upper])
    base_points = polar(1.65, [-60 + lower, 60 - lower, 60 + lower, 180 - lower, 180 + lower, -60 - lower])
    horizontal = np.linalg.norm(platform_points[0] - base_points[0])
    home = Pose(np.array([0.0, 0.0, -np.sqrt(2.705**2 - horizontal**2)]), np.eye(3))
    return hexapod(base_points, platform_points, home, np.array([0.0, 0.0, 9.80665]), 'simona_z_down')


def dietmaier_platform() -> Machine:
    """Build Dietmaier's platform with 40 real poses, home in the published one."""
    return hexapod(
        dietmaier.BASE_POINTS, dietmaier.PLATFORM_POINTS, dietmaier.POSE, np.array([0.0, 0.0, -9.80665]), 'dietmaier'
    )


def turned_link_frames() -> Machine:
    """Build the check robot with every link frame turned: same joints in space, general offsets and axes."""
    machine = heimann_check_robot()
    legs = []
    for seed, leg in enumerate(machine.legs):
        parent, joints = np.eye(3), []
        for turn, joint in zip(
            Rotation.random(len(leg.joints), random_state=seed).as_matrix(), leg.joints, strict=True
        ):
            joints.append(
                dataclasses.replace(
                    joint,
                    axis=turn.T @ joint.axis,
                    translation=parent.T @ joint.translation,
                    rotation_parent_joint=parent.T @ joint.rotation_parent_joint @ turn,
                )
            )
            parent = turn
        legs.append(dataclasses.replace(leg, joints=tuple(joints)).with_end(point=parent.T @ leg.tip))
    return dataclasses.replace(machine, name='turned', legs=tuple(legs))


def with_identical_legs(machine: Machine) -> Machine:
    """Give every leg the bodies and the friction of the first."""

    def like_first(leg: Leg) -> Leg:
        return dataclasses.replace(
            leg,
            joints=tuple(
                dataclasses.replace(
                    joint,
                    friction=first.friction,
                    body=dataclasses.replace(first.body, name=first.body.name.replace('leg1', leg.name)),
                )
                for joint, first in zip(leg.joints, machine.legs[0].joints, strict=True)
            ),
        )

    return dataclasses.replace(machine, legs=tuple(like_first(leg) for leg in machine.legs))
