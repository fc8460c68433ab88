"""All checks of a robot's wiring, in order: each stands on what those before it found and mended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from pkm_description.errors import JointStateError, MachineFileError, PkmError
from pkm_description.joint_states import JointStateReader
from pkm_description.machine import Machine
from pkm_estimation.bags import JointStates

from pkm_bringup.robot_check.arrangement import arrangement_checks
from pkm_bringup.robot_check.efforts import effort_checks, velocity_checks
from pkm_bringup.robot_check.recorded import Observation
from pkm_bringup.robot_check.signals import Stream, aligned
from pkm_bringup.robot_check.stamps import stream_checks
from pkm_bringup.robot_check.streams import imu_checks, name_checks, topic_checks, value_checks
from pkm_bringup.robot_check.wiring import CANNOT_TELL, SUSPICIOUS, Report, Wiring, driver_file, with_driver

#: in this order
CHECKS: tuple[Callable[[Wiring], None], ...] = (
    topic_checks, stream_checks, name_checks, value_checks, imu_checks, arrangement_checks, velocity_checks,
    effort_checks,
)  # fmt: skip
#: findings that go with those that a driver file mends
_WITH_THEM = 'leg_imu_disagree', 'pose', 'imu_axes', 'imu_tilt'


def check_robot(machine: Machine, seen: Observation) -> Report:
    """Say what is wrong with the wiring of a robot, and the remedy for each.

    The driver file that is proposed is proved first: with it (and the mounting of the IMU that was found), what was
    heard is checked once more.

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
    wiring = _checked(machine, seen)
    text = '' if wiring.alternatives else driver_file(machine, wiring.patch)
    left = _left(wiring, text) if text else ''
    wiring.say(
        left, SUSPICIOUS, 'driver_file',
        f'a driver file for these findings was tried on what was heard, and is not proposed: with it {left}',
        'see the other findings; a recording with more motion tells more',
    )  # fmt: skip
    listened, findings = seen.joints is not None or seen.imu is not None, tuple(wiring.findings)
    return Report(machine.name, seen.source, findings, listened, '' if left else text, wiring.alternatives)


def _left(wiring: Wiring, text: str) -> str:
    """What is still wrong, or new, with a driver file; empty if nothing that such a file could mend."""
    if wiring.unexplained:
        return f'{wiring.unexplained:.0%} of what the IMU shows stay unexplained'
    try:
        machine = with_driver(wiring.machine, text)
    except MachineFileError as error:
        return str(error)
    if wiring.best is not None and machine.has_imu:
        turned = machine.imu.rotation_platform_imu @ wiring.best.gyroscope.T
        machine = replace(machine, imu=replace(machine.imu, rotation_platform_imu=turned))
    before = {one.code for one in wiring.findings if one.is_fault} - {*wiring.mended, *_WITH_THEM}
    again = [one for one in _checked(machine, wiring.seen).findings if one.is_fault]
    return '; '.join(f'{one.code}: {one.sentence}' for one in again if one.code not in before)


def _checked(machine: Machine, seen: Observation) -> Wiring:
    rates = machine.leg_sensors.rate if machine.has_leg_sensors else 0.0, machine.imu.rate if machine.has_imu else 0.0
    joints = Stream('joint', seen.joint_topic, rates[0], _in_convention(machine, seen.joints))
    imu = Stream('imu', seen.imu_topic, rates[1], seen.imu)
    wiring = Wiring(machine, seen, *aligned(joints.timed(), imu.timed()))
    for check in CHECKS:
        try:
            check(wiring)
        except (PkmError, np.linalg.LinAlgError) as error:
            name = check.__name__.removesuffix('_checks')
            sentence = f'the check of {name} had to stop: {error}'
            wiring.say(True, CANNOT_TELL, name, sentence, 'the findings above first')
    return wiring


def _in_convention(machine: Machine, log: JointStates | None) -> JointStates | None:
    """Joint states through the machine's driver, if it has one and its names fit."""
    if log is None or not machine.driver.converts_joints:
        return log
    try:
        order = JointStateReader.of_drives(machine).order(log.names)
        order.require_all()
    except JointStateError:
        return log  # the check of the names says why
    return log.by_joint(order)
