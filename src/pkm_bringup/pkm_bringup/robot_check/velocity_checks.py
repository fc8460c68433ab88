"""Velocities of the drives against their differentiated positions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from pkm_description.arrays import Array
from pkm_description.driver.driver import VELOCITY
from pkm_description.errors import Finding

from pkm_bringup.robot_check.findings import cannot_tell, ok, suspicious, wrong
from pkm_bringup.robot_check.recorded import Flags
from pkm_bringup.robot_check.smooth_motion import smoothed
from pkm_bringup.robot_check.wiring import Wiring

#: noise deviations above which a drive moves enough
_ABOVE_NOISE = 8.0
#: part by which velocity and slope of the position may differ
_SLACK = 0.25
#: part of the velocity's power that the slope must explain for a factor to be told
_EXPLAINED = 0.6


def velocity_checks(wiring: Wiring) -> Iterator[Finding]:
    """Findings about the velocities."""
    log, motion = wiring.joints, wiring.motion
    if log is None or motion is None or wiring.columns is None or wiring.position_scale is None:
        return
    order, sign = _arrangement(wiring)
    columns = [wiring.columns[entry] for entry in order]
    published = log.velocities[wiring.leg_rows][:, columns]
    absent: Flags = np.asarray(~np.isfinite(published).any(axis=0))
    if absent.any():
        yield suspicious(
            'velocity_missing',
            f'no velocity of {"any drive" if absent.all() else wiring.named(absent)}',
            'joint_state_broadcaster: interfaces: [position, velocity, effort]; estimator and identification do'
            ' without, the leg controller takes it',
        )
        return
    slope = motion.rate[:, order] * sign
    measured = smoothed(wiring.leg_time, published, motion.time)
    good = motion.good & measured.good
    moving = np.sqrt(np.mean(slope[good] ** 2, axis=0)) > _ABOVE_NOISE * _slope_noise(wiring, order)
    if not moving.any():
        yield cannot_tell('velocity', 'the drives do not move', 'any motion')
        return
    value, slope = measured.value[good], slope[good]
    zero = moving & (np.abs(published).max(axis=0) == 0.0)
    if zero.any():
        yield wrong(
            'velocity_zero',
            f'velocities of {wiring.named(zero)} are zero while the positions change',
            'let the driver fill in velocity, or leave the field empty; zeros pass for a drive at rest',
        )
        return
    gain = np.sum(value * slope, axis=0) / np.sum(slope**2, axis=0)
    explained = gain**2 * np.sum(slope**2, axis=0) / np.maximum(np.sum(value**2, axis=0), 1e-300)
    told = moving & (explained > _EXPLAINED)
    if not told.any():
        yield suspicious(
            'velocity_noise',
            f'velocities do not follow the slopes of the positions (at most {explained[moving].max():.0%} explained)',
            'see what the driver publishes as velocity (a set-point? noise?)',
            explained=float(explained[moving].max()),
        )
        return
    # more than noise, so that a velocity that is only noisy does not count
    loud = np.sqrt(np.mean(value**2, axis=0)) > _ABOVE_NOISE * measured.noise
    apart: Flags = np.asarray(moving & ~told & loud)
    if apart.any():
        yield suspicious(
            'velocity_noise',
            f'velocities of {wiring.named(apart)} do not follow the slopes of the positions'
            f' ({explained[apart].min():.0%} explained), those of other drives do',
            'see whether position or velocity of this drive is read anew in every cycle (a value that stays where it'
            ' was for a while?)',
            explained=float(explained[apart].min()),
        )
    usual = sign / wiring.position_scale[order]  # the unit of the positions, and their direction
    off = told & (np.abs(gain / usual - 1.0) > _SLACK)
    if not off.any():
        yield ok(
            'velocity', f'velocities are the slopes of the positions (factor {np.abs((gain / usual)[told]).mean():.3f})'
        )
        return
    yield _factor(wiring, gain, usual, told, off)


def _factor(wiring: Wiring, gain: Array, usual: Array, told: Flags, off: Flags) -> Finding:
    """Velocities that are the slopes times a factor."""
    kind = wiring.machine.actuated_joints[0].kind
    ratio = gain / usual
    signs_only = bool((np.abs(np.abs(ratio[told]) - 1.0) < _SLACK).all())
    gain = np.where(told, gain, usual)
    keys: dict[str, object] = {}
    if (np.sign(gain) != np.sign(usual)).any():
        keys['velocity.sign'] = wiring.patch.by_leg(np.sign(gain))
    words = 'the opposite sign'
    if not signs_only:
        size = float(np.median(np.abs(gain[told])))
        units = {unit: abs(size * scale - 1.0) for unit, scale in VELOCITY[kind].items()}
        unit = min(units, key=lambda name: units[name])
        if units[unit] < _SLACK and (np.abs(np.abs(gain[told]) / size - 1.0) < _SLACK).all():
            keys['velocity.unit'] = unit
            words = f'the unit {unit}'
        else:
            keys['velocity.scale'] = wiring.patch.by_leg(1.0 / np.abs(gain))
            words = 'another scale'
    return wrong(
        'velocity_sign' if signs_only else 'velocity_unit',
        f'velocities of {wiring.named(off)} are {_numbers(ratio[off])} times the slopes of the positions: {words}',
        _lines(wiring, keys),
        factor=float(np.median(ratio[off])),
    )


def _lines(wiring: Wiring, keys: dict) -> str:
    if wiring.machine.driver.position is not None:
        return f'change in {wiring.machine.driver.path}, on top of what stands there: ' + ', '.join(
            f'{key}: {value}' for key, value in keys.items()
        )
    return 'in a driver file (--driver, driver:=)\n' + wiring.patch.add_all(keys)


def _arrangement(wiring: Wiring) -> tuple[list[int], Array]:
    """Entry of each drive among the columns, and the sign of its positions."""
    count = wiring.machine.actuated_count
    if wiring.best is None:
        return list(range(count)), np.ones(count)
    return list(wiring.best.arrangement.order), np.where(wiring.best.arrangement.flipped, -1.0, 1.0)


def _slope_noise(wiring: Wiring, order: list[int]) -> Array:
    assert wiring.motion is not None
    assert wiring.positions is not None
    return smoothed(wiring.leg_time, wiring.positions, wiring.motion.time).rate_noise[order] + 1e-9


def _numbers(values: Array) -> str:
    return ', '.join(f'{value:.4g}' for value in values)
