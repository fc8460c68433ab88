"""Efforts of the drives against weight, inertia and friction of the machine file, and by their power."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.dynamics import gravity_forces, inverse_dynamics
from pkm_description.errors import Finding, KinematicsError

from pkm_bringup.robot_check.agreement import INTERVAL, predict, smoothed
from pkm_bringup.robot_check.recorded import Flags
from pkm_bringup.robot_check.wiring import Wiring, cannot_tell, ok, suspicious, wrong

#: gains within these are those of a machine file whose masses are nearly right
_LOW, _HIGH = 0.7, 1.43
#: beyond these no payload explains them
_WRONG_LOW, _WRONG_HIGH = 0.4, 2.5
#: part by which axes may differ from each other, and a known unit from its size
_ALIKE, _UNIT_SLACK = 0.3, 0.15
#: part of an effort's power that the model must explain
_EXPLAINED = 0.7
#: instants at which forces are worked out
_INSTANTS = 600
#: noise deviations above which an expected effort can be told
_ABOVE_NOISE = 4.0
#: s, delays of the efforts that are looked for
_DELAYS = 0.3
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


def gain_findings(
    wiring: Wiring, gain: Array, explained: Array, slack: Array, told: Flags, moves: bool
) -> Iterator[Finding]:
    """Findings from efforts as multiples of what the machine file expects.

    Parameters
    ----------
    gain, explained, slack, told : (A,) see :class:`pkm_bringup.robot_check.effort_checks.EffortFit`
    moves : whether the gains come from a motion
    """
    how = 'inverse dynamics' if moves else 'the weight that they hold'
    sound = told & (explained > _EXPLAINED)
    if not sound.any():
        yield suspicious(
            'effort_model',
            f'efforts do not follow {how} (at most {explained[told].max():.0%} explained)',
            'what does the driver publish as effort: a set-point, a filtered current, the effort of other joints? Else'
            ' the masses of the machine file are those of another machine',
            explained=float(explained[told].max()),
        )
        return
    figures = {f'gain_{leg}': float(value) for leg, value in zip(wiring.machine.drive_labels, gain, strict=True)}
    negative = sound & (gain < 0.0)
    size = np.abs(gain)
    usual = float(np.median(size[sound]))
    alike = np.abs(size / usual - 1.0) < _ALIKE + slack
    keys: dict[str, object] = {}
    if negative.any():
        share = np.count_nonzero(negative) / np.count_nonzero(sound)
        who = 'all drives' if share == 1.0 else wiring.named(negative)
        signs = -np.ones(len(gain)) if share == 1.0 else np.where(negative, -1.0, 1.0)
        yield wrong(
            'effort_sign',
            (
                f'efforts of {who} have the opposite sign: they do not hold the weight, but push it down'
                if not moves
                else f'efforts of {who} have the opposite sign of {how}'
            ),
            wiring.driver_lines({'effort.sign': wiring.patch.by_leg(signs)}),
            **figures,
        )
    common = _LOW - 0.5 * float(slack[sound].min()) < usual < _HIGH + 0.5 * float(slack[sound].min())
    if not common:
        yield _scale(wiring, size, usual, sound, alike, figures, how)
    odd = sound & ~alike
    if odd.any() and common:
        keys['effort.scale'] = wiring.patch.by_leg(np.where(odd, usual / size, 1.0))
        yield suspicious(
            'effort_gain',
            f'efforts of {wiring.named(odd)} are {_list(size[odd] / usual)} times those of the other drives, '
            f'compared with {how}',
            'the gain of this axis (or its friction, or a payload off the centre):\n' + wiring.driver_lines(keys),
            **figures,
        )
    if common and not negative.any() and not odd.any():
        if wiring.turns_efforts:
            wiring.patch.add('effort.sign', 1)
        yield ok('effort', f'efforts agree with {how} (gains {_list(gain[sound])})')


def _scale(
    wiring: Wiring, size: Array, usual: float, sound: Flags, alike: Flags, figures: dict[str, float], how: str
) -> Finding:
    """Finding about a scale that all axes have more or less."""
    turning = wiring.machine.actuated_joints[0].kind == 'revolute'
    newton = 'N m' if turning else 'N'
    units = {'kN m': 1e-3, 'N mm': 1e3} if turning else {'kN': 1e-3}
    even = not (sound & ~alike).any()
    for unit, gain in units.items():
        if even and abs(np.log10(usual / gain)) < np.log10(1.0 + _UNIT_SLACK):
            return wrong(
                'effort_unit',
                f'efforts are {usual:.3g} times what {how} asks for: they are in {unit}',
                wiring.driver_lines({'effort.unit': unit}),
                **figures,
            )
    if not _WRONG_LOW < usual < _WRONG_HIGH or not even:
        unit, factor = ('A', 1.0) if usual < 1.0 else ('mA', 1e3)
        per_unit = factor / np.where(sound, size, usual)
        return wrong(
            'effort_unit',
            f'efforts are {_list(size[sound])} times what {how} asks for, drive by drive: no force in {newton}, but '
            'e.g. a current',
            f'take the gains from the data sheet; by this comparison they are about ({newton} per {unit})\n'
            + wiring.driver_lines(
                {'effort.quantity': 'current', 'effort.unit': unit, 'effort.gain': wiring.patch.by_leg(per_unit)},
            ),
            **figures,
        )
    return suspicious(
        'effort_scale',
        f'efforts are {usual:.3g} times what {how} asks for',
        'a payload that the machine file does not have, other masses, or another gain of the force measurement: weigh'
        ' the platform, or identify (pkm_identification); as a gain it would be\n'
        + wiring.driver_lines({'effort.scale': wiring.patch.by_leg(np.full(len(size), 1.0 / usual))}),
        **figures,
    )


def _list(values: Array) -> str:
    return ', '.join(f'{value:.3g}' for value in values)
