"""What the machine file expects: ways to publish its drives, strokes, poses along a motion, and the IMU's signals."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.driver.driver import POSITION
from pkm_description.errors import KinematicsError
from pkm_description.kinematics import ForwardKinematicsResult, forward_kinematics, measured_tolerance
from pkm_description.kinematics.closed_legs import close_legs
from pkm_description.kinematics.drive_map import motion_of_configurations, twist_per_drive
from pkm_description.kinematics.joint_motion import joint_motion
from pkm_description.machine import Leg, Machine, PlatformMotion
from pkm_description.machine.model_data import leg_reach
from pkm_estimation.sensors.conditions import imu_truth

from pkm_bringup.robot_check.signals import Signal

#: part of a stroke by which positions may lie beyond its ends, and part of the samples that must lie within
_SLACK, _INSIDE = 0.03, 0.98
#: units in which positions are published, and how unlikely: in mistakes
_UNITS = {'prismatic': ('m', 'mm', 'cm', 'in', 'um'), 'revolute': ('rad', 'deg', 'mrad', 'turn')}
_COSTS, _COSTS_OF_LENGTHS = (0.0, 1.0, 2.0, 2.0, 3.0), (1.0, 1.1, 1.2, 1.2)


class Unit(NamedTuple):
    """A way to publish positions: ``position = factor * published - length``, the length of absolute lengths only."""

    words: str
    factor: float
    keys: dict[str, str]
    cost: float

    def offset(self, machine: Machine) -> Array:
        """(A,) m or rad that is added to all positions."""
        none = np.zeros(machine.actuated_count)
        return np.array([-leg.length_at_zero for leg in machine.legs]) if 'quantity' in self.keys else none


def units_of(machine: Machine) -> list[Unit]:
    """Ways to publish positions, the suite's own first."""
    kind = machine.actuated_joints[0].kind
    units = [
        Unit(f'in {name}', POSITION[kind][name], {'unit': name} if cost else {}, cost)
        for name, cost in zip(_UNITS[kind], _COSTS, strict=False)
    ]
    if all(_drives_its_length(leg) for leg in machine.legs):
        units += [
            one._replace(words=f'as absolute lengths {one.words}', keys={'quantity': 'length', **one.keys}, cost=cost)
            for one, cost in zip(units, _COSTS_OF_LENGTHS, strict=False)
        ]
    return units


def _drives_its_length(leg: Leg) -> bool:
    """Whether the drive is the leg's last joint, slides, and is the only one."""
    driven = [joint.actuated for joint in leg.joints]
    slides = leg.joints[-1].kind == 'prismatic' and leg.length_at_zero > 0.0
    return leg.ends_at_platform and len(driven) > 1 and driven[-1] and sum(driven) == 1 and slides


def strokes(machine: Machine) -> tuple[Array, Array]:
    """Ends (A,) of the drives' strokes; where the file has none, the machine's size about home."""
    home, lower, upper = (
        values[machine.drive_columns]
        for values in (machine.home_positions, machine.position_lower, machine.position_upper)
    )
    slides = np.array([joint.kind == 'prismatic' for joint in machine.actuated_joints])
    reach = np.where(slides, max(leg_reach(leg) for leg in machine.legs), 2.0 * np.pi)
    return np.where(np.isfinite(lower), lower, home - reach), np.where(np.isfinite(upper), upper, home + reach)


def inside(machine: Machine, positions: Array) -> NDArray[np.bool_]:
    """Which values (..., A) stay within the strokes of the drives over samples (N, ..., A)."""
    lower, upper = strokes(machine)
    slack = _SLACK * (upper - lower)
    within = (positions >= lower - slack) & (positions <= upper + slack)
    return np.asarray(within.mean(axis=0) >= _INSIDE)


def is_solvable(machine: Machine) -> str:
    """Why the drives do not tell the pose at home, or nothing."""
    if not machine.has_platform:
        return 'it is an open chain'
    if machine.actuated_count < machine.degrees_of_freedom:
        return f'it has {machine.actuated_count} drives for {machine.degrees_of_freedom} degrees of freedom'
    try:
        close_legs(machine, machine.home.position[None], machine.home.rotation_base_platform[None])
    except KinematicsError as error:
        return str(error)
    return ''


class ExpectedMotion(NamedTuple):
    """Platform and IMU by forward kinematics.

    Attributes
    ----------
    found : (N,) samples whose pose can be trusted
    motion : of those K samples
    specific_force, angular_rate : (K, 3) in the axes that the machine file gives to the IMU; of machines without an
        IMU in those of the platform, at its origin
    fits : part of the power of the drives' rates that the closures admit; 1 of drives that are not redundant
    """

    found: NDArray[np.bool_]
    motion: PlatformMotion
    specific_force: Array
    angular_rate: Array
    fits: float


def predict(machine: Machine, drives: Signal) -> ExpectedMotion | None:
    """Predict from drives [m, rad] and their derivatives; None if no sample has a pose."""
    result = forward_kinematics(machine, drives.value, tolerance=measured_tolerance(machine))
    found = result.trusted
    if not found.any():
        return None
    closed, time, rate, acceleration = (
        result.rows(np.flatnonzero(found)), drives.time[found], drives.rate[found], drives.acceleration[found]
    )  # fmt: skip
    try:
        if machine.is_redundant:
            motion, fits = _nearest_motion(machine, time, closed, rate, acceleration)
        else:
            motion, fits = motion_of_configurations(machine, time, closed, rate, acceleration), 1.0
    except KinematicsError:
        return None
    return ExpectedMotion(found, motion, *imu_truth(motion, machine.gravity, *mounting(machine)), fits)


def _nearest_motion(
    machine: Machine, time: Array, closed: ForwardKinematicsResult, rate: Array, acceleration: Array
) -> tuple[PlatformMotion, float]:
    """Motion nearest to rates and accelerations (N, A) of redundant drives, and the part of the rates that fits it."""
    pose = closed.position, closed.rotation_base_platform
    legs, none = close_legs(machine, *pose), np.zeros((len(time), 3))
    per_drive = twist_per_drive(legs)
    twist = (per_drive @ rate[..., None])[..., 0]
    left = rate - (legs.drive_map @ twist[..., None])[..., 0]
    steady = PlatformMotion(time, *pose, twist[:, :3], twist[:, 3:], none, none)
    beside = acceleration - joint_motion(machine, steady).accelerations[:, machine.drive_columns]
    twist_rate = (per_drive @ beside[..., None])[..., 0]
    motion = replace(steady, linear_acceleration=twist_rate[:, :3], angular_acceleration=twist_rate[:, 3:])
    return motion, 1.0 - float(np.sum(left**2) / max(np.sum(rate**2), 1e-300))


def mounting(machine: Machine) -> tuple[Array, Array]:
    """Place and axes of the IMU; those of the platform where there is none."""
    return (machine.imu.position, machine.imu.rotation_platform_imu) if machine.has_imu else (np.zeros(3), np.eye(3))
