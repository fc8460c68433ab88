"""What the identification while the machine runs says of a load on the platform, on streams of data of MuJoCo."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kinematics import joint_motion
from pkm_description.loading import load_machine
from pkm_description.machine import Machine, PlatformMotion, RigidBody
from pkm_description.motion.profiles import mp1_profile, sample_times
from pkm_identification.columns.joint_terms import LOAD_FRICTION, Ripple
from pkm_identification.online.identifier import OnlineIdentifier
from pkm_identification.online.observation import OnlineObservation
from pkm_identification.online.sliding_polynomial import WindowSample

from verification.check import Check, at_most, equal
from verification.identification_data.dataset import STEP, DataSet, excitation, generate
from verification.identification_data.physics import NOTHING, Happening

#: part of the platform's mass; its centre in radii of the platform, its sides, too: a cube
LOAD, PLACE, SIDE = 0.1, (0.1, -0.06, 0.12), 0.2
#: part of what is told of a parameter that counts as nothing
_NOTHING = 1e-12
#: s, after the load and before the end, so that the fade of the motion comes after what is judged
AFTER = 8.0


def load_of(machine: Machine) -> RigidBody:
    """A cube of :data:`LOAD` of the platform's mass, beside and above its middle."""
    mass, radius = LOAD * machine.platform.mass, float(machine.model.radius[0])
    inertia = mass * (SIDE * radius) ** 2 / 6.0 * np.eye(3)
    return RigidBody('payload', mass, radius * np.array(PLACE), inertia)


def circle(machine: Machine, duration: float, seed: int, step: float, validation: bool) -> PlatformMotion:
    """A circle, and slow turns."""
    return mp1_profile(machine, duration).evaluate(sample_times(duration, 1.0 / step))


#: what the node hears: the platform shifts and turns (where it is not free: sines of the drives), or a circle
MOTIONS = {'fourier': excitation, 'mp1': circle}


def stream(source: str, case: str, seed: int, motion: str, duration: float, happening: Happening) -> DataSet:
    """Simulate a motion of :data:`MOTIONS` that lasts so many s; nobody looks at a validation."""
    return generate(source, case, seed, (duration, 0.0), STEP, MOTIONS[motion], happening)


def center_bound(data: DataSet, span: float) -> Array:
    """Least standard deviations (3,) m of a load's centre (Cramer-Rao) from ``span`` seconds after it came.

    For an estimator that knows all but the load's ten parameters, and the motion, from efforts with white noise alone.
    """
    payload = data.happening.payload
    assert payload is not None
    begin = round(data.happening.since / STEP)
    places = np.arange(begin, begin + round(span / STEP), 10)
    joints, columns = joint_motion(data.nominal, data.training.motion[places]), data.nominal.drive_columns
    observation, none = OnlineObservation(data.nominal), np.zeros(len(columns))
    information = np.zeros((10, 10))
    for index in range(len(places)):
        position, velocity, acceleration = (
            values[index, columns] for values in (joints.positions, joints.velocities, joints.accelerations)
        )
        sample = WindowSample(0, position, velocity, acceleration, none, none, 0.0, none, none, none, none)
        rows = observation.rows(sample).platform
        information += 10.0 * (rows.T / data.signals.effort_noise**2) @ rows
    told = np.diag(information)
    size = 1.0 / np.sqrt(np.where(told > 0.0, told, 1.0))
    scaled = information * np.outer(size, size) + _NOTHING * np.eye(10)
    covariance = np.outer(size, size) * np.linalg.inv(scaled)
    mass, center = payload.mass, payload.center_of_mass
    slope = np.concatenate([-center[:, None], np.eye(3)], axis=1) / mass
    return np.asarray(np.sqrt(np.diag(slope @ covariance[:4, :4] @ slope.T)))


#: s of motion before the load comes
BEFORE = 25.0
#: samples of the physics between two of the stream: with a load, and without
EVERY, EVERY_WITHOUT = 1, 10
#: s until a load must be named, and after which its figures are judged
NAMED, JUDGED = 0.5, 5.0
#: parts of the mass, m of the centre, deviations of both, false alarms in ten minutes
MASS, CENTER, SIGMAS, ALARMS = 0.02, 0.005, 4.0, 1
#: factor by which friction grows
DRIFT = 1.2
#: s in which a drift of that size can be told, and of motion with a force that the model lacks
LEAST_DRIFT, LACKING = 300.0, 60.0
#: ns, of the first sample
_BEGIN = 10**9


@dataclass(frozen=True)
class Found:
    """What was said.

    Attributes
    ----------
    delay : s, from the load to its name; infinite: never
    mass, mass_std : relative error, and its stated standard deviation
    center, center_std : (3,) m
    alarms : times [s] of all changes of the load that were said
    lacks : forces that were said to be missing, and when [s] first
    drifts : parts by which friction of drives was last said to have changed
    detectable : least load that would have been named when it came, by what was said, as part of its mass
    """

    delay: float
    mass: float
    mass_std: float
    center: Array
    center_std: Array
    alarms: tuple[float, ...]
    lacks: dict[str, float]
    drifts: dict[str, float]
    detectable: float


def listen(data: DataSet, every: int) -> Found:
    """Feed the identifier with every so-manieth sample."""
    identifier, alarms, judged = OnlineIdentifier(data.nominal), dict[int, float](), None
    lacks, drifts, detectable = dict[str, float](), dict[str, float](), np.inf
    measured, true, since = data.training, data.happening.payload, data.happening.since
    for index in range(0, len(measured.run.time), every):
        time = float(measured.run.time[index])
        identifier.add(_BEGIN + round(time * 1e9), measured.positions[index], measured.efforts[index])
        if true is not None and time <= since:
            detectable = identifier.detectable_mass / true.mass
        if identifier.lack is not None:
            lacks.setdefault(identifier.lack.title, time)
        drifts.update({drift.drive: drift.part for drift in identifier.drifts})
        if identifier.payload is not None:
            alarms.setdefault(identifier.payload.since, time)
            if judged is None and time >= since + JUDGED:
                judged = identifier.payload
    none = np.full(3, np.nan)
    times = tuple(alarms.values())
    if judged is None or true is None:
        return Found(np.inf, np.nan, np.nan, none, none, times, lacks, drifts, detectable)
    return Found(
        times[0] - since, judged.mass / true.mass - 1.0, judged.mass_std / true.mass,
        judged.center - true.center_of_mass, judged.center_std, times, lacks, drifts, detectable,
    )  # fmt: skip


def load_checks(machine: str, case: str, motion: str, seeds: range) -> Iterator[Check]:
    """A tenth of the platform's mass is put on it while it moves."""
    found, bounds = [], []
    load = Happening(load_of(load_machine(machine)), BEFORE)
    for seed in seeds:
        data = stream(machine, case, seed, motion, BEFORE + JUDGED + AFTER, load)
        found.append(listen(data, EVERY))
        bounds.append(center_bound(data, JUDGED))
    name, told = f'online-{case}-{motion}', f'({len(found)} seeds, {1.0 / (EVERY * STEP):g} Hz)'
    latest = max(one.delay for one in found)
    what, detectable = f'{machine}: a load is named after {told}', max(one.detectable for one in found)
    yield at_most(f'{name}-delay', what, NAMED, latest, 's', f'detectable by then: {detectable:.2g} of its mass')
    if not np.isfinite(latest):
        return
    stated = 100.0 * max(one.mass_std for one in found)
    what = f'its mass after {JUDGED:g} s (stated deviation at most {stated:.2g} %)'
    yield at_most(f'{name}-mass', what, 100.0 * MASS, [100.0 * one.mass for one in found], '%')
    deviation, least = (1e3 * float(np.max(values)) for values in ([one.center_std for one in found], bounds))
    worst = 1e3 * float(np.max(np.abs([one.center for one in found])))
    note = f'stated deviation at most {deviation:.2g} mm; bound of white noise: {least:.2g} mm'
    yield at_most(f'{name}-center', f'{machine}: its centre', 1e3 * CENTER, worst, 'mm', note)
    off = [one.mass / one.mass_std for one in found]
    off += [float(np.max(np.abs(one.center / one.center_std))) for one in found]
    yield at_most(f'{name}-honest', 'both in their stated deviations', SIGMAS, off)
    others = sum(len(one.alarms) - 1 for one in found)
    yield equal(f'{name}-once', 'other changes of the load that were said', 0, others)


def alarm_checks(machine: str, case: str, seed: int, duration: float) -> Iterator[Check]:
    """No load comes, and friction stays, grows in all drives, or in one."""
    labels = load_machine(machine).drive_labels
    one = np.where(np.arange(len(labels)) == seed % len(labels), DRIFT, 1.0)
    for name, growth in (('1', np.ones(len(labels))), (f'{DRIFT:g}', np.full(len(labels), DRIFT)), ('one', one)):
        data = stream(machine, case, seed, 'fourier', duration, Happening(friction=growth))
        found, grows = listen(data, EVERY_WITHOUT), growth > 1.0
        more = f', friction of {int(grows.sum())} drives {100.0 * (DRIFT - 1.0):.0f} % more at the end'
        more = more if grows.any() else ''
        what = f'changes of the load said in {duration:g} s without one{more}'
        yield at_most(f'online-{case}-false-{name}', what, ALARMS * duration / 600.0, float(len(found.alarms)))
        wrong = set(found.drifts) - {label for label, its in zip(labels, grows, strict=True) if its}
        what = f'drives named whose friction does not drift{more}'
        yield at_most(f'online-{case}-drift-false-{name}', what, ALARMS * duration / 600.0, float(len(wrong)))
        lacks = [title for title in found.lacks if not (case == 'bias_ripple' and title == Ripple.title)]
        what = f'forces said to be missing that are not{more}'
        yield at_most(f'online-{case}-lack-false-{name}', what, ALARMS * duration / 600.0, float(len(lacks)))
        if grows.any() and duration >= LEAST_DRIFT:
            named = set(found.drifts) - wrong
            told = ', '.join(f'{drive} {100.0 * found.drifts[drive]:+.0f} %' for drive in sorted(named))
            what = f'drives named whose friction drifts ({told})'
            yield equal(f'online-{case}-drift-{name}', what, int(grows.sum()), len(named))


def lack_checks(machine: str, seeds: range) -> Iterator[Check]:
    """Drives rub by 2 % of their forces, and the model does not know it."""
    found = [listen(stream(machine, 'axial', seed, 'fourier', LACKING, NOTHING), EVERY_WITHOUT) for seed in seeds]
    named = sum(next(reversed(one.lacks), '') == LOAD_FRICTION.title for one in found)
    latest = max((one.lacks.get(LOAD_FRICTION.title, np.inf) for one in found), default=np.inf)
    what = f'seeds in which friction by the load (2 %) is named as missing, the latest after {latest:.3g} s'
    yield equal('online-axial-lack', what, len(found), named)
