"""Velocities of the drives against slopes of the positions; efforts against weight, inertia, friction, and by power."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from pkm_description.arrays import Array
from pkm_description.driver.driver import VELOCITY
from pkm_description.dynamics import gravity_forces, inverse_dynamics
from pkm_description.errors import Finding, KinematicsError

from pkm_bringup.robot_check.recorded import Flags
from pkm_bringup.robot_check.report import Wiring, cannot_tell, ok, suspicious, wrong
from pkm_bringup.robot_check.signals import INTERVAL, smoothed

#: part by which velocity and slope of the position may differ
_SLACK = 0.25
#: noise deviations above which a drive moves enough, and an expected effort can be told
_MOVES, _ABOVE_NOISE = 8.0, 4.0
#: part of the power that the slope must explain of a velocity for a factor to be told, and the model of an effort
_SLOPE_EXPLAINS, _MODEL_EXPLAINS = 0.6, 0.7
#: gains within these are those of a machine file whose masses are nearly right
_LOW, _HIGH = 0.7, 1.43
#: beyond these no payload explains them
_WRONG_LOW, _WRONG_HIGH = 0.4, 2.5
#: part by which axes may differ from each other, and a known unit from its size
_ALIKE, _UNIT_SLACK = 0.3, 0.15
#: s, delays of the efforts that are looked for
_DELAYS = 0.3
_MOTION = 'a motion with all drives (motion_player profile:=drives, or fourier)'


@dataclass(frozen=True)
class _Compared:
    """A published quantity as multiples of what is expected, drive by drive.

    Attributes
    ----------
    measured, expected : (N, A) on the grid
    good : (N,) instants at which both are known
    slack : (A,) part by which the gain may be off for known reasons
    told : (A,) drives whose gain can be told
    """

    measured: Array
    expected: Array
    good: Flags
    slack: Array
    told: Flags

    @property
    def gain(self) -> Array:
        """Measured by expected (A,), by least squares."""
        values, expected = self.measured[self.good], self.expected[self.good]
        return np.asarray(np.sum(values * expected, axis=0) / np.maximum(np.sum(expected**2, axis=0), 1e-300))

    @property
    def explained(self) -> Array:
        """Part of the measured power about zero (A,) that gain times expected explains."""
        power, left = (np.sum(part[self.good] ** 2, axis=0) for part in (self.measured, self.expected))
        return np.asarray(self.gain**2 * left / np.maximum(power, 1e-300))


def velocity_checks(wiring: Wiring) -> Iterator[Finding]:
    """Findings about the velocities."""
    log, motion = wiring.joints, wiring.motion
    if log is None or motion is None or wiring.best is None:
        return
    published = wiring.by_drive('velocities')
    absent: Flags = np.asarray(~np.isfinite(published).any(axis=0))
    if absent.any():
        yield suspicious(
            'velocity_missing',
            f'{wiring.named_drives(absent)} without velocity',
            'joint_state_broadcaster: interfaces: [position, velocity, effort]; estimator and identification do'
            ' without, the leg controller takes it',
        )
        return
    measured = smoothed(wiring.leg_time, published, motion.time)
    good = motion.good & measured.good
    moving = _size(motion.rate[good]) > _MOVES * (motion.rate_noise + 1e-9)
    zero = moving & (np.abs(published).max(axis=0) == 0.0)
    if not moving.any():
        yield cannot_tell('velocity', 'the drives do not move', 'any motion')
        return
    if zero.any():
        yield wrong(
            'velocity_zero',
            f'velocities of {wiring.named_drives(zero)} are zero while the positions change',
            'let the driver fill in velocity, or leave the field empty; zeros pass for a drive at rest',
        )
        return
    fit = _Compared(measured.value, motion.rate, good, np.zeros(len(moving)), moving)
    told = moving & (fit.explained > _SLOPE_EXPLAINS)
    # more than noise, so that a velocity that is only noisy does not count
    clear = _size(measured.value[good]) > _MOVES * measured.noise
    apart: Flags = np.asarray(moving & ~told & clear) if told.any() else moving
    if apart.any() or not told.any():
        explained = fit.explained[apart]
        yield suspicious(
            'velocity_noise',
            f'velocities of {wiring.named_drives(apart)} do not follow the slopes of the positions'
            f' ({explained.min():.0%} explained){", those of other drives do" if told.any() else ""}',
            'see what the driver publishes as velocity (a set-point? noise?), and whether position and velocity of this'
            ' drive are read anew in every cycle (a value that stays where it was for a while?)',
            explained=float(explained.min()),
        )
    if not told.any():
        return
    usual = wiring.best.sign / wiring.best.scale  # the unit of the positions, and their direction
    off = told & (np.abs(fit.gain / usual - 1.0) > _SLACK)
    if off.any():
        yield _velocity_factor(wiring, fit.gain, usual, told, off)
    else:
        factor = np.abs((fit.gain / usual)[told]).mean()
        yield ok('velocity', f'velocities are the slopes of the positions (factor {factor:.3f})')


def _velocity_factor(wiring: Wiring, gain: Array, usual: Array, told: Flags, off: Flags) -> Finding:
    """Velocities that are the slopes times a factor."""
    ratio = gain / usual
    signs_only = bool((np.abs(np.abs(ratio[told]) - 1.0) < _SLACK).all())
    gain = np.where(told, gain, usual)
    keys: dict[str, object] = {}
    if (np.sign(gain) != np.sign(usual)).any():
        keys['velocity.sign'] = wiring.patch.by_leg(np.sign(gain))
    words = 'the opposite sign'
    if not signs_only:
        size = float(np.median(np.abs(gain[told])))
        units = VELOCITY[wiring.machine.actuated_joints[0].kind]
        unit = min(units, key=lambda name: abs(size * units[name] - 1.0))
        if abs(size * units[unit] - 1.0) < _SLACK and (np.abs(np.abs(gain[told]) / size - 1.0) < _SLACK).all():
            keys['velocity.unit'], words = unit, f'the unit {unit}'
        else:
            keys['velocity.scale'], words = wiring.patch.by_leg(1.0 / np.abs(gain)), 'another scale'
    return wrong(
        'velocity_sign' if signs_only else 'velocity_unit',
        f'velocities of {wiring.named_drives(off)} are {_list(ratio[off])} times the slopes of the positions: {words}',
        wiring.driver_lines(keys),
        factor=float(np.median(ratio[off])),
    )


def effort_checks(wiring: Wiring) -> Iterator[Finding]:
    """Findings about the efforts: one gain per drive against what the machine file expects along the motion."""
    if wiring.joints is None or wiring.columns is None:
        return
    efforts = wiring.by_drive('efforts') if wiring.best is not None else wiring.published('efforts')
    lacking = _lacking(wiring, efforts)
    if lacking is not None:
        yield lacking
        return
    fit, moves = (_fit(wiring, efforts) if wiring.poses_trusted else None) or (None, False)
    if fit is None:
        yield cannot_tell(
            'effort',
            'without poses that can be trusted no weight can be compared with the efforts',
            'see positions and pose',
        )
    elif fit.told.any():
        yield from _gain_findings(wiring, fit, moves)
        if moves:
            yield from _delay(fit)
    else:
        yield _by_power(wiring, fit, moves)


def _lacking(wiring: Wiring, efforts: Array) -> Finding | None:
    """Efforts that are not there, not finite or all the same."""
    remedy = (
        'joint_state_broadcaster: interfaces: [position, velocity, effort], and an effort (or current) state interface'
        ' in the hardware; identification needs it, the estimator does without'
    )
    same: Flags = np.asarray(np.ptp(efforts, axis=0) == 0.0)
    rows: tuple[tuple[Flags, str, str], ...] = (
        (np.asarray(~np.isfinite(efforts).all(axis=0)), 'missing', 'are not there or not finite'),
        (same & (efforts[0] == 0.0), 'zero', 'are exactly zero all the time: the field is filled in, but not measured'),
        (same & (len(efforts) > 20), 'frozen', 'always read the same number'),
    )
    for dead, code, what in rows:
        if dead.any():
            return wrong(f'effort_{code}', f'efforts of {wiring.named_drives(dead)} {what}', remedy)
    return None


def _fit(wiring: Wiring, efforts: Array) -> tuple[_Compared, bool] | None:
    """Efforts beside inverse dynamics along the motion, and whether it moves; None where that cannot be worked out."""
    machine, drives, prediction = wiring.machine, wiring.motion, wiring.prediction
    if drives is None or prediction is None:
        return None
    measured = smoothed(wiring.leg_time, efforts, drives.time)
    found, motion = prediction.found, prediction.motion
    rates, rate_noise = drives.rate[found], drives.rate_noise + 1e-9
    # velocity below which the sign of the friction is not known
    smoothing = max(1e-6, 3.0 * float(np.max(rate_noise)), 0.02 * float(np.abs(rates).max()))
    try:
        full = inverse_dynamics(machine, motion, sign_smoothing=smoothing)
        friction = np.abs(full - inverse_dynamics(machine, motion, friction=False)).max(axis=0, initial=0.0)
        weight = gravity_forces(machine, motion.position, motion.rotation_base_platform)
    except KinematicsError:
        return None
    moving = np.abs(rates).max(axis=0) > 10.0 * rate_noise
    # at rest dry friction takes any part of the weight between its limits
    most = np.maximum(friction, machine.coulomb[machine.drive_columns])
    size = _size(full)
    slack = np.where(moving, 0.3 * most, most) / np.maximum(size, 1e-12)
    noise = machine.leg_sensors.effort_noise if machine.has_leg_sensors else 0.0
    told = (slack < 0.6) & (size > _ABOVE_NOISE * noise) & (moving | (_size(weight) > 0.02 * size))
    expected = np.zeros_like(measured.value)
    expected[found] = full
    return _Compared(measured.value, expected, found & drives.good & measured.good, slack, told), bool(moving.any())


def _by_power(wiring: Wiring, fit: _Compared, moves: bool) -> Finding:
    """Sign by power, where the model expects too little to compare with."""
    if not moves:
        return cannot_tell(
            'effort',
            'at rest the drives carry no weight that friction could not take: neither sign nor scale can be told',
            _MOTION,
        )
    assert wiring.motion is not None
    efforts, rates = fit.measured[fit.good], wiring.motion.rate[fit.good]
    size = np.sqrt(np.sum(efforts**2, axis=0) * np.sum(rates**2, axis=0))
    part = np.sum(efforts * rates, axis=0) / np.maximum(size, 1e-300)
    negative = part < -0.3
    if not negative.any():
        return cannot_tell('effort', 'the motion asks for too little effort to tell its scale', _MOTION)
    return suspicious(
        'effort_sign',
        f'{wiring.named_drives(negative)} take power from the motion all along, which only friction can',
        'the opposite sign of the efforts, in the driver file\n'
        + wiring.patch.add({'effort.sign': wiring.patch.by_leg(np.where(negative, -1.0, 1.0))}),
        power_factor=float(part.min()),
    )


def _delay(fit: _Compared) -> Iterator[Finding]:
    """Delay of the efforts behind the positions of the same message."""
    good, steps = np.flatnonzero(fit.good), int(_DELAYS / INTERVAL)
    if len(good) < 150 or len(good) < good[-1] - good[0] + 1:
        return
    expected, felt = (values - values[good].mean(axis=0) for values in (fit.expected, fit.measured))
    inner = good[steps:-steps]

    def likeness(shift: int) -> float:
        pushed = expected[inner - shift]
        power = np.sum(pushed**2, axis=0) * np.sum(felt[inner] ** 2, axis=0)
        alike = np.abs(np.sum(pushed * felt[inner], axis=0)) / np.sqrt(np.maximum(power, 1e-300))
        return float(np.mean(alike[fit.told]))

    alike = np.array([likeness(shift) for shift in range(-steps, steps + 1)])
    best = int(np.argmax(alike))
    if abs(best - steps) >= 2 and alike[best] > 0.8 and alike[best] - alike[steps] > 0.02:
        delay = INTERVAL * (best - steps)
        yield suspicious(
            'effort_delay',
            f'efforts come {1e3 * abs(delay):.0f} ms {"late" if delay > 0 else "early"} against the positions of the'
            ' same messages',
            'read position and effort of one sample in one cycle of the driver; take the filter of the measured current'
            ' into account',
            delay_ms=1e3 * delay,
            correlation=float(alike[best]),
        )


def _gain_findings(wiring: Wiring, fit: _Compared, moves: bool) -> Iterator[Finding]:
    """Findings from efforts as multiples of what the machine file expects."""
    gain, slack = fit.gain, fit.slack
    how = 'inverse dynamics' if moves else 'the weight that they hold'
    sound = fit.told & (fit.explained > _MODEL_EXPLAINS)
    if not sound.any():
        yield suspicious(
            'effort_model',
            f'efforts do not follow {how} (at most {fit.explained[fit.told].max():.0%} explained)',
            'what does the driver publish as effort: a set-point, a filtered current, the effort of other joints? Else'
            ' the masses of the machine file are those of another machine',
            explained=float(fit.explained[fit.told].max()),
        )
        return
    figures = {f'gain_{leg}': float(value) for leg, value in zip(wiring.machine.drive_labels, gain, strict=True)}
    negative = sound & (gain < 0.0)
    size = np.abs(gain)
    usual = float(np.median(size[sound]))
    alike = np.abs(size / usual - 1.0) < _ALIKE + slack
    if negative.any():
        every = bool(negative[sound].all())
        who = wiring.named_drives(negative | every)
        whose = f' of {how}' if moves else ': they do not hold the weight, but push it down'
        yield wrong(
            'effort_sign',
            f'efforts of {who} have the opposite sign{whose}',
            wiring.driver_lines({'effort.sign': wiring.patch.by_leg(np.where(negative | every, -1.0, 1.0))}),
            **figures,
        )
    common = _LOW - 0.5 * float(slack[sound].min()) < usual < _HIGH + 0.5 * float(slack[sound].min())
    odd = sound & ~alike
    if not common:
        yield _scale(wiring, size, usual, sound, bool(odd.any()), figures, how)
    elif odd.any():
        yield suspicious(
            'effort_gain',
            f'efforts of {wiring.named_drives(odd)} are {_list(size[odd] / usual)} times those of the other drives, '
            f'compared with {how}',
            'the gain of this axis (or its friction, or a payload off the centre):\n'
            + wiring.driver_lines({'effort.scale': wiring.patch.by_leg(np.where(odd, usual / size, 1.0))}),
            **figures,
        )
    elif not negative.any():
        if wiring.turns_efforts:
            wiring.patch.add({'effort.sign': 1})
        yield ok('effort', f'efforts agree with {how} (gains {_list(gain[sound])})')


def _scale(
    wiring: Wiring, size: Array, usual: float, sound: Flags, uneven: bool, figures: dict[str, float], how: str
) -> Finding:
    """Finding about a scale that all axes have more or less: another unit, currents, or a factor."""
    turning = wiring.machine.actuated_joints[0].kind == 'revolute'
    newton = 'N m' if turning else 'N'
    units = {'kN m': 1e-3, 'N mm': 1e3} if turning else {'kN': 1e-3}
    remedy = ''
    entries: dict[str, object] = {}
    for unit, gain in units.items():
        if not uneven and abs(np.log10(usual / gain)) < np.log10(1.0 + _UNIT_SLACK):
            words, entries = f'they are in {unit}', {'effort.unit': unit}
    if not entries and (uneven or not _WRONG_LOW < usual < _WRONG_HIGH):
        unit, factor = ('A', 1.0) if usual < 1.0 else ('mA', 1e3)
        gains = wiring.patch.by_leg(factor / np.where(sound, size, usual))
        words = f'{_list(size[sound])}, drive by drive: no force in {newton}, but e.g. a current'
        remedy = f'take the gains from the data sheet; by this comparison they are about ({newton} per {unit})\n'
        entries = {'effort.quantity': 'current', 'effort.unit': unit, 'effort.gain': gains}
    if entries:
        sentence = f'efforts are {usual:.3g} times what {how} asks for: {words}'
        return wrong('effort_unit', sentence, remedy + wiring.driver_lines(entries), **figures)
    return suspicious(
        'effort_scale',
        f'efforts are {usual:.3g} times what {how} asks for',
        'a payload that the machine file does not have, other masses, or another gain of the force measurement: weigh'
        ' the platform, or identify (pkm_identification); as a gain it would be\n'
        + wiring.driver_lines({'effort.scale': wiring.patch.by_leg(np.full(len(size), 1.0 / usual))}),
        **figures,
    )


def _size(values: Array) -> Array:
    """Root mean square (A,) of values (N, A)."""
    return np.asarray(np.sqrt(np.mean(values**2, axis=0)))


def _list(values: Array) -> str:
    return ', '.join(f'{value:.4g}' for value in values)
