"""All checks of a robot's wiring, in order: each stands on what those before it found and mended."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from pkm_description.errors import Finding, JointStateError, PkmError
from pkm_description.joint_states import JointStateReader
from pkm_description.machine import Machine

from pkm_bringup.robot_check.drive_checks import effort_checks, velocity_checks
from pkm_bringup.robot_check.imu_checks import imu_checks
from pkm_bringup.robot_check.motion_checks import motion_checks
from pkm_bringup.robot_check.position_checks import pose_checks, position_checks
from pkm_bringup.robot_check.recorded import ImuLog, JointLog, Observation
from pkm_bringup.robot_check.signals import time_axes
from pkm_bringup.robot_check.stamp_checks import clock_checks, delay_checks, rate_checks, stamp_checks
from pkm_bringup.robot_check.stream_checks import name_checks, topic_checks, value_checks
from pkm_bringup.robot_check.wiring import DriverPatch, Report, Wiring, cannot_tell

Check = Callable[[Wiring], Iterator[Finding]]

#: in this order
CHECKS: tuple[Check, ...] = (
    topic_checks,
    stamp_checks,
    rate_checks,
    name_checks,
    value_checks,
    imu_checks,
    position_checks,
    clock_checks,
    motion_checks,
    delay_checks,
    pose_checks,
    velocity_checks,
    effort_checks,
)


def check_robot(machine: Machine, seen: Observation) -> Report:
    """Say what is wrong with the wiring of a robot, and the remedy for each.

    Parameters
    ----------
    machine : what the robot should be, with its driver
    seen : what was heard of it

    Returns
    -------
    Report
        One finding at least of every check that had something to look at. What there is not enough data or motion for
        is ``cannot tell``, with the motion that would tell.
    """
    wiring = Wiring(machine, seen, DriverPatch(machine))
    wiring.joints, wiring.imu = _in_convention(machine, seen.joints), _imu_in_convention(machine, seen.imu)
    wiring.times = time_axes(
        wiring.joints,
        wiring.imu,
        machine.leg_sensors.rate if machine.has_leg_sensors else 100.0,
        machine.imu.rate if machine.has_imu else 100.0,
    )
    for check in CHECKS:
        try:
            for finding in check(wiring):
                wiring.findings.append(finding)
        except (PkmError, np.linalg.LinAlgError) as error:
            name = check.__name__.removesuffix('_checks')
            wiring.findings.append(
                cannot_tell(name, f'the check of {name} had to stop: {error}', 'the findings above first')
            )
    listened = seen.joints is not None or seen.imu is not None
    return Report(machine.name, seen.source, tuple(wiring.findings), listened, wiring.patch.text())


def _in_convention(machine: Machine, log: JointLog | None) -> JointLog | None:
    """Joint states through the machine's driver, if it has one and its names fit."""
    if log is None or not machine.driver.converts_joints:
        return log
    try:
        order = JointStateReader.of_drives(machine).order(log.names)
        order.require_all()
    except JointStateError:
        return log  # the check of the names says why
    efforts = log.efforts if not np.isfinite(log.efforts).any() else order.by_joint(log.efforts, 'effort')
    shape = len(log), machine.actuated_count
    return replace(
        log,
        names=machine.actuated_joint_names,
        positions=order.by_joint(log.positions),
        velocities=order.by_joint(log.velocities, 'velocity', log.positions),
        efforts=efforts if efforts.shape == shape else np.full(shape, np.nan),
    )


def _imu_in_convention(machine: Machine, log: ImuLog | None) -> ImuLog | None:
    """IMU messages in SI units by the machine's driver."""
    if log is None or machine.driver.imu.is_standard:
        return log
    own = machine.driver.imu
    force, rate = own.specific_force(log.specific_force), own.angular_rate(log.angular_rate)
    return replace(log, specific_force=force, angular_rate=rate)
