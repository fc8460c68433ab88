"""Efforts of the drives against weight, inertia and friction of the machine file, and by their power."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.dynamics import gravity_forces, inverse_dynamics
from pkm_description.errors import Finding, KinematicsError

from pkm_bringup.robot_check.effort_findings import gain_findings
from pkm_bringup.robot_check.findings import cannot_tell, suspicious, wrong
from pkm_bringup.robot_check.prediction import predict
from pkm_bringup.robot_check.recorded import Flags
from pkm_bringup.robot_check.smooth_motion import INTERVAL, smoothed
from pkm_bringup.robot_check.wiring import Wiring

#: instants at which forces are worked out
_INSTANTS = 600
#: noise deviations above which an expected effort can be told
_ABOVE_NOISE = 4.0
#: s, delays of the efforts that are looked for
_DELAYS = 0.3
#: part of an effort's power that the model must explain
EXPLAINED = 0.7
MOTION = 'a motion with all drives (motion_player profile:=drives, or fourier)'


@dataclass(frozen=True)
class EffortFit:
    """Efforts as multiples of what the machine file expects, drive by drive.

    Attributes
    ----------
    gain : (A,) measured by expected
    explained : (A,) part of the measured effort's power (about zero) that gain times expected explains
    slack : (A,) part by which dry friction at rest may change the gain
    told : (A,) drives whose gain can be told
    size : (A,) N or N m, root mean square of what is expected
    moves : whether the machine moves
    """

    gain: Array
    explained: Array
    slack: Array
    told: NDArray[np.bool_]
    size: Array
    moves: bool


def effort_checks(wiring: Wiring) -> Iterator[Finding]:
    """Findings about the efforts."""
    log = wiring.joints
    if log is None or wiring.columns is None:
        return
    order = list(range(len(wiring.columns))) if wiring.best is None else list(wiring.best.arrangement.order)
    efforts = log.efforts[wiring.leg_rows][:, [wiring.columns[entry] for entry in order]]
    lacking = list(_lacking(wiring, efforts))
    yield from lacking
    if lacking:
        return
    if wiring.motion is None or wiring.best is None or not wiring.poses_trusted:
        yield cannot_tell(
            'effort', 'without a pose no weight can be compared with the efforts', 'see positions and pose'
        )
        return
    fit = _fit(wiring, efforts)
    if fit is None:
        yield cannot_tell(
            'effort', 'the expected efforts cannot be worked out at these poses', 'see positions and pose'
        )
        return
    if not fit.told.any():
        yield from _by_power(wiring, efforts, fit)
        return
    yield from gain_findings(wiring, fit.gain, fit.explained, fit.slack, fit.told, fit.moves)
    if fit.moves:
        yield from _delay(wiring, efforts, fit)


def _lacking(wiring: Wiring, efforts: Array) -> Iterator[Finding]:
    """Efforts that are not there, not finite or all the same."""
    assert wiring.joints is not None
    remedy = (
        'joint_state_broadcaster: interfaces: [position, velocity, effort], and an effort (or current) state interface'
        ' in the hardware; identification needs it, the estimator does without'
    )
    finite = np.isfinite(efforts)
    if not finite.any():
        empty = wiring.joints.absent.get('effort', 0)
        how = 'the field effort is empty' if empty else 'all are NaN'
        yield wrong('effort_missing', f'no drive has an effort: {how}', remedy)
        return
    if not finite.all():
        bad = np.asarray(~finite.all(axis=0))
        yield wrong('effort_missing', f'efforts of {wiring.named(bad)} are not there or not finite', remedy)
        return
    same: Flags = np.asarray(np.ptp(efforts, axis=0) == 0.0)
    zero = same & (efforts[0] == 0.0)
    if zero.any():
        what = 'all efforts are' if zero.all() else f'efforts of {wiring.named(zero)} are'
        yield wrong(
            'effort_zero', f'{what} exactly zero all the time: the field is filled in, but not measured', remedy
        )
    elif same.any() and len(efforts) > 20:
        yield wrong('effort_frozen', f'efforts of {wiring.named(same)} always read the same number', remedy)


def _fit(wiring: Wiring, efforts: Array) -> EffortFit | None:
    """Compare with inverse dynamics along the motion."""
    machine, motion = wiring.machine, wiring.motion
    assert motion is not None
    assert wiring.best is not None
    measured = smoothed(wiring.leg_time, efforts, motion.time)
    few, rows = motion.some(_INSTANTS)
    arranged = few.arranged(machine, wiring.best.arrangement)
    prediction = predict(machine, arranged.time, arranged.value, arranged.rate, arranged.acceleration)
    if prediction is None:
        return None
    own, value = prediction.motion, measured.value[rows][prediction.found]
    try:
        rigid = inverse_dynamics(machine, own, friction=False)
        full = inverse_dynamics(machine, own, sign_smoothing=_smoothing(wiring, arranged.rate))
        weight = gravity_forces(machine, own.position, own.rotation_base_platform)
    except KinematicsError:
        return None
    rates = arranged.rate[prediction.found]
    moving = np.abs(rates).max(axis=0) > 10.0 * _rate_noise(wiring)
    friction = _static_friction(wiring, full - rigid)
    size = np.sqrt(np.mean(full**2, axis=0))
    # at rest dry friction takes any part of the weight between its limits
    slack = np.where(moving, 0.3 * friction, friction) / np.maximum(size, 1e-12)
    gain = np.sum(value * full, axis=0) / np.maximum(np.sum(full**2, axis=0), 1e-300)
    explained = gain**2 * np.sum(full**2, axis=0) / np.maximum(np.sum(value**2, axis=0), 1e-300)
    carried = np.sqrt(np.mean(weight**2, axis=0)) > 0.02 * size
    told = (slack < 0.6) & (size > _ABOVE_NOISE * _file_noise(wiring)) & (moving | carried)
    return EffortFit(gain, explained, slack, told, size, bool(moving.any()))


def _smoothing(wiring: Wiring, rates: Array) -> float:
    """Velocity below which the sign of the friction is not known."""
    return max(1e-6, 3.0 * float(np.max(_rate_noise(wiring))), 0.02 * float(np.abs(rates).max()))


def _rate_noise(wiring: Wiring) -> Array:
    assert wiring.motion is not None
    assert wiring.positions is not None
    assert wiring.best is not None
    own = smoothed(wiring.leg_time, wiring.positions, wiring.motion.time).rate_noise
    return own[list(wiring.best.arrangement.order)] + 1e-9


def _static_friction(wiring: Wiring, friction: Array) -> Array:
    """Largest friction (A,) of each drive that may be there at rest: that of the file, or of the motion if larger."""
    coulomb = wiring.machine.coulomb[wiring.machine.drive_columns]
    return np.maximum(np.abs(friction).max(axis=0, initial=0.0), coulomb)


def _file_noise(wiring: Wiring) -> Array:
    machine = wiring.machine
    if not machine.has_leg_sensors:
        return np.zeros(machine.actuated_count)
    return np.broadcast_to(machine.leg_sensors.effort_noise, (machine.actuated_count,))


def _by_power(wiring: Wiring, efforts: Array, fit: EffortFit) -> Iterator[Finding]:
    """Sign by power, where the model expects too little to compare with."""
    motion, best = wiring.motion, wiring.best
    assert motion is not None
    assert best is not None
    if not fit.moves:
        yield cannot_tell(
            'effort',
            'at rest the drives carry no weight that friction could not take: neither sign nor scale can be told',
            MOTION,
        )
        return
    measured = smoothed(wiring.leg_time, efforts, motion.time)
    good = motion.good & measured.good
    rates = motion.rate[:, list(best.arrangement.order)] * np.where(best.arrangement.flipped, -1.0, 1.0)
    power = np.sum(measured.value[good] * rates[good], axis=0)
    size = np.sqrt(np.sum(measured.value[good] ** 2, axis=0) * np.sum(rates[good] ** 2, axis=0))
    part = power / np.maximum(size, 1e-300)
    if (part < -0.3).any():
        negative = part < -0.3
        yield suspicious(
            'effort_sign',
            f'{wiring.named(negative)} take power from the motion all along, which only friction can',
            'the opposite sign of the efforts, in the driver file\n'
            + wiring.patch.add('effort.sign', wiring.patch.by_leg(np.where(negative, -1.0, 1.0))),
            power_factor=float(part.min()),
        )
    else:
        yield cannot_tell('effort', 'the motion asks for too little effort to tell its scale', MOTION)


def _delay(wiring: Wiring, efforts: Array, fit: EffortFit) -> Iterator[Finding]:
    """Delay of the efforts behind the positions of the same message."""
    machine, motion, best = wiring.machine, wiring.motion, wiring.best
    assert motion is not None
    assert best is not None
    measured = smoothed(wiring.leg_time, efforts, motion.time)
    arranged = motion.arranged(machine, best.arrangement)
    good = np.flatnonzero(motion.good)
    if len(good) < 150 or len(good) > 4000:
        return
    prediction = predict(machine, arranged.time, arranged.value, arranged.rate, arranged.acceleration)
    if prediction is None or not prediction.found[good].all():
        return
    try:
        expected = inverse_dynamics(machine, prediction.motion, sign_smoothing=_smoothing(wiring, arranged.rate))
    except KinematicsError:
        return
    full = np.zeros_like(measured.value)
    full[prediction.found] = expected
    full, value = (part - part[good].mean(axis=0) for part in (full, measured.value))
    steps = int(_DELAYS / INTERVAL)
    inner = good[(good >= steps) & (good < len(full) - steps)]
    weight = fit.told / np.maximum(np.sum(full[inner] ** 2, axis=0), 1e-300)
    shifts = np.arange(-steps, steps + 1)

    def likeness(shift: int) -> float:
        pushed, felt = full[inner - shift], value[inner]
        cross, power = np.sum(pushed * felt, axis=0), np.sum(pushed**2, axis=0) * np.sum(felt**2, axis=0)
        return float(
            np.sum(weight * np.sum(full[inner] ** 2, axis=0) * np.abs(cross) / np.sqrt(np.maximum(power, 1e-300)))
        )

    alike = np.array([likeness(int(shift)) for shift in shifts]) / max(1, np.count_nonzero(fit.told))
    best_shift = int(np.argmax(alike))
    delay = INTERVAL * float(shifts[best_shift])
    if abs(delay) >= 2.0 * INTERVAL - 1e-9 and alike[best_shift] > 0.8 and alike[best_shift] - alike[steps] > 0.02:
        yield suspicious(
            'effort_delay',
            f'efforts come {1e3 * abs(delay):.0f} ms {"late" if delay > 0 else "early"} against the positions of '
            'the same messages',
            'read position and effort of one sample in one cycle of the driver; take the filter of the '
            'measured current into account',
            delay_ms=1e3 * delay,
            correlation=float(alike[best_shift]),
        )
