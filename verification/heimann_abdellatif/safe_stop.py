"""Heimann & Abdellatif, R4-05 and R4-08: motions refused before they begin, and the stop by the tracking error."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
from pkm_bringup.control import ReferenceRefusedError, TrippedError
from pkm_description.kinematics import drive_positions
from pkm_description.machine import Machine, PlatformMotion
from pkm_description.motion.profiles import profile

from pkm_bringup import ControlledSimulation, ServoSettings, ServoState
from verification.check import Check, at_most, equal, holds, refused

#: m, tracking error that stops the machine here
LIMIT = 5e-3


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """A servo on MuJoCo physics: refuses, trips, brakes, holds."""
    motion = profile('drives', machine, 6.0, 50.0, seed=2)
    settings = ServoSettings(feedforward='rigid_body_friction', tracking_error_limit=LIMIT)
    yield from refusal_checks(machine, motion)
    yield from trip_checks(machine, motion, settings)
    yield from silence_checks(machine, motion, settings)


def refusal_checks(machine: Machine, motion: PlatformMotion) -> Iterator[Check]:
    """R4-05 at the servo: a motion beyond a stroke is refused, also if only between its knots."""
    controlled = ControlledSimulation(machine, noise=False)
    far = motion.position.copy()
    far[len(far) // 2] += [0.0, 0.0, 10.0]
    still = PlatformMotion.at_rest(machine.home.position, machine.home.rotation_base_platform)
    knots = PlatformMotion(
        np.arange(3.0), *(np.repeat(getattr(still, name), 3, axis=0) for name in list(still.__dataclass_fields__)[1:])
    )
    kick = np.zeros((3, 3))
    kick[1, 2] = 8.0
    for what, bad in (
        ('a knot beyond the stroke', dataclasses.replace(motion, position=far)),
        ('knots at home 1 s apart, beyond the stroke or speed in between', _long(knots, kick)),
    ):
        yield refused('R4-05', f'servo: {what}', ReferenceRefusedError, controlled.add_reference, bad, 0)
    home = controlled.simulation.joint_positions.copy()
    for _ in range(200):
        controlled.step()
    moved = controlled.simulation.joint_positions - home
    yield at_most('R4-05', 'servo: motion after the refusals', 1e-4, moved, 'm')


def _long(knots: PlatformMotion, acceleration: np.ndarray) -> PlatformMotion:
    """The knots further apart: an acceleration at the middle one carries the platform away between them."""
    return dataclasses.replace(knots, time=2.0 * knots.time, linear_acceleration=acceleration)


def trip_checks(machine: Machine, motion: PlatformMotion, settings: ServoSettings) -> Iterator[Check]:
    """R4-08: a drive is blocked during a motion."""
    controlled = ControlledSimulation(machine, noise=False, settings=settings)
    simulation, servo = controlled.simulation, controlled.servo
    controlled.add_reference(motion, 0)
    limits = np.array([joint.limits.effort for joint in machine.actuated_joints])
    blocked = simulation.model.joint(machine.actuated_joint_names[0]).dofadr[0]
    largest, error_before, tripped_at = 0.0, 0.0, -1
    for step in range(5000):
        if step == 1500:
            simulation.model.dof_frictionloss[blocked] = 3.0 * limits[0]
        if tripped_at < 0 and not servo.trip_reason:
            error_before = float(np.abs(servo.tracking_error).max())
        controlled.step()
        largest = max(largest, float((np.abs(simulation.data.ctrl) / limits).max()))
        if servo.trip_reason and tripped_at < 0:
            tripped_at = step
    yield holds('R4-08', f'error above {1e3 * LIMIT:g} mm gives a trip signal with the reason', 'a reason',
                servo.trip_reason or 'none', servo.trip_reason.startswith(machine.actuated_joint_names[0]))  # fmt: skip
    yield at_most('R4-08', 'largest error before the trip over its limit (10 ms of delay)', 1.5, error_before / LIMIT)
    yield equal('R4-08', 'state afterwards', ServoState.HOLDING.value, servo.state.value)
    yield at_most('R4-08', 'speed of the drives at rest', 1e-4, simulation.joint_velocities, 'm/s')
    yield at_most('R4-08', 'largest force over its limit, all the time', 1.0, largest)
    yield refused('R4-08', 'a motion before the reset', TrippedError, controlled.add_reference, motion, 0)


def silence_checks(machine: Machine, motion: PlatformMotion, settings: ServoSettings) -> Iterator[Check]:
    """R4-08: joint states stop coming during a motion."""
    controlled = ControlledSimulation(machine, noise=False, settings=settings)
    simulation, servo = controlled.simulation, controlled.servo
    controlled.add_reference(motion, 0)
    for _ in range(1500):
        controlled.step()
    before = simulation.joint_positions.copy()
    for _ in range(1000):
        simulation.step(servo.forces_without_measurement(simulation.time_ns))
    yield holds('R4-08', 'no joint states for a second: trip signal', 'a reason', servo.trip_reason or 'none',
                'no usable joint states' in servo.trip_reason)  # fmt: skip
    speed = simulation.joint_velocities
    yield at_most('R4-08', 'speed of the drives after braking without measurements', 0.01, speed, 'm/s')
    way = np.abs(simulation.joint_positions - before).max()
    stroke = np.ptp(drive_positions(machine, motion), axis=0).max()
    yield at_most('R4-08', 'way until then over the stroke of the motion', 1.0, way / stroke)
