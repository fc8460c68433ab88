"""Velocities and efforts as multiples of what is expected, drive by drive: slopes of positions; weight and inertia."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from pkm_description.arrays import Array
from pkm_description.driver.driver import VELOCITY
from pkm_description.dynamics import gravity_forces, inverse_dynamics
from pkm_description.errors import Finding, KinematicsError, State

from pkm_bringup.robot_check.recorded import Flags
from pkm_bringup.robot_check.report import Case, Wiring, put
from pkm_bringup.robot_check.signals import lag, smoothed

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
#: s, delays of the efforts that are looked for, and the least that counts if it explains so much more of the power
_DELAYS, _LATE, _CLEARLY = 0.3, 0.03, 0.04
_MOTION = 'a motion with all drives (motion_player profile:=drives, or fourier)'


OK, WRONG, SUSPICIOUS, CANNOT_TELL = State.OK, State.WRONG, State.SUSPICIOUS, State.CANNOT_TELL


@dataclass(frozen=True)
class Gains:
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
    motion, best = wiring.motion, wiring.best
    if motion is None or best is None:
        return
    published = wiring.published('velocities')
    absent: Flags = np.asarray(~np.isfinite(published).any(axis=0))
    moving = _size(motion.rate[motion.good]) > _MOVES * (motion.rate_noise + 1e-9)
    zero: Flags = moving & (np.abs(published).max(axis=0) == 0.0)
    useless = [*wiring.first(
        Case(absent.any(), SUSPICIOUS, 'velocity_missing', f'{wiring.named_drives(absent)} without velocity',
             'joint_state_broadcaster: interfaces: [position, velocity, effort]; estimator and identification do'
             ' without, the leg controller takes it'),
        Case(not moving.any(), CANNOT_TELL, 'velocity', 'the drives do not move', 'any motion'),
        Case(zero.any(), WRONG, 'velocity_zero',
             f'velocities of {wiring.named_drives(zero)} are zero while the positions change',
             'let the driver fill in velocity, or leave the field empty; zeros pass for a drive at rest'),
    )]  # fmt: skip
    if useless:
        yield from useless
        return
    measured = smoothed(wiring.joints.time, published, motion.time)
    good = motion.good & measured.good
    fit = Gains(measured.value, motion.rate, good, np.zeros(len(moving)), moving)
    told = moving & (fit.explained > _SLOPE_EXPLAINS)
    # more than noise, so that a velocity that is only noisy does not count
    clear = _size(measured.value[good]) > _MOVES * measured.noise
    apart: Flags = np.asarray(moving & ~told & clear) if told.any() else moving
    least = float(fit.explained[apart].min(initial=1.0))
    usual = best.sign / best.scale  # the unit of the positions, and their direction
    ratio, gain = fit.gain / usual, np.where(told, fit.gain, usual)
    off = told & (np.abs(ratio - 1.0) > _SLACK)
    signs_only = bool((np.abs(np.abs(ratio[told]) - 1.0) < _SLACK).all())
    mends: dict[str, object] = {}
    if (np.sign(gain) != np.sign(usual)).any():
        mends['velocity.sign'] = wiring.by_leg(np.sign(gain))
    words = 'the opposite sign'
    if off.any() and not signs_only:
        size = float(np.median(np.abs(gain[told])))
        units = VELOCITY[wiring.machine.actuated_joints[0].kind]
        unit = min(units, key=lambda name: abs(size * units[name] - 1.0))
        if abs(size * units[unit] - 1.0) < _SLACK and (np.abs(np.abs(gain[told]) / size - 1.0) < _SLACK).all():
            mends['velocity.unit'], words = unit, f'the unit {unit}'
        else:
            mends['velocity.scale'], words = wiring.by_leg(1.0 / np.abs(gain)), 'another scale'
    yield from wiring.told(
        Case(apart.any(), SUSPICIOUS, 'velocity_noise',
             f'velocities of {wiring.named_drives(apart)} do not follow the slopes of the positions ({least:.0%}'
             f' explained){", those of other drives do" if told.any() else ""}',
             'see what the driver publishes as velocity (a set-point? noise?), and whether position and velocity of'
             ' this drive are read anew in every cycle (a value that stays where it was for a while?)',
             {'explained': least}),
        Case(off.any(), WRONG, 'velocity_sign' if signs_only else 'velocity_unit',
             f'velocities of {wiring.named_drives(off)} are {_list(ratio[off])} times the slopes of the positions:'
             f' {words}', '', {'factor': float(np.median(ratio[off])) if off.any() else 1.0}, mends),
        Case(told.any() and not off.any(), OK, 'velocity', 'velocities are the slopes of the positions (factor'
             f' {np.abs(ratio[told]).mean() if told.any() else 1.0:.3f})'),
    )  # fmt: skip


def effort_checks(wiring: Wiring) -> Iterator[Finding]:
    """Findings about the efforts: one gain per drive against what the machine file expects along the motion."""
    if wiring.joints.log is None or wiring.columns is None:
        return
    efforts = wiring.published('efforts')
    same: Flags = np.asarray(np.ptp(efforts, axis=0) == 0.0)
    rows: tuple[tuple[Flags, str, str], ...] = (
        (np.asarray(~np.isfinite(efforts).all(axis=0)), 'missing', 'are not there or not finite'),
        (same & (efforts[0] == 0.0), 'zero', 'are exactly zero all the time: the field is filled in, but not measured'),
        (same & (len(efforts) > 20), 'frozen', 'always read the same number'),
    )
    dead = [*wiring.first(*(
        Case(drives.any(), WRONG, f'effort_{code}', f'efforts of {wiring.named_drives(drives)} {what}',
             'joint_state_broadcaster: interfaces: [position, velocity, effort], and an effort (or current) state'
             ' interface in the hardware; identification needs it, the estimator does without')
        for drives, code, what in rows
    ))]  # fmt: skip
    if dead:
        yield from dead
        return
    fit, moves = (_fit(wiring, efforts) if wiring.poses_trusted else None) or (None, False)
    if fit is None:
        yield from wiring.told(Case(
            True, CANNOT_TELL, 'effort',
            'without poses that can be trusted no weight can be compared with the efforts', 'see positions and pose',
        ))  # fmt: skip
        return
    if not fit.told.any():
        yield from wiring.first(*_power_cases(wiring, fit, moves))
        return
    yield from wiring.told(*_gain_cases(wiring, fit, moves))
    if moves:
        yield from wiring.told(*_delay_cases(fit))


def _fit(wiring: Wiring, efforts: Array) -> tuple[Gains, bool] | None:
    """Efforts beside inverse dynamics along the motion, and whether it moves; None where that cannot be worked out."""
    machine, drives, prediction = wiring.machine, wiring.motion, wiring.prediction
    if drives is None or prediction is None:
        return None
    measured = smoothed(wiring.joints.time, efforts, drives.time)
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
    return Gains(measured.value, expected, found & drives.good & measured.good, slack, told), bool(moving.any())


def _power_cases(wiring: Wiring, fit: Gains, moves: bool) -> Iterator[Case]:
    """Sign by power, where the model expects too little to compare with."""
    assert wiring.motion is not None
    efforts, rates = fit.measured[fit.good], wiring.motion.rate[fit.good]
    size = np.sqrt(np.sum(efforts**2, axis=0) * np.sum(rates**2, axis=0))
    part = np.sum(efforts * rates, axis=0) / np.maximum(size, 1e-300)
    negative = part < -0.3
    yield Case(not moves, CANNOT_TELL, 'effort', 'at rest the drives carry no weight that friction could not take:'
               ' neither sign nor scale can be told', _MOTION)  # fmt: skip
    yield Case(negative.any(), SUSPICIOUS, 'effort_sign',
               f'{wiring.named_drives(negative)} take power from the motion all along, which only friction can',
               'the opposite sign of the efforts, ', {'power_factor': float(part.min())},
               {'effort.sign': wiring.by_leg(np.where(negative, -1.0, 1.0))})  # fmt: skip
    yield Case(True, CANNOT_TELL, 'effort', 'the motion asks for too little effort to tell its scale', _MOTION)


def _delay_cases(fit: Gains) -> Iterator[Case]:
    """Delay of the efforts behind the positions of the same message."""
    efforts = fit.measured[:, fit.told]
    found = lag(fit.expected[:, fit.told], fit.good, efforts / _size(efforts[fit.good]), fit.good, _DELAYS)
    if found is not None:
        late = abs(found.delay) > _LATE and found.explained > _MODEL_EXPLAINS
        yield Case(late and found.explained - found.at_once > _CLEARLY, SUSPICIOUS, 'effort_delay',
                   f'efforts come {1e3 * abs(found.delay):.0f} ms {"late" if found.delay > 0 else "early"} against the'
                   ' positions of the same messages',
                   'read position and effort of one sample in one cycle of the driver; take the filter of the measured'
                   ' current into account', {'delay_ms': 1e3 * found.delay, 'explained': found.explained})  # fmt: skip


def _gain_cases(wiring: Wiring, fit: Gains, moves: bool) -> Iterator[Case]:
    """Efforts as multiples of what the machine file expects: sign, unit, current, a common factor, one axis unlike."""
    gain, slack, machine = fit.gain, fit.slack, wiring.machine
    how = 'inverse dynamics' if moves else 'the weight that they hold'
    sound = fit.told & (fit.explained > _MODEL_EXPLAINS)
    if not sound.any():
        most = float(fit.explained[fit.told].max())
        yield Case(
            True, SUSPICIOUS, 'effort_model', f'efforts do not follow {how} (at most {most:.0%} explained)',
            'what does the driver publish as effort: a set-point, a filtered current, the effort of other joints? Else'
            ' the masses of the machine file are those of another machine', {'explained': most},
        )  # fmt: skip
        return
    figures = {f'gain_{leg}': float(value) for leg, value in zip(machine.drive_labels, gain, strict=True)}
    negative, size = sound & (gain < 0.0), np.abs(gain)
    every = bool(negative[sound].all())
    usual, least = float(np.median(size[sound])), 0.5 * float(slack[sound].min())
    odd = sound & (np.abs(size / usual - 1.0) >= _ALIKE + slack)
    common, uneven = _LOW - least < usual < _HIGH + least, bool(odd.any())
    turning = machine.actuated_joints[0].kind == 'revolute'
    newton, units = ('N m', {'kN m': 1e-3, 'N mm': 1e3}) if turning else ('N', {'kN': 1e-3})
    known = [name for name, value in units.items() if abs(np.log(usual / value)) < np.log(1.0 + _UNIT_SLACK)]
    unit, other = known[0] if known and not uneven else '', uneven or not _WRONG_LOW < usual < _WRONG_HIGH
    ampere, factor = ('A', 1.0) if usual < 1.0 else ('mA', 1e3)
    current = {
        'effort.quantity': 'current', 'effort.unit': ampere,
        'effort.gain': wiring.by_leg(factor / np.where(sound, size, usual)),
    }  # fmt: skip
    sentence = f'efforts are {usual:.3g} times what {how} asks for'
    yield from (
        Case(negative.any(), WRONG, 'effort_sign',
             f'efforts of {wiring.named_drives(negative | every)} have the opposite sign'
             + (f' of {how}' if moves else ': they do not hold the weight, but push it down'), '', figures,
             {'effort.sign': wiring.by_leg(np.where(negative | every, -1.0, 1.0))}),
        Case(not common and unit, WRONG, 'effort_unit', f'{sentence}: they are in {unit}', '', figures,
             {'effort.unit': unit}),
        Case(not common and not unit and other, WRONG, 'effort_unit', f'{sentence}: {_list(size[sound])}, drive by'
             f' drive: no force in {newton}, but e.g. a current', 'take the gains from the data sheet; by this'
             f' comparison they are about ({newton} per {ampere})\n', figures, current),
        Case(not common and not unit and not other, SUSPICIOUS, 'effort_scale', sentence,
             'a payload that the machine file does not have, other masses, or another gain of the force measurement:'
             ' weigh the platform, or identify (pkm_identification); as a gain it would be\n', figures,
             {'effort.scale': wiring.by_leg(np.full(len(size), 1.0 / usual))}),
        Case(common and uneven, SUSPICIOUS, 'effort_gain',
             f'efforts of {wiring.named_drives(odd)} are {_list(size[odd] / usual)} times those of the other drives,'
             f' compared with {how}', 'the gain of this axis (or its friction, or a payload off the centre):\n',
             figures, {'effort.scale': wiring.by_leg(np.where(odd, usual / np.maximum(size, 1e-300), 1.0))}),
        Case(common and not uneven and not negative.any(), OK, 'effort',
             f'efforts agree with {how} (gains {_list(gain[sound])})'),
    )  # fmt: skip
    if common and not uneven and not negative.any() and wiring.turns_efforts:
        put(wiring.patch, {'effort.sign': 1})


def _size(values: Array) -> Array:
    """Root mean square (A,) of values (N, A)."""
    return np.asarray(np.sqrt(np.mean(values**2, axis=0)))


def _list(values: Array) -> str:
    return ', '.join(f'{value:.4g}' for value in values)
