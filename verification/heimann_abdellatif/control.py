"""Heimann & Abdellatif, R4-41 to R4-43: feed-forward on a circle of 0.3 m on MuJoCo physics; R4-05, R4-08: safe stop.

The plant is the simulation with friction, sensor noise and positions in steps of 20 um, at 1 kHz; the controller's
model is the machine file's, or one that was identified from the plant's own recording.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from pkm_bringup.control import FEEDFORWARD_MODES, ReferenceRefusedError, TrippedError
from pkm_description.arrays import Array
from pkm_description.friction_laws import Stribeck
from pkm_description.kinematics import drive_positions
from pkm_description.loading import load_machine
from pkm_description.machine import Joint, JointFriction, Machine, PlatformMotion
from pkm_description.machine.machine import with_friction
from pkm_description.motion.circles import CirclePath
from pkm_description.motion.limits import check_motion
from pkm_description.motion.profiles import profile

from pkm_bringup import ControlledSimulation, ServoSettings, ServoState, TrackingRecord, track
from verification.check import Check, at_least, at_most, equal, holds, near, refused

#: 1/s, integral gain over stiffness of the PID controllers
PID_RATE = 10.0

#: names of the stages in the tables
STAGES = dict(zip(FEEDFORWARD_MODES, ('', ' + gravity', ' + rigid body', ' + friction'), strict=True))

#: stages that the requirement compares
WITHOUT_GRAVITY = tuple(stage for stage in FEEDFORWARD_MODES if stage != 'gravity')

#: Hz, knots of references
KNOT_RATE = 100.0


@dataclass(frozen=True)
class Study:
    """The circle, followed with every stage of feed-forward.

    Attributes
    ----------
    circle : what is wanted
    records : by stage
    """

    circle: CirclePath
    records: dict[str, TrackingRecord]

    def rms(self, stage: str, constant_speed: bool = False) -> Array:
        """Tracking errors (A,) m or rad on the circle, or at constant path speed only."""
        return self.records[stage].rms(self.circle.constant_speed if constant_speed else self.circle.on_circle)


def circle_of(machine: Machine, quick: bool) -> CirclePath:
    """The paper's circle; once around, or three times."""
    return CirclePath(machine.home, turns=1.0, approach=0.5) if quick else CirclePath(machine.home)


def circle_study(
    plant: Machine,
    belief: Machine | None,
    quick: bool,
    integral_rate: float = 0.0,
    stages: tuple[str, ...] = FEEDFORWARD_MODES,
) -> Study:
    """Follow the circle with some stages of feed-forward."""
    circle = circle_of(plant, quick)
    motion = circle.sample(KNOT_RATE)
    records = {
        stage: track(
            plant, motion, ServoSettings(feedforward=stage, integral_rate=integral_rate), belief=belief, seed=1
        )
        for stage in stages
    }
    return Study(circle, records)


@cache
def palida_study(path: str, quick: bool, integral_rate: float = 0.0) -> Study:
    """Study of a machine file with itself as the controller's model; shared by checks and figures."""
    stages = WITHOUT_GRAVITY if quick and integral_rate else FEEDFORWARD_MODES
    return circle_study(load_machine(path), None, quick, integral_rate, stages)


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """Circle, stages of feed-forward with PD and PID, force limits, Cartesian errors."""
    yield from circle_checks(machine)
    for name, rate in (('PD', 0.0), ('PID', PID_RATE)):
        study = palida_study(str(machine.path), quick, rate)
        yield from stage_checks(study, name)
        yield from cartesian_checks(study, name)


def circle_checks(machine: Machine) -> Iterator[Check]:
    """The printed circle, and that the machine can do it."""
    circle = CirclePath(machine.home)
    motion = circle.evaluate(np.linspace(*circle.constant_speed, 500))
    around = np.linalg.norm(motion.position - machine.home.position, axis=1)
    speed = np.linalg.norm(motion.linear_velocity, axis=1)
    yield near('R4-42', 'circle: diameter', 0.3, 2.0 * float(around.mean()), 1e-12, 'm')
    yield near('R4-42', 'circle: path speed at constant speed', 1.0, float(speed.max()), 1e-12, 'm/s')
    yield near('R4-42', 'circle: angular speed', 6.67, circle.angular_speed, 5e-3, 'rad/s')
    centripetal = np.linalg.norm(motion.linear_acceleration, axis=1)
    yield near('R4-42', 'circle: centripetal acceleration', 6.67, float(centripetal.max()), 5e-3, 'm/s^2')
    ends = circle.evaluate(np.array([0.0, circle.duration]))
    yield at_most('R4-42', 'circle: begins and ends at rest at home', 1e-12, [
        np.abs(ends.twist).max(), np.abs(ends.position - machine.home.position).max()
    ])  # fmt: skip
    yield equal('R4-42', 'circle: violations of limits', 0, len(check_motion(machine, circle.sample(1000.0))))


def stage_checks(study: Study, name: str, remark: str = '') -> Iterator[Check]:
    """Errors fall from stage to stage on every axis; friction counts at constant speed; forces keep their limits."""
    machine = study.records['none'].machine
    rms = {stage: study.rms(stage) for stage in study.records}
    for before, after in (('none', 'rigid_body'), ('rigid_body', 'rigid_body_friction')):
        what = f'{name}{STAGES[before]} over {name}{STAGES[after]}{remark}: smallest ratio of the rms errors of a drive'
        yield at_least('R4-42', what, 1.0, rms[before] / rms[after], note=_micrometres(rms[before], rms[after]))
    what = f'{name} over {name} + friction{remark}: smallest ratio of the rms errors of a drive'
    yield at_least('R4-42', what, 5.0, rms['none'] / rms['rigid_body_friction'])
    constant = study.rms('rigid_body', True) / study.rms('rigid_body_friction', True)
    what = f'{name}{remark}, constant speed: smallest ratio of the errors without and with friction'
    yield at_least('R4-42', what, 1.0, constant)
    limits = np.array([joint.limits.effort for joint in machine.actuated_joints])
    use = max(float((np.abs(record.forces) / limits).max()) for record in study.records.values())
    yield at_most('R4-41', f'{name}{remark}: largest force over the limit of {limits[0]:g} N', 1.0, use)
    cut = int(study.records['rigid_body_friction'].saturation_count.sum())
    yield equal('R4-41', f'{name} + friction{remark}: control periods with a force cut to its limit', 0, cut)


def cartesian_checks(study: Study, name: str, remark: str = '') -> Iterator[Check]:
    """R4-43: errors of x and of the second cardan angle by numerical forward kinematics."""
    errors = {stage: cartesian_rms(study, stage) for stage in WITHOUT_GRAVITY}
    for place, (what, unit) in enumerate((('x', 'um'), ('second cardan angle', 'urad'))):
        figures = [errors[stage][place] * 1e6 for stage in WITHOUT_GRAVITY]
        yield holds(
            'R4-43',
            f'{name}{remark}: rms error of {what}, without model, + rigid body, + friction',
            'falling',
            ' > '.join(f'{figure:.1f}' for figure in figures) + f' {unit}',
            figures[0] > figures[1] > figures[2],
        )


def cartesian_rms(study: Study, stage: str) -> tuple[float, float]:
    """Rms errors of x [m] and of the second cardan angle [rad] on the circle."""
    time, position, angles = study.records[stage].platform_errors(step=5)
    first, last = study.circle.on_circle
    during = (time >= first) & (time <= last)
    rms = np.sqrt(np.mean(np.square([position[during, 0], angles[during, 1]]), axis=1))
    return float(rms[0]), float(rms[1])


def law_checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """R4-42 with Stribeck friction in the drives and friction in the passive joints, simulated and fed forward."""

    def rough(joint: Joint) -> JointFriction:
        if not joint.actuated:
            return JointFriction.viscous_coulomb(0.05, 0.3)
        level = joint.friction.coulomb
        law = Stribeck(viscous=joint.friction.viscous, coulomb=level, static=1.6 * level, stribeck_velocity=0.05)
        return JointFriction(law, joint.limits.velocity)

    def drives_only(joint: Joint) -> JointFriction:
        return rough(joint) if joint.actuated else JointFriction()

    plant = with_friction(machine, rough)
    circle = circle_of(machine, quick)
    motion = circle.sample(KNOT_RATE)
    settings = ServoSettings(feedforward='rigid_body_friction')
    rms = [
        track(plant, motion, settings, belief=belief, seed=1).rms(circle.on_circle)
        for belief in (machine, with_friction(machine, drives_only), plant)
    ]
    what = 'friction of the passive joints: smallest ratio of the errors without and with it'
    yield at_least('R4-42', what, 2.0, rms[1] / rms[2], note=_micrometres(rms[1], rms[2]))
    what = "Stribeck's law and passive joints: ratio of the errors of all drives without and with both"
    ratio = np.linalg.norm(rms[0]) / np.linalg.norm(rms[2])
    yield at_least('R4-42', what, 2.0, ratio, note=_micrometres(rms[0], rms[2]))


def other_machine_checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """R4-42 on machines of other kinds: a slower circle, or sines of the drives where there is no such circle."""
    if machine.name == 'srs':
        motion = CirclePath(machine.home, speed=0.5, turns=0.5 if quick else 2.0).sample(KNOT_RATE)
    else:
        motion = profile('drives', machine, 3.0 if quick else 10.0, KNOT_RATE, seed=1)
    stages = WITHOUT_GRAVITY if quick else FEEDFORWARD_MODES
    rms = {stage: track(machine, motion, ServoSettings(feedforward=stage), seed=1).rms() for stage in stages}
    stiff = rms['rigid_body_friction']
    what = 'PD over PD + friction: smallest ratio of the rms errors of a drive'
    yield at_least('R4-42', what, 5.0, rms['none'] / stiff, note=_micrometres(rms['none'], stiff))
    what = 'PD + rigid body over PD + friction: smallest ratio'
    yield at_least('R4-42', what, 1.0, rms['rigid_body'] / stiff, note=_micrometres(rms['rigid_body'], stiff))
    # friction may act against inertia: rigid bodies alone need not help on each axis where friction prevails
    ratio = np.linalg.norm(rms['none']) / np.linalg.norm(rms['rigid_body'])
    yield at_least('R4-42', 'PD over PD + rigid body: ratio of the rms errors of all drives', 1.0, ratio)


def _micrometres(before: Array, after: Array) -> str:
    texts = (' '.join(f'{1e6 * value:.1f}' for value in values) for values in (before, after))
    return ' against '.join(texts) + ' um or urad'


#: m, tracking error that stops the machine here
LIMIT = 5e-3


def safe_stop_checks(machine: Machine, quick: bool) -> Iterator[Check]:
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
