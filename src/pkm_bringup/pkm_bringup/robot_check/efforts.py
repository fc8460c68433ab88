"""Velocities and efforts as multiples of what is expected, drive by drive: slopes of positions; weight and inertia."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from pkm_description.arrays import Array
from pkm_description.driver.driver import EFFORT, VELOCITY
from pkm_description.dynamics import gravity_forces, inverse_dynamics
from pkm_description.errors import KinematicsError

from pkm_bringup.robot_check.recorded import Flags
from pkm_bringup.robot_check.signals import lag, smoothed
from pkm_bringup.robot_check.wiring import CANNOT_TELL, OK, SUSPICIOUS, WRONG, Wiring, put

#: noise deviations above which a drive moves enough, and an expected effort can be told
_MOVES, _ABOVE_NOISE = 8.0, 4.0
#: part of the power that must be explained for a gain to be told
_EXPLAINS = 0.65
#: gains within these are as they should be, of efforts where the masses of the machine file are nearly right
_LOW, _HIGH = 0.7, 1.43
#: beyond these no payload explains an effort
_WRONG_LOW, _WRONG_HIGH = 0.4, 2.5
#: part by which axes may differ from each other, and a known unit from its size
_ALIKE, _UNIT_SLACK = 0.3, 0.15
#: s, delays of the efforts that are looked for, and the least that counts if it explains so much more of the power
_DELAYS, _LATE, _CLEARLY = 0.3, 0.03, 0.04


class Gains(NamedTuple):
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

    @property
    def sound(self) -> Flags:
        """Drives (A,) whose gain can be told, and explains most."""
        return np.asarray(self.told & (self.explained > _EXPLAINS))


def velocity_checks(wiring: Wiring) -> None:
    """Look at the velocities."""
    motion, best = wiring.motion, wiring.best
    if motion is None or best is None or 'velocities' not in wiring.judged:
        return
    measured = smoothed(wiring.joints.time, wiring.published('velocities'), motion.time)
    moving = _size(motion.rate[motion.good]) > _MOVES * (motion.rate_noise + 1e-9)
    if wiring.say(not moving.any(), CANNOT_TELL, 'velocity', 'the drives do not move', 'any motion'):
        return
    fit = Gains(measured.value, motion.rate, motion.good & measured.good, np.zeros(len(moving)), moving)
    # more than noise, so that a velocity that is only noisy does not count
    clear = _size(measured.value[fit.good]) > _MOVES * measured.noise
    apart: Flags = np.asarray(moving & ~fit.sound & clear) if fit.sound.any() else moving
    least = float(fit.explained[apart].min(initial=1.0))
    wiring.say(
        apart.any(), SUSPICIOUS, 'velocity_noise',
        f'velocities of {wiring.named_drives(apart)} do not follow the slopes of the positions ({least:.0%} explained)'
        f'{", those of other drives do" if fit.sound.any() else ""}',
        'see what the driver publishes as velocity (a set-point? noise?), and whether position and velocity of this'
        ' drive are read anew in every cycle (a value that stays where it was for a while?)', {'explained': least},
    )  # fmt: skip
    if fit.sound.any():
        # velocities have the unit of the positions, and their direction
        units = VELOCITY[wiring.machine.actuated_joints[0].kind]
        _judge_gains(wiring, fit, 'velocity', 'velocities', 'the slopes of the positions', units, 1.0 / best.scale)


def effort_checks(wiring: Wiring) -> None:
    """Look at the efforts: one gain per drive against what the machine file expects along the motion."""
    if 'efforts' not in wiring.judged:
        return
    found = _fit(wiring) if 'positions' in wiring.judged else None
    if found is None:
        wiring.say(True, CANNOT_TELL, 'effort', 'without poses that can be trusted no weight can be compared with the'
                   ' efforts', 'see positions and pose')  # fmt: skip
        return
    fit, moves = found
    most = float(fit.explained[fit.told].max(initial=0.0))
    how = 'inverse dynamics' if moves else 'the weight that they hold'
    if wiring.say(
        not fit.told.any(), CANNOT_TELL, 'effort', 'the drives carry too little load, beside friction and noise, to'
        ' tell sign or scale of efforts', 'a motion with all drives (motion_player profile:=drives, or fourier)',
    ) or wiring.say(
        not fit.sound.any(), SUSPICIOUS, 'effort_model', f'efforts do not follow {how} (at most {most:.0%} explained)',
        'what does the driver publish as effort: a set-point, a filtered current, the effort of other joints? Else the'
        ' masses of the machine file are those of another machine', {'explained': most},
    ):  # fmt: skip
        return
    units = EFFORT['torque' if wiring.machine.actuated_joints[0].kind == 'revolute' else 'force']
    _judge_gains(wiring, fit, 'effort', 'efforts', f'what {how} asks for', units, np.ones(len(fit.gain)))
    if not moves:
        return
    # against the positions of the same message
    told = fit.measured[:, fit.told]
    late = lag(fit.expected[:, fit.told], fit.good, told / _size(told[fit.good]), fit.good, _DELAYS)
    if late is not None and late.explained > max(_EXPLAINS, late.at_once + _CLEARLY):
        wiring.say(
            abs(late.delay) > _LATE, SUSPICIOUS, 'effort_delay', f'efforts come {1e3 * abs(late.delay):.0f} ms'
            f' {"late" if late.delay > 0 else "early"} against the positions of the same messages',
            'read position and effort of one sample in one cycle of the driver; take the filter of the measured current'
            ' into account', {'delay_ms': 1e3 * late.delay, 'explained': late.explained},
        )  # fmt: skip


def _fit(wiring: Wiring) -> tuple[Gains, bool] | None:
    """Efforts beside inverse dynamics along the motion, and whether it moves; None where that cannot be worked out."""
    machine, drives, prediction = wiring.machine, wiring.motion, wiring.prediction
    if drives is None or prediction is None:
        return None
    measured = smoothed(wiring.joints.time, wiring.published('efforts'), drives.time)
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


def _judge_gains(
    wiring: Wiring, fit: Gains, quantity: str, many: str, what: str, units: Mapping[str, float], usual: Array
) -> None:
    """As it should be, or the sign, the unit, a current, a common factor, one axis unlike the others.

    Parameters
    ----------
    quantity, many : its name, and that of several of it
    what : the gains refer to
    units : by name, SI units each
    usual : (A,) gain of a drive where nothing is wrong
    """
    machine, slack, sound, say = wiring.machine, fit.slack, fit.sound, wiring.say
    effort, ratio = quantity == 'effort', fit.gain / usual
    figures = {f'gain_{leg}': float(value) for leg, value in zip(machine.drive_labels, fit.gain, strict=True)}
    negative, size = sound & (ratio < 0.0), np.abs(ratio)
    turned = negative | bool(negative[sound].all())
    middle, least = float(np.median(size[sound])), 0.5 * float(slack[sound].min())
    odd = sound & (np.abs(size / middle - 1.0) >= _ALIKE + slack)
    # one cause for the sizes: as it is, a unit, a current, a common factor
    published = float(np.median(np.abs(fit.gain[sound])))
    known = [name for name, value in units.items() if abs(np.log(published * value)) < np.log(1.0 + _UNIT_SLACK)]
    if _LOW - least < middle < _HIGH + least:
        cause = 'gain' if odd.any() else ''
    elif known and not odd.any():
        cause = 'unit'
    elif effort and (odd.any() or not _WRONG_LOW < middle < _WRONG_HIGH):
        cause = 'current'
    else:
        cause = 'scale'
    ampere, size_of = ('A', 1.0) if middle < 1.0 else ('mA', 1e3)
    common = middle if cause == 'scale' else 1.0
    scales = np.where(odd, middle / np.maximum(size, 1e-300), 1.0) / np.abs(usual) / common
    sentence, base = f'{many} are {middle:.3g} times {what}', next(iter(units))
    # other masses explain efforts, nothing explains velocities
    state, scale = SUSPICIOUS if effort else WRONG, {f'{quantity}.scale': wiring.by_leg(scales)}
    say(negative.any(), WRONG, f'{quantity}_sign',
        f'{many} of {wiring.named_drives(turned)} have the opposite sign of {what}', '', figures,
        {f'{quantity}.sign': wiring.by_leg(np.where(turned, -1.0, 1.0) * np.sign(usual))})  # fmt: skip
    say(cause == 'unit', WRONG, f'{quantity}_unit', f'{sentence}: they are in {"".join(known[:1])}', '', figures,
        {f'{quantity}.unit': known[0]} if known else {})  # fmt: skip
    say(cause == 'current', WRONG, 'effort_unit',
        f'{sentence}: {_list(size[sound])}, drive by drive: no force in {base}, but e.g. a current',
        f'take the gains from the data sheet; by this comparison they are about ({base} per {ampere})\n', figures,
        {'effort.quantity': 'current', 'effort.unit': ampere,
         'effort.gain': wiring.by_leg(size_of / np.where(sound, size, middle))})  # fmt: skip
    say(cause == 'scale', state, f'{quantity}_scale', sentence,
        'a payload that the machine file does not have, other masses, or another gain of the force measurement: weigh'
        ' the platform, or identify (pkm_identification); as a gain it would be\n' * effort, figures, scale)
    say(cause == 'gain', state, f'{quantity}_gain',
        f'{many} of {wiring.named_drives(odd)} are {_list(size[odd] / middle)} times those of the other drives,'
        f' compared with {what}', 'the gain of this axis (or its friction, or a payload off the centre):\n' * effort,
        figures, scale)  # fmt: skip
    well = say(not cause and not negative.any(), OK, quantity,
               f'{many} agree with {what} (gains {_list(ratio[sound])})')  # fmt: skip
    if effort and well and wiring.turns_efforts:
        put(wiring.patch, {'effort.sign': 1})


def _size(values: Array) -> Array:
    """Root mean square (A,) of values (N, A)."""
    return np.asarray(np.sqrt(np.mean(values**2, axis=0)))


def _list(values: Array) -> str:
    return ', '.join(f'{value:.4g}' for value in values)
