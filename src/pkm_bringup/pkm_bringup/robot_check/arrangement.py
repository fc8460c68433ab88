"""Drives and IMU together: what the likeliest row of the table says, as findings, and as a driver file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import Finding, State

from pkm_bringup.robot_check.expected import inside, is_solvable, predict, strokes
from pkm_bringup.robot_check.mounting import axes_text, mounting_findings
from pkm_bringup.robot_check.report import IN_DRIVER_FILE, DriverPatch, Wiring, cannot_tell, ok, suspicious, wrong
from pkm_bringup.robot_check.signals import grid_of, smoothed
from pkm_bringup.robot_check.stamps import clock_checks, delay_checks
from pkm_bringup.robot_check.table import (
    Evidence,
    Row,
    judge,
    plain_row,
    search,
)  # fmt: skip

#: standard deviations of noise, and rad/s or m/s^2, above which rates and changes of the specific force tell something
_ABOVE_NOISE, _LEAST_RATE, _LEAST_FORCE = 5.0, 0.003, 0.05
#: score up to which no other row is looked for
_FINE = 0.12
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
_MOTION = (
    'a motion in which the platform turns about all its axes, one drive after the other (motion_player profile:=drives)'
)


def arrangement_checks(wiring: Wiring) -> Iterator[Finding]:
    """Findings about drives, axes of the IMU and its delay; sets ``best``, ``motion`` and ``prediction``."""
    machine = wiring.machine
    if wiring.joints is None or wiring.columns is None:
        return
    published = wiring.published('positions')
    finite = published[np.isfinite(published).all(axis=1)]
    some = finite[:: max(1, len(finite) // 400)]
    if len(some) == 0:
        return
    yield from clock_checks(wiring)
    evidence, unknown = _evidence(wiring)
    base = plain_row(machine)
    within = inside(machine, some)
    if evidence is not None:
        base = judge(machine, evidence, base)
        rows = [base]
        told = evidence.tells_order and wiring.poses_trusted
        explained = (base.score <= _FINE and base.imu_cost == 0.0) or not told
        if not (within.all() and explained and wiring.named):
            rows = search(machine, evidence, some)
        if not rows or (rows[0].score > _NOTHING and not within.all()):
            yield from _outside(wiring, some)
            return
        wiring.best, *others = _alike(rows)
        gap = wiring.best.cost + (_GAP if evidence.named else _NAMELESS_GAP)
        rivals = [row for row in others if row.cost < gap] if evidence.tells_order else []
        wiring.motion = wiring.best.drives(evidence.drives)
        if not is_solvable(machine):
            wiring.prediction = predict(machine, wiring.motion)
        yield from _judged(wiring, evidence, base, some, rivals, unknown)


def _evidence(wiring: Wiring) -> tuple[Evidence | None, list[Finding]]:
    """What is heard on one grid, and why the motion does not tell the order, if so."""
    machine = wiring.machine
    published = wiring.published('positions')
    named = 1.0 if wiring.named or wiring.numbered else 0.0
    force, rate = wiring.specific_force, wiring.angular_rate
    unknown = 'without an IMU nothing tells which joint belongs to which leg', 'the IMU'
    grid = grid_of(wiring.leg_time)
    with_imu = machine.has_imu and (force is not None or rate is not None) and not is_solvable(machine)
    if with_imu and len(both := grid_of(wiring.leg_time, wiring.imu_time)) >= 12:
        grid = both
    elif with_imu:
        with_imu = False
        unknown = 'drives and IMU have less than a quarter of a second in common', 'a longer --duration'
    if len(grid) < 12:
        return None, [cannot_tell('leg_order', 'the joint states last less than a quarter of a second', 'more of them')]
    drives = smoothed(wiring.leg_time, published, grid)
    if not with_imu:
        return Evidence(drives, named=named), [cannot_tell('leg_order', *unknown)]
    none = np.zeros((len(wiring.imu_time), 3))
    imu = smoothed(wiring.imu_time, np.hstack([none if part is None else part for part in (force, rate)]), grid)
    spread, least = imu.value[imu.good].std(axis=0), (_LEAST_FORCE, _LEAST_RATE)
    tells = [
        bool(np.linalg.norm(spread[part]) > max(floor, _ABOVE_NOISE * float(np.linalg.norm(imu.noise[part]))))
        for part, floor in zip((slice(0, 3), slice(3, 6)), least, strict=True)
    ]
    moves = (drives.value[drives.good].std(axis=0) > _ABOVE_NOISE * drives.noise).any()
    allowed = _FORCE + float(np.linalg.norm(machine.imu.accelerometer_bias))
    feels = wiring.gravity_felt and force is not None
    evidence = Evidence(
        drives, imu, rate is not None and tells[1], bool(moves and tells[0] and feels), feels, allowed, named
    )
    if not wiring.poses_trusted:
        return evidence, [cannot_tell('leg_order', 'positions are wrong, so no pose can be compared', 'see positions')]
    sentence = 'the platform does not move enough: any order and some signs would fit'
    return evidence, [] if evidence.tells_order else [cannot_tell('leg_order', sentence, _MOTION)]


def _alike_limit(score: float) -> float:
    """Score up to which another row explains the samples as well as one of this score."""
    return _FACTOR * score + _SAME


def _alike(rows: Sequence[Row]) -> list[Row]:
    """Rows that explain the samples as well as the best, those that take least mistakes first."""
    if not rows:
        return []
    limit = _alike_limit(min(row.score for row in rows))
    own = [row for row in rows if row.score <= limit]
    return sorted(own, key=lambda row: (round(row.cost, 6), row.score))


def _judged(
    wiring: Wiring, evidence: Evidence, base: Row, some: Array, rivals: list[Row], unknown: list[Finding]
) -> Iterator[Finding]:
    """Findings about the best row; ``rivals`` explain the same and are as likely."""
    best = wiring.best
    assert best is not None
    misfit = best.rate_misfit if evidence.turns else best.force_misfit if evidence.shakes else 0.0
    trusted = wiring.poses_trusted
    if evidence.tells_order and trusted and misfit > _ANY:
        yield wrong(
            'leg_imu_disagree',
            f'legs and IMU do not agree: forward kinematics leaves {misfit:.0%} of what the IMU shows unexplained, for'
            ' all orders, units and signs of drives and axes of the IMU',
            'see the findings above first; else the geometry of the machine file is that of another machine',
            misfit=misfit,
        )
        return
    files = {wiring_file(wiring, row): row for row in [best, *rivals]}
    wiring.alternatives = tuple(files) if len(files) > 1 and misfit <= _SURE else ()
    words = '; or '.join(_words(wiring, row) for row in [*files.values()][1:4])
    either = f'. Or else: {words} (this motion does not tell which)' if words else ''
    entries = row_entries(wiring, best)
    wiring.unexplained = misfit if entries and misfit > _SURE else 0.0
    findings = [*_drive_findings(wiring, best, base, some, entries, either)]
    if evidence.tells_order and trusted and not any(one.is_fault and one.code != 'position_unit' for one in findings):
        findings.append(_agreed(wiring, evidence, best, misfit))
    findings += unknown
    if evidence.imu is not None and trusted:
        findings += mounting_findings(wiring, evidence, best, either)
    for one in findings:
        if one.state is State.WRONG and misfit > _SURE:
            sentence = f'{one.sentence}. {misfit:.0%} stay unexplained: there may be another cause'
            one = replace(one, state=State.SUSPICIOUS, sentence=sentence)
        yield one
    yield from _pose(wiring, best)
    if trusted:
        yield from delay_checks(wiring, evidence, best)


def row_entries(wiring: Wiring, row: Row) -> dict[str, Any]:
    """Keys and values of a driver file that says what a row says of the drives and of the IMU's units."""
    patch, entries = wiring.patch, dict[str, Any]()
    if row.moved or not wiring.named:
        names = wiring.names_of(row.order)
        entries['joints'] = [{name: leg} for name, leg in zip(names, wiring.machine.drive_labels, strict=True)]
        assert wiring.joints is not None
        known = {*names, *wiring.machine.joint_names}
        if others := [name for name in wiring.joints.names if name not in known]:
            entries['ignore'] = others
    if (row.scale == row.unit.factor).all():
        entries |= {f'position.{key}': value for key, value in row.unit.keys.items()}
    else:
        entries['position.scale'] = patch.by_leg(row.scale)
    if (row.sign < 0.0).any():
        entries['position.sign'] = patch.by_leg(row.sign)
        offset = row.offset - row.unit.offset(wiring.machine)
        if offset.any():
            entries['position.offset'] = patch.by_leg(offset)
    if row.rate_unit != 'rad/s':
        entries['imu.angular_rate'] = row.rate_unit
    if row.gravity_down:
        entries['imu.gravity'] = 'down'
    return entries


def wiring_file(wiring: Wiring, row: Row) -> str:
    """Driver file with what is known so far and what a row says."""
    patch = DriverPatch(wiring.machine, deepcopy(wiring.patch.content))
    if entries := row_entries(wiring, row):
        patch.add(entries)
    return patch.text()


def _drive_findings(
    wiring: Wiring, best: Row, base: Row, some: Array, entries: dict[str, Any], either: str
) -> Iterator[Finding]:
    """Names, order, unit and signs of the drives."""
    machine, flipped = wiring.machine, best.sign < 0.0
    lower, upper = strokes(machine)
    figures: dict[str, float | str] = {
        'published': f'{some.min():.4g} to {some.max():.4g}', 'stroke': f'{lower.min():.4g} to {upper.max():.4g}',
        'unexplained_as_it_is': base.rate_misfit, 'unexplained_mended': best.rate_misfit,
    }  # fmt: skip

    def lines(*keys: str) -> str:
        own = {key: value for key, value in entries.items() if key.split('.')[0] in keys or key in keys}
        if wiring.alternatives:
            return 'see the driver files below'
        return wiring.driver_lines(own) if keys[0].startswith('position') else IN_DRIVER_FILE + wiring.patch.add(own)

    names = wiring.names_of(best.order)
    pairs = ', '.join(f'{name} is {leg}' for name, leg in zip(names, machine.drive_labels, strict=True))
    if not wiring.named:
        assert wiring.joints is not None
        missing = [name for name in wiring.machine.actuated_joint_names if name not in wiring.joints.names]
        told = np.isfinite(best.rate_misfit) or np.isfinite(best.force_misfit)
        how = 'it explains what the IMU shows' if told else 'a guess by the names: move the platform to have it told'
        yield wrong(
            'joint_names',
            f'no entry for {", ".join(missing)}; the joint states have {", ".join(wiring.joints.names)}. The likely'
            f' map: {pairs} ({how}){either}',
            lines('joints', 'ignore'),
        )
    elif best.moved:
        yield wrong(
            'leg_order',
            f'the legs are in another order than the names say: {_words(wiring, best)}{either}',
            'exchange the plugs, or map the names in a driver file (--driver, driver:=)\n' + lines('joints'),
            **figures,
        )
    if best.unit.keys or (best.scale != 1.0).any():
        words = best.unit.words if 'position.scale' not in entries else 'in units that differ from drive to drive'
        yield wrong(
            'position_length' if 'quantity' in best.unit.keys else 'position_unit',
            f'positions do not fit the strokes or the motion as they are, but {words}',
            lines('position.quantity', 'position.unit', 'position.scale'),
            **figures,
        )
    elif (np.abs(some) < _SMALL * (upper - lower)).all():  # any smaller unit would fit, too
        yield cannot_tell(
            'position_unit', 'all positions are nearly zero: any unit would fit', 'a pose away from zero'
        )
    else:
        yield ok('position_unit', f'positions lie within the strokes ({figures["published"]})')
    if flipped.any():
        yield wrong(
            'position_sign',
            f'positions of {wiring.named_drives(flipped)} count the other way round{either}',
            lines('position.sign', 'position.offset'),
            **figures,
        )


def _words(wiring: Wiring, row: Row) -> str:
    """What a row says otherwise than names and file."""
    names, plain = wiring.names_of(row.order), wiring.names_of(range(len(row.order)))
    parts = [
        f'{name} is that of {leg}'
        for name, own, leg in zip(names, plain, wiring.machine.drive_labels, strict=True)
        if name != own
    ]
    if (row.sign < 0.0).any():
        parts.append(f'{wiring.named_drives(row.sign < 0.0)} counts the other way round')
    if not np.allclose(row.gyroscope, np.eye(3)):
        parts.append(f'the IMU is mounted with {axes_text(row.gyroscope)}')
    return ', '.join(parts) or 'the order of the names'


def _agreed(wiring: Wiring, evidence: Evidence, best: Row, misfit: float) -> Finding:
    """Order and signs are as they should be; with the swaps that the motion does not tell."""
    limit = _alike_limit(best.score)
    labels = wiring.machine.drive_labels
    pairs = []
    for first, second in combinations(range(len(labels)), 2):
        order = list(best.order)
        order[first], order[second] = order[second], order[first]
        if judge(wiring.machine, evidence, replace(best, order=tuple(order))).score < limit:
            pairs.append(f'{labels[first]} from {labels[second]}')
    note = f'; this motion does not tell {", ".join(pairs[:4])} (turn the platform more)' if pairs else ''
    return ok(
        'leg_order',
        f'order and signs of the legs agree with the IMU ({1.0 - misfit:.1%} of what it shows explained by forward'
        f' kinematics{note})',
    )


def _pose(wiring: Wiring, best: Row) -> Iterator[Finding]:
    """Whether the positions have a pose."""
    machine = wiring.machine
    if why := is_solvable(machine):
        yield cannot_tell('pose', f'the drives of {machine.name} do not tell its pose: {why}')
    elif best.found == 1.0:
        yield ok('pose', 'every sample has a pose')
    else:
        yield (wrong if best.found < 0.9 else suspicious)(
            'pose',
            f'{1.0 - best.found:.0%} of the samples have no pose that can be trusted: zeros of the drives, or the'
            ' geometry of the machine file, or a singular pose',
            'check base_point, platform_point, leg_tip and the zero of the driven joint in the machine file;'
            f' inspect_machine {machine.path.name} shows strokes, reach and condition numbers',
            part=1.0 - best.found,
        )


def _outside(wiring: Wiring, some: Array) -> Iterator[Finding]:
    """Positions that lie outside their strokes in every unit."""
    wiring.poses_trusted = False
    machine, outside = wiring.machine, ~inside(wiring.machine, some)
    lower, upper = strokes(machine)
    beyond = np.maximum(0.0, np.maximum(lower - some, some - upper)).max(axis=0)
    if outside.all():
        yield wrong(
            'position_stroke',
            f'positions of all drives lie outside their strokes by up to {beyond.max():.4g}, in no usual unit: another'
            ' machine, or another zero of the drives',
            f'check the machine file ({machine.path.name}: origin of the driven joint, limits), or give position.scale'
            ' and position.offset per leg in a driver file',
        )
        return
    # the least offsets that bring the drives into their strokes
    least = np.where(outside, np.where(some.mean(axis=0) > upper, -beyond, beyond), 0.0)
    offsets = ', '.join(f'{leg}: {value:.4g}' for leg, value in zip(machine.drive_labels, least, strict=True))
    yield wrong(
        'position_offset',
        f'{wiring.named_drives(outside)} lies outside the stroke by up to {beyond.max():.4g}, in every unit: its zero'
        ' is off, or the limits of the machine file are not those of the machine',
        'reference (home) the drive anew, or give its offset, found by driving to a known stop, in a driver'
        f' file:\ndriver: {{machine: {machine.name}, position: {{offset: {{{offsets}}}}}}}',
        beyond=float(beyond.max()),
    )
    yield cannot_tell('leg_order', 'positions are wrong, so no pose can be compared with the IMU', 'see positions')
