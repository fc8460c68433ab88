"""A symmetric hexapod as a Machine made by hand (no machine file), for tests of control and simulation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hand_built_machines import polar
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
from pkm_description.motion.fourier import FourierSeries


def hand_built_platform(viscous: float = 0.0, coulomb: float = 0.0) -> Machine:
    """10 kg platform with full inertia and offset centre of mass on six legs of 1.5 + 0.8 kg, 0.8 m high."""
    base = polar(0.6, [-50.0, 50.0, 70.0, 170.0, 190.0, 290.0])
    platform = polar(0.35, [-8.0, 8.0, 112.0, 128.0, 232.0, 248.0])
    height = np.array([0.0, 0.0, 0.8])
    legs = tuple(
        _leg(f'leg{i + 1}', base[i], platform[i], platform[i] + height - base[i], viscous, coulomb) for i in range(6)
    )
    body = RigidBody(
        'platform_link', 10.0, np.array([0.02, -0.01, 0.05]),
        np.array([[0.40, 0.01, -0.02], [0.01, 0.45, 0.015], [-0.02, 0.015, 0.70]]),
    )  # fmt: skip
    imu = ImuSensor(
        'imu_link', np.array([-0.1, 0.05, 0.03]), np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]), 100.0,
        np.full(3, 7e-4), np.full(3, 1.7e-4), np.array([0.05, -0.02, 0.1]), np.array([0.01, -0.005, 0.002]),
    )  # fmt: skip
    sensors = LegSensors(100.0, np.full(6, 1e-5), np.full(6, 1e-4), np.full(6, 0.05))
    return Machine(
        'hand_built_platform', Path('hand_built_platform'), 'test platform', np.array([0.0, 0.0, -9.80665]),
        Pose(height, np.eye(3)), body, legs, imu, sensors, ServoGains(2e4, 500.0),
    )  # fmt: skip


def _leg(name: str, base: np.ndarray, platform: np.ndarray, vector: np.ndarray, viscous: float, coulomb: float) -> Leg:
    """Universal joint with its z axis along the leg at home, prismatic joint along z."""
    z = vector / np.linalg.norm(vector)
    y = np.cross(z, [1.0, 0.0, 0.0])
    y /= np.linalg.norm(y)
    rotation = np.stack([np.cross(y, z), y, z], axis=1)
    length_at_zero = float(np.linalg.norm(vector)) - 0.2
    friction, limits = JointFriction.viscous_coulomb(viscous, coulomb), JointLimits(0.0, 0.5, 2.0, 300.0)
    cross = RigidBody(f'{name}_cross', 0.01, np.zeros(3), 1e-5 * np.eye(3))
    cylinder = RigidBody(f'{name}_cylinder', 1.5, np.array([0.002, -0.001, 0.25]), np.diag([0.03, 0.03, 0.002]))
    rod = RigidBody(f'{name}_rod', 0.8, np.array([0.0, 0.001, 0.5]), np.diag([0.02, 0.02, 0.0005]))
    none, zero, eye, free = JointLimits(), np.zeros(3), np.eye(3), JointFriction()
    parts = (
        ('universal_1', 'revolute', [1.0, 0.0, 0.0], base, rotation, none, free, cross),
        ('universal_2', 'revolute', [0.0, 1.0, 0.0], zero, eye, none, free, cylinder),
        ('prismatic', 'prismatic', [0.0, 0.0, 1.0], zero, eye, limits, friction, rod),
    )
    joints = tuple(
        Joint(f'{name}_{joint}', kind, np.array(axis), at, turn, joint == 'prismatic', *rest)
        for joint, kind, axis, at, turn, *rest in parts
    )
    return Leg.to_platform(name, joints, 'ball', np.array([0.0, 0.0, length_at_zero]), 'platform_link', platform)


def six_axis_sinusoids(machine: Machine, translation: float = 0.05, rotation: float = np.radians(8.0)) -> FourierSeries:
    """Sinusoids of 0.5 to 0.8 Hz in all six axes, 14 s with fades (evaluate with ``.evaluate(times)``)."""
    harmonics, base_frequency = np.array([5, 6, 7, 8, 5, 6]), 0.1
    amplitudes = np.array([translation] * 3 + [rotation] * 3)
    phases = np.arange(6.0)
    speeds = np.zeros((6, 8))
    speeds[np.arange(6), harmonics - 1] = amplitudes * harmonics * 2.0 * np.pi * base_frequency
    return FourierSeries(
        speeds * np.cos(phases)[:, None], -speeds * np.sin(phases)[:, None], base_frequency, home=machine.home
    )
