"""Drives and IMU together: what the likeliest row of the table says, as findings, and as a driver file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from itertools import combinations
from typing import Any

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import State
from pkm_description.kinematics.rotation import rotation_log, rpy_from_matrix

from pkm_bringup.robot_check.expected import inside, is_solvable, predict, strokes
from pkm_bringup.robot_check.signals import INTERVAL, POINTS, smoothed
from pkm_bringup.robot_check.stamps import delay_checks, rough_delay
from pkm_bringup.robot_check.table import HeardSignals, Row, judge, plain_row, search
from pkm_bringup.robot_check.wiring import CANNOT_TELL, OK, SUSPICIOUS, WRONG, Wiring, driver_file, put

#: standard deviations of noise, and rad/s or m/s^2, above which rates and changes of the specific force tell something
_ABOVE_NOISE, _LEAST_RATE, _LEAST_FORCE = 5.0, 0.003, 0.05
#: score up to which no other row is looked for
_FINE = 0.12
#: instants of the grid that drives and IMU must have in common
_INSTANTS = 10
#: m/s^2 by which the specific force may be off beside the machine file's bias
_FORCE = 1.0
#: mistakes that a row must take more than the best to be the less likely one, where both explain the same: with names
#: that tell drives, and without
_GAP, _NAMELESS_GAP = 0.95, 1.5
#: score by which another row may be worse, as a factor and in parts of the power, to explain the same
_FACTOR, _SAME = 1.5, 0.01
#: score above which a row explains nothing
_NOTHING = 0.3
#: part of the power that may stay unexplained where a cause is called certain, and where any is named
_SURE, _ANY = 0.05, 0.5
#: part of a stroke below which values say nothing about their unit
_SMALL = 0.02
#: rad by which axes may differ from those of the file without being other axes
_APART = np.radians(12.0)
_MOTION = (
    'a motion in which the platform turns about all its axes, one drive after the other (motion_player profile:=drives)'
)


def arrangement_checks(wiring: Wiring) -> None:
    """Look at drives, axes of the IMU and its delay; sets ``best``, ``motion`` and ``prediction``."""
    machine = wiring.machine
    if wiring.joints.log is None or wiring.columns is None:
        return
    published = wiring.published('positions')
    finite = published[np.isfinite(published).all(axis=1)]
    some = finite[:: max(1, len(finite) // 400)]
    evidence, unknown = _evidence(wiring) if len(some) else (None, None)
    if evidence is None:
        return
    base = judge(machine, evidence, plain_row(machine))
    rows, within = [base], inside(machine, some)
    told = evidence.tells_order and 'positions' in wiring.judged
    explained = (base.score <= _FINE and base.imu_cost == 0.0) or not told
    if not (within.all() and explained and wiring.named):
        rows = search(machine, evidence, some)
    if not rows or (rows[0].score > _NOTHING and not within.all()):
        wiring.judged.discard('positions')
        _say_outside(wiring, some)
        return
    # rows that explain the samples as well as the best, those that take least mistakes first
    limit = _alike_limit(min(row.score for row in rows))
    alike = sorted((row for row in rows if row.score <= limit), key=lambda row: (round(row.cost, 6), row.score))
    best, gap = alike[0], alike[0].cost + (_GAP if evidence.named else _NAMELESS_GAP)
    rivals = [row for row in alike[1:] if row.cost < gap] if evidence.tells_order else []
    wiring.best, wiring.motion = best, best.drives(evidence.drives)
    wiring.prediction = None if is_solvable(machine) else predict(machine, wiring.motion)
    misfit = best.misfit(evidence)
    if told and wiring.say(
        misfit > _ANY, WRONG, 'leg_imu_disagree', f'legs and IMU do not agree: forward kinematics leaves {misfit:.0%}'
        ' of what the IMU shows unexplained, for all orders, units and signs of drives and axes of the IMU',
        'see the findings above first; else the geometry of the machine file is that of another machine',
        {'misfit': misfit},
    ):  # fmt: skip
        return
    files = {
        driver_file(machine, put(deepcopy(wiring.patch), row_entries(wiring, row))): row for row in (best, *rivals)
    }
    wiring.alternatives = tuple(files) if len(files) > 1 and misfit <= _SURE else ()
    words = '; or '.join(_words(wiring, row) for row in [*files.values()][1:4])
    either = f'. Or else: {words} (this motion does not tell which)' if words else ''
    entries = row_entries(wiring, best)
    wiring.unexplained = misfit if entries and misfit > _SURE else 0.0

    def say(
        holds: object, state: State, code: str, sentence: str, remedy: str = '',
        figures: Mapping[str, float | str] | None = None, *keys: str,
    ) -> bool:  # fmt: skip
        """As :meth:`Wiring.say`, with the keys of the row's driver file that mend it; not surer than the row is."""
        mends = {key: entries[key] for key in keys if key in entries}
        if state is WRONG and misfit > _SURE:
            state, sentence = SUSPICIOUS, f'{sentence}. {misfit:.0%} stay unexplained: there may be another cause'
        if mends and wiring.alternatives:
            remedy, mends = f'{remedy}see the driver files below', {}
        return wiring.say(holds, state, code, sentence, remedy, figures, mends)

    otherwise = _say_drives(wiring, say, best, base, some, entries, either)
    if told and not otherwise:
        part = f'{1.0 - misfit:.1%} of what it shows explained by forward kinematics{_swaps(wiring, evidence, best)}'
        wiring.say(True, OK, 'leg_order', f'order and signs of the legs agree with the IMU ({part})')
    if unknown:
        wiring.say(True, CANNOT_TELL, 'leg_order', *unknown)
    if evidence.imu is not None and 'positions' in wiring.judged:
        _say_imu(wiring, say, evidence, best, either)
    _say_pose(wiring, best)
    if 'positions' in wiring.judged:
        delay_checks(wiring)


def _evidence(wiring: Wiring) -> tuple[HeardSignals | None, tuple[str, str] | None]:
    """What is heard on one grid; and why the motion does not tell the order, and what would, if so."""
    machine, force, rate = wiring.machine, wiring.specific_force, wiring.angular_rate
    unknown: tuple[str, str] | None = 'without an IMU nothing tells which joint belongs to which leg', 'the IMU'
    felt, named = force is not None or rate is not None, 1.0 if wiring.named or wiring.numbered else 0.0
    ends = [time[[0, -1]] for time in (wiring.joints.time, wiring.imu.time)[: 1 + felt]]
    grid = np.arange(np.min(ends), np.max(ends), INTERVAL)
    if len(grid) < 2 * POINTS:
        return None, unknown
    drives = smoothed(wiring.joints.time, wiring.published('positions'), grid)
    if felt:
        none = np.zeros((len(wiring.imu.time), 3))
        values = np.hstack([none if part is None else part for part in (force, rate)])
        rough_delay(wiring, drives, smoothed(wiring.imu.time, values, grid))
        imu = smoothed(wiring.imu_time, values, grid)
        both = drives.good & imu.good
        if felt := not is_solvable(machine) and int(both.sum()) >= _INSTANTS:
            drives = drives._replace(good=both)
        elif not is_solvable(machine):
            unknown = 'drives and IMU have less than a quarter of a second in common', 'a longer --duration'
    if np.count_nonzero(drives.good) < _INSTANTS or not felt:
        return (HeardSignals(drives, named=named) if drives.good.any() else None), unknown
    spread = imu.value[both].std(axis=0)
    shakes, turns = (
        bool(np.linalg.norm(spread[part]) > max(floor, _ABOVE_NOISE * float(np.linalg.norm(imu.noise[part]))))
        for part, floor in ((slice(0, 3), _LEAST_FORCE), (slice(3, 6), _LEAST_RATE))
    )
    moves = (drives.value[both].std(axis=0) > _ABOVE_NOISE * drives.noise).any()
    feels = wiring.gravity_felt and force is not None
    allowed = _FORCE + float(np.linalg.norm(machine.imu.accelerometer_bias))
    turns, shakes = rate is not None and turns, bool(moves and shakes and feels)
    evidence = HeardSignals(drives, imu, turns, shakes, feels, allowed, named)
    if 'positions' not in wiring.judged:
        unknown = 'positions are wrong, so no pose can be compared', 'see positions'
    else:
        unknown = None if evidence.tells_order else (
            'the platform does not move enough: any order and some signs would fit', _MOTION
        )  # fmt: skip
    return evidence, unknown


def _alike_limit(score: float) -> float:
    """Score up to which another row explains the samples as well as one of this score."""
    return _FACTOR * score + _SAME


def row_entries(wiring: Wiring, row: Row) -> dict[str, Any]:
    """Keys and values of a driver file that says what a row says of the drives and of the IMU's units."""
    entries, machine = dict[str, Any](), wiring.machine
    if row.moved or not wiring.named:
        names = wiring.names_of(row.order)
        entries['joints'] = [{name: leg} for name, leg in zip(names, machine.drive_labels, strict=True)]
        if others := [name for name in wiring.joints.names if name not in {*names, *machine.joint_names}]:
            entries['ignore'] = others
    if (np.abs(row.scale) == row.unit.factor).all():
        entries |= {f'position.{key}': value for key, value in row.unit.keys.items()}
    else:
        entries['position.scale'] = wiring.by_leg(np.abs(row.scale))
    if (row.scale < 0.0).any():
        entries['position.sign'] = wiring.by_leg(np.sign(row.scale))
        offset = row.offset - row.unit.offset(machine)
        if offset.any():
            entries['position.offset'] = wiring.by_leg(offset)
    if row.rate_unit != 'rad/s':
        entries['imu.angular_rate'] = row.rate_unit
    if row.gravity_down:
        entries['imu.gravity'] = 'down'
    return entries


def _say_drives(
    wiring: Wiring, say: Callable[..., bool], best: Row, base: Row, some: Array, entries: dict[str, Any], either: str
) -> bool:
    """Names, order, unit and signs of the drives; whether anything but the unit is otherwise."""
    machine, flipped = wiring.machine, best.scale < 0.0
    lower, upper = strokes(machine)
    figures: dict[str, float | str] = {
        'published': f'{some.min():.4g} to {some.max():.4g}', 'stroke': f'{lower.min():.4g} to {upper.max():.4g}',
        'unexplained_as_it_is': base.rate_misfit, 'unexplained_mended': best.rate_misfit,
    }  # fmt: skip
    names = wiring.names_of(best.order)
    pairs = ', '.join(f'{name} is {leg}' for name, leg in zip(names, machine.drive_labels, strict=True))
    missing = ', '.join(name for name in machine.actuated_joint_names if name not in wiring.joints.names)
    told = np.isfinite(best.rate_misfit) or np.isfinite(best.force_misfit)
    how = 'it explains what the IMU shows' if told else 'a guess by the names: move the platform to have it told'
    other = bool(best.unit.keys) or bool((np.abs(best.scale) != 1.0).any())
    words = best.unit.words if 'position.scale' not in entries else 'in units that differ from drive to drive'
    small = (np.abs(some) < _SMALL * (upper - lower)).all()  # any smaller unit would fit, too
    order = say(
        not wiring.named, WRONG, 'joint_names',
        f'no entry for {missing}; the joint states have {", ".join(wiring.joints.names)}. The likely map: {pairs}'
        f' ({how}){either}', '', {}, 'joints', 'ignore',
    ) or say(
        best.moved, WRONG, 'leg_order',
        f'the legs are in another order than the names say: {_words(wiring, best)}{either}',
        'exchange the plugs, or map the names ', figures, 'joints',
    )  # fmt: skip
    length = say(
        other, WRONG, 'position_length' if 'quantity' in best.unit.keys else 'position_unit',
        f'positions do not fit the strokes or the motion as they are, but {words}', '', figures,
        'position.quantity', 'position.unit', 'position.scale',
    ) and 'quantity' in best.unit.keys  # fmt: skip
    say(small and not other, CANNOT_TELL, 'position_unit', 'all positions are nearly zero: any unit would fit',
        'a pose away from zero')  # fmt: skip
    say(not small and not other, OK, 'position_unit', f'positions lie within the strokes ({figures["published"]})')
    turned = say(
        flipped.any(), WRONG, 'position_sign',
        f'positions of {wiring.named_drives(flipped)} count the other way round{either}', '', figures,
        'position.sign', 'position.offset',
    )  # fmt: skip
    return order or length or turned


def _words(wiring: Wiring, row: Row) -> str:
    """What a row says otherwise than names and file."""
    names, plain = wiring.names_of(row.order), wiring.names_of(range(len(row.order)))
    parts = [
        f'{name} is that of {leg}'
        for name, own, leg in zip(names, plain, wiring.machine.drive_labels, strict=True)
        if name != own
    ]
    if (row.scale < 0.0).any():
        parts.append(f'{wiring.named_drives(row.scale < 0.0)} counts the other way round')
    if not np.allclose(row.gyroscope, np.eye(3)):
        parts.append(f'the IMU is mounted with {axes_text(row.gyroscope)}')
    return ', '.join(parts) or 'the order of the names'


def _swaps(wiring: Wiring, evidence: HeardSignals, best: Row) -> str:
    """Swaps of two legs that the motion does not tell, for a sentence."""
    labels, pairs = wiring.machine.drive_labels, []
    for first, second in combinations(range(len(labels)), 2):
        order = list(best.order)
        order[first], order[second] = order[second], order[first]
        if judge(wiring.machine, evidence, best._replace(order=tuple(order))).score < _alike_limit(best.score):
            pairs.append(f'{labels[first]} from {labels[second]}')
    return f'; this motion does not tell {", ".join(pairs[:4])} (turn the platform more)' if pairs else ''


def _say_pose(wiring: Wiring, best: Row) -> None:
    """Whether the positions have a pose."""
    machine, why, lost = wiring.machine, is_solvable(wiring.machine), 1.0 - best.found
    if wiring.say(why, CANNOT_TELL, 'pose', f'the drives of {machine.name} do not tell its pose: {why}'):
        return
    wiring.say(lost == 0.0, OK, 'pose', 'every sample has a pose')
    wiring.say(
        lost > 0.0, WRONG if best.found < 0.9 else SUSPICIOUS, 'pose', f'{lost:.0%} of the samples have no pose that'
        ' can be trusted: zeros of the drives, or the geometry of the machine file, or a singular pose',
        'check base_point, platform_point, leg_tip and the zero of the driven joint in the machine file;'
        f' inspect_machine {machine.path.name} shows strokes, reach and condition numbers', {'part': lost},
    )  # fmt: skip


def _say_outside(wiring: Wiring, some: Array) -> None:
    """Positions that lie outside their strokes in every unit."""
    machine, outside = wiring.machine, ~inside(wiring.machine, some)
    lower, upper = strokes(machine)
    beyond = np.maximum(0.0, np.maximum(lower - some, some - upper)).max(axis=0)
    # the least offsets that bring the drives into their strokes
    least = np.where(outside, np.where(some.mean(axis=0) > upper, -beyond, beyond), 0.0)
    offsets = ', '.join(f'{leg}: {value:.4g}' for leg, value in zip(machine.drive_labels, least, strict=True))
    wiring.say(
        True, WRONG, 'position_stroke' if outside.all() else 'position_offset',
        f'positions of {wiring.named_drives(outside)} lie outside their strokes by up to {beyond.max():.4g}, in every'
        ' unit: another zero of the drives, or limits or origins of joints that are not those of the machine',
        'reference (home) the drives anew; or give their offsets, found by driving to a known stop, in a driver'
        f' file:\ndriver: {{machine: {machine.name}, position: {{offset: {{{offsets}}}}}}}',
        {'beyond': float(beyond.max())},
    )  # fmt: skip
    wiring.say(True, CANNOT_TELL, 'leg_order', 'positions are wrong, so no pose can be compared with the IMU',
               'see positions')  # fmt: skip


def _say_imu(wiring: Wiring, say: Callable[..., bool], evidence: HeardSignals, best: Row, either: str) -> None:
    """Unit, axes and signs of the IMU."""
    gyroscope, accelerometer, down = best.gyroscope, best.accelerometer, best.gravity_down
    figures = {'unexplained_rate': best.rate_misfit, 'force_error_m_s2': best.force_error}
    told = '' if evidence.tells_order else ', or it is mounted upside down; a motion that turns it tells which'
    say(best.rate_unit != 'rad/s', WRONG, 'gyroscope_unit', f'angular rates are in {best.rate_unit}; ROS wants rad/s',
        '', {}, 'imu.angular_rate')  # fmt: skip
    say(evidence.turns and not 0.8 < best.rate_gain < 1.25, SUSPICIOUS, 'motion_scale',
        f'the IMU turns {best.rate_gain:.3g} times as fast as the legs say', 'the unit of the positions (see also'
        ' velocities), the lead of the screws, or lengths in the machine file', {'gain': best.rate_gain})  # fmt: skip
    say(down, WRONG, 'imu_gravity_sign',
        'the accelerometer has the opposite sign: it publishes gravity in place of specific force (ROS wants +g'
        f' upwards at rest, REP 145){told}', '', figures, 'imu.gravity')  # fmt: skip
    same, mirrored = down or np.allclose(accelerometer, gyroscope), float(np.linalg.det(gyroscope)) < 0.0
    turned = 0.0 if mirrored else _angle(gyroscope)
    rpy = rpy_from_matrix(wiring.machine.imu.rotation_platform_imu @ gyroscope.T)
    angles = ', '.join(f'{angle + 0.0:.4f}' for angle in rpy)
    which, odd = ('accelerometer', accelerometer) if np.allclose(gyroscope, np.eye(3)) else ('gyroscope', gyroscope)
    vertical = '' if evidence.tells_order else ', or a turn about the vertical beside it; a motion tells'
    gravity = float(np.linalg.norm(wiring.machine.gravity))
    error = max(best.force_error, np.radians(turned) * gravity) if np.isfinite(best.force_error) else 0.0
    tilt = np.degrees(np.arcsin(min(1.0, error / max(gravity, 1e-12))))
    if say(
        not same, WRONG, f'{which}_axes', f'gyroscope and accelerometer have axes of their own; of the {which}'
        f' {axes_text(odd)} (measured = of the machine file)',
        'let the IMU\'s driver publish both sensors in one right-handed frame', figures,
    ) or say(
        mirrored, WRONG, 'imu_left_handed',
        f'the IMU\'s axes are those of a left-handed frame: {axes_text(gyroscope)} (measured = of the file); no'
        f' mounting explains them{either}',
        'negate one axis in the IMU\'s driver so that x, y, z are right-handed (and the rates about the others'
        ' accordingly), or number the legs the other way round', figures,
    ) or say(
        turned > np.degrees(_APART), WRONG, 'imu_axes',
        f'the IMU is mounted otherwise than the machine file says: {axes_text(gyroscope)} (measured = of the file)'
        f'{vertical}{either}', f'turn the IMU, or in {wiring.machine.path.name} (tune BAG --motion refines it)\n'
        f'sensors: {{imu: {{rpy: [{angles}]}}}}', {'turned_deg': turned, **figures},
    ) or say(
        error > evidence.force_allowed or turned > 0.0, SUSPICIOUS, 'imu_tilt',
        f'the specific force is {error:.2g} m/s^2 off what forward kinematics and the machine file say (like a tilt of'
        f' {tilt:.1f} deg): zero of a leg, mounting of the IMU, or its bias',
        'reference (home) the drives; give the mounting in sensors.imu.rpy and the bias in'
        ' sensors.imu.accelerometer.bias (tune BAG --static measures it)', {'force_error_m_s2': error},
    ) or down:  # fmt: skip
        return
    within = f'within {best.force_error:.2g} m/s^2'
    felt = f' (specific force {within})' if evidence.feels else ''
    level = evidence.feels and not evidence.tells_order
    say(evidence.tells_order, OK, 'imu_axes', f'axes of the IMU agree with the legs{felt}')
    say(level, OK, 'imu_gravity', f'gravity points where the legs say ({within})')
    say(level, CANNOT_TELL, 'imu_axes', 'at rest nothing tells how the IMU is turned about the vertical',
        'any motion that turns the platform')  # fmt: skip


def axes_text(matrix: Array) -> str:
    """Words for measured axes by those of the machine file, e.g. ``x = -y, y = x, z = z``, or the angle."""
    largest = np.abs(matrix).argmax(axis=1)
    signs = ['-' if row[axis] < 0.0 else '' for row, axis in zip(matrix, largest, strict=True)]
    named = ', '.join(f'{name} = {sign}{"xyz"[axis]}' for name, sign, axis in zip('xyz', signs, largest, strict=True))
    if np.abs(matrix).max(axis=1).min() > np.cos(_APART):
        return named
    mirrored = np.linalg.det(matrix) < 0.0
    return f'{"mirrored and " if mirrored else ""}turned by {_angle(-matrix if mirrored else matrix):.0f} deg'


def _angle(rotation: Array) -> float:
    return float(np.degrees(np.linalg.norm(rotation_log(rotation))))
