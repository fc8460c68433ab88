"""Drives and IMU together: order and signs of the legs, axes and signs of the IMU, by forward kinematics."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import Finding, State
from pkm_description.kinematics.rotation import rotation_log

from pkm_bringup.robot_check.hypotheses import (
    ImuEvidence,
    Judged,
    LegAssignment,
    equivalents,
    free_mounting,
    is_solvable,
    judge,
    rate_map,
    search,
)
from pkm_bringup.robot_check.imu_checks import axes_findings, axes_text, rpy_lines
from pkm_bringup.robot_check.position_checks import inside
from pkm_bringup.robot_check.signals import Signal, grid_of, smoothed
from pkm_bringup.robot_check.wiring import IN_DRIVER_FILE, Wiring, cannot_tell, ok, suspicious, wrong

#: rad/s, and standard deviations of noise, above which an angular rate can be compared
_LEAST_RATE, _ABOVE_NOISE = 0.003, 5.0
#: score up to which no other arrangement is looked for
_FINE = 0.12
#: m/s^2 by which the specific force may be off beside the machine file's bias
_FORCE = 1.0
#: part of the angular rate that may stay unexplained where a cause is called certain
_SURE = 0.05
#: instants at which the best arrangement is worked out in the end
_INSTANTS = 1500
_MOTION = (
    'a motion in which the platform turns about all its axes, one drive after the other (motion_player profile:=drives)'
)


def motion_checks(wiring: Wiring) -> Iterator[Finding]:
    """Findings about arrangement and axes; sets ``motion`` and ``best``."""
    rivals, findings = _compared(wiring)
    yield from _name_findings(wiring, rivals)
    yield from findings


_Compared = tuple[list[Judged] | None, list[Finding]]


def _compared(wiring: Wiring) -> _Compared:
    """Other hypotheses that explain the IMU as well (None where nothing is told of the order), and findings."""
    machine = wiring.machine
    if wiring.positions is None or is_solvable(machine):
        return None, []
    if not wiring.poses_trusted:
        return _unknown('positions are wrong, so no pose can be compared with the IMU', 'see positions')
    usual = LegAssignment.plain(machine.actuated_count)
    with_imu = machine.has_imu and wiring.specific_force is not None and wiring.angular_rate is not None
    grid = grid_of(wiring.leg_time, *([wiring.imu_time] if with_imu else []))
    if len(grid) < 12:
        return _unknown('drives and IMU have less than a quarter of a second in common', 'a longer --duration')
    wiring.motion = drives = smoothed(wiring.leg_time, wiring.positions, grid)
    rows = drives.some(_INSTANTS)
    few = drives.rows(rows)
    if not with_imu:
        none = replace(few, value=np.zeros((len(rows), 6)), good=np.zeros(len(rows), dtype=bool))
        wiring.best = judge(machine, few, ImuEvidence(none, 1.0, False, False), usual)
        return _unknown('without an IMU nothing tells which joint belongs to which leg', 'the IMU')
    body = smoothed(wiring.imu_time, np.hstack([wiring.specific_force, wiring.angular_rate]), grid)  # type: ignore[list-item]
    evidence = ImuEvidence(
        body, _FORCE + float(np.linalg.norm(machine.imu.accelerometer_bias)), wiring.gravity_felt
    )
    measured, expected = _rates(wiring, drives, body)
    evidence = replace(evidence, turns=wiring.imu_usable and max(measured, expected) > 0.0)
    evidence, findings = _gyroscope_unit(wiring, evidence, measured, expected)
    return _arranged(wiring, evidence, few, evidence.rows(rows), usual, findings)


def _unknown(sentence: str, remedy: str) -> _Compared:
    return None, [cannot_tell('leg_order', sentence, remedy)]


def _arranged(
    wiring: Wiring,
    evidence: ImuEvidence,
    few: Signal,
    part: ImuEvidence,
    usual: LegAssignment,
    findings: list[Finding],
) -> _Compared:
    """Choose the hypothesis; ``few``, ``part`` are drives and IMU at the instants at which it is worked out."""
    machine, drives, turns = wiring.machine, wiring.motion, evidence.turns
    assert drives is not None
    base = judge(machine, few, part, usual)
    ranked = [] if base is None else [base]
    if turns and (wiring.names_guessed or base is None or base.score > _FINE):
        ranked = search(machine, drives, evidence, wiring.names_guessed)
        ranked = [one for one in ranked if _in_stroke(wiring, one.arrangement)]
    if not ranked:
        rivals, unknown = _unknown('no arrangement of the legs has poses in their strokes', 'see positions and pose')
        return rivals, findings + unknown
    best = ranked[0]
    turned = free_mounting(part, base.prediction) if turns and base is not None and best is not base else None
    # one mounting by any angle is likelier than two mistakes that look the same
    explains = best.rate_misfit < _SURE and best.force_misfit < 1.0
    if turned is not None and (best.mistakes >= 2.0 or not explains):
        wiring.best = base
        wiring.specific_force, wiring.angular_rate = wiring.specific_force @ turned, wiring.angular_rate @ turned  # type: ignore[operator]
        return None, [*findings, _turned(wiring, turned)]
    like = best.arrangement.order, best.arrangement.flipped
    others = (one for one in ranked[1:] if (one.arrangement.order, one.arrangement.flipped) != like)
    rivals = [one for one in others if one.score < best.score + 0.05]
    wiring.best = best = judge(machine, few, part, best.arrangement) or best
    if turns and best.rate_misfit > 0.5:
        return None, [*findings, _disagreement(best)]
    if not turns:
        own = [cannot_tell('leg_order', 'the platform does not turn: any order and some signs would fit', _MOTION)]
    else:
        other = '' if turned is None else _turned_words(wiring, turned)
        own = list(_arrangement_findings(wiring, evidence, best, base, _either(wiring, rivals, other)))
    own += axes_findings(wiring, best, turns, rivals)
    findings += [_doubted(one, best.rate_misfit) for one in own]
    if turns and not 0.8 < best.gain < 1.25:
        findings.append(
            suspicious(
                'motion_scale',
                f'the IMU turns {best.gain:.3g} times as fast as the legs say',
                'the unit of the positions (see also velocities), the lead of the screws, or lengths in the machine'
                ' file',
                gain=best.gain,
            )
        )
    return rivals if turns else None, findings


def _rates(wiring: Wiring, drives: Signal, body: Signal) -> tuple[float, float]:
    """Root mean squares [rad/s] of measured and expected angular rate; 0 where noise is all there is."""
    to_rate, good = rate_map(wiring.machine), drives.good & body.good
    if np.count_nonzero(good) < 10:
        return 0.0, 0.0
    sizes = []
    for values, noise in (
        (body.value[:, 3:], body.noise[3:]),
        (drives.rate @ to_rate.T, to_rate * drives.rate_noise),
    ):
        size = float(np.sqrt(np.sum(np.var(values[good], axis=0))))
        sizes.append(size * (size > max(_LEAST_RATE, _ABOVE_NOISE * float(np.linalg.norm(noise)))))
    return sizes[0], sizes[1]


def _gyroscope_unit(
    wiring: Wiring, evidence: ImuEvidence, measured: float, expected: float
) -> tuple[ImuEvidence, list[Finding]]:
    """Whether the angular rate is in deg/s or mrad/s; returns the evidence in rad/s."""
    for unit, size, low, high in (('deg/s', np.pi / 180.0, 20.0, 170.0), ('mrad/s', 1e-3, 400.0, 2500.0)):
        if expected and low < measured / expected < high:
            scale = np.repeat([1.0, size], 3)
            signal = replace(evidence.signal, value=evidence.signal.value * scale)
            finding = wrong(
                'gyroscope_unit',
                f'angular rates are {measured / expected:.3g} times those of the legs: they are in {unit}',
                'in the driver file\n' + wiring.patch.add({'imu.angular_rate': unit}),
                ratio=measured / expected,
            )
            return replace(evidence, signal=signal), [finding]
    return evidence, []


def _in_stroke(wiring: Wiring, arrangement: LegAssignment) -> bool:
    """Whether an arrangement keeps the drives in their strokes (those of different legs may differ)."""
    drives = wiring.motion
    assert drives is not None
    few = drives.rows(drives.some(200))
    plain = not arrangement.moved and not any(arrangement.flipped)
    return plain or bool(inside(wiring.machine, arrangement.arranged(wiring.machine, few).value).all())


def _disagreement(best: Judged) -> Finding:
    return wrong(
        'leg_imu_disagree',
        f'legs and IMU do not agree: forward kinematics leaves {best.rate_misfit:.0%} of the angular rate unexplained,'
        ' for all orders and signs of legs and axes of the IMU that were tried',
        'see the findings above first; else several drives are wired otherwise at once, or the geometry of the machine'
        ' file is that of another machine',
        misfit=best.rate_misfit,
    )


def _doubted(one: Finding, misfit: float) -> Finding:
    """A finding of a mended arrangement; certain only if it leaves next to nothing of the angular rate unexplained."""
    if one.state is not State.WRONG or not misfit > _SURE:
        return one
    sentence = f'{one.sentence}. {misfit:.0%} of the angular rate stay unexplained: there may be another cause'
    return replace(one, state=State.SUSPICIOUS, sentence=sentence)


def _name_findings(wiring: Wiring, rivals: list[Judged] | None) -> Iterator[Finding]:
    """Names that are not the machine's, with the likely map."""
    log, best = wiring.joints, wiring.best
    if not wiring.names_guessed or log is None or wiring.columns is None:
        return
    known = best is not None and rivals is not None
    names = _names(wiring, best.arrangement if best is not None and known else None)
    pairs = list(zip(names, wiring.machine.drive_labels, strict=True))
    entries: dict[str, object] = {'joints': [{name: label} for name, label in pairs]}
    others = [name for name in log.names if name not in names and name not in wiring.machine.joint_names]
    if others:
        entries['ignore'] = others
    how = 'by the numbers in the names, which is a guess: move the platform to have it confirmed'
    if best is not None and rivals:
        how = f'by agreement with the IMU; {" or ".join(_order_words(wiring, one) for one in rivals[:2])} fits as well'
    elif best is not None and known:
        how = f'by agreement of forward kinematics with the IMU ({1.0 - best.rate_misfit:.0%} explained)'
    missing = [name for name in wiring.drive_names if name not in log.names]
    yield wrong(
        'joint_names',
        f'no entry for {", ".join(missing)}; the joint states have {", ".join(log.names)}. The likely map: '
        + ', '.join(f'{name} is {leg}' for name, leg in pairs)
        + f' ({how})',
        IN_DRIVER_FILE + wiring.patch.add(entries),
    )


def _names(wiring: Wiring, arrangement: LegAssignment | None) -> list[str]:
    """Names in the joint states, in the order of the drives."""
    assert wiring.joints is not None
    assert wiring.columns is not None
    order = range(len(wiring.columns)) if arrangement is None else arrangement.order
    return [wiring.joints.names[wiring.columns[entry]] for entry in order]


def _arrangement_findings(
    wiring: Wiring, evidence: ImuEvidence, best: Judged, base: Judged | None, either: str
) -> Iterator[Finding]:
    """Order and signs of the legs.

    Parameters
    ----------
    best, base : the best arrangement, and the one that the names say
    either : other causes that explain the same, as a sentence
    """
    arrangement, machine = best.arrangement, wiring.machine
    moved, flipped = arrangement.moved and not wiring.names_guessed, np.array(arrangement.flipped)
    before = float('nan') if base is None else base.rate_misfit
    figures = {'unexplained_as_it_is': before, 'unexplained_mended': best.rate_misfit}
    if moved:
        yield wrong(
            'leg_order',
            f'the legs are in another order than the names say: {_order_words(wiring, best)}{either}',
            'exchange the plugs, or map the names in a driver file (--driver, driver:=)\n'
            + wiring.patch.joints(_names(wiring, arrangement)),
            **figures,
        )
    if flipped.any():
        yield wrong(
            'position_sign',
            f'positions of {wiring.named(flipped)} count the other way round{either}',
            _sign_lines(wiring, arrangement),
            **figures,
        )
    if moved or flipped.any() or wiring.names_guessed:
        return
    assert wiring.motion is not None
    equal = [] if arrangement.cost else equivalents(machine, wiring.motion, evidence)
    pairs = [[machine.drive_labels[a] for a, b in enumerate(order) if a != b] for order in equal]
    told = ', '.join(' from '.join(pair) for pair in pairs[:4])
    note = f'; this motion does not tell {told} (turn the platform more)' if equal else ''
    yield ok(
        'leg_order',
        f'order and signs of the legs agree with the IMU ({1.0 - best.rate_misfit:.1%} of its angular rate explained by'
        f' forward kinematics{note})',
    )


def _either(wiring: Wiring, rivals: list[Judged], other: str) -> str:
    words = [other] if other else []
    for one in rivals[:3]:
        parts = [_order_words(wiring, one)] if one.arrangement.moved else []
        if any(one.arrangement.flipped):
            parts.append(f'{wiring.named(np.array(one.arrangement.flipped))} counts the other way round')
        if one.mistakes > one.arrangement.cost:
            gyroscope, accelerometer = axes_text(one.gyroscope), axes_text(one.accelerometer)
            parts.append(
                f'the IMU is mounted with {gyroscope}'
                if gyroscope == accelerometer
                else f'the IMU\'s axes are {gyroscope} (gyroscope) and {accelerometer} (accelerometer)'
            )
        words.append(' and '.join(parts))
    return f'. Or else: {"; or ".join(filter(None, words))} (this motion does not tell which)' if any(words) else ''


def _order_words(wiring: Wiring, one: Judged) -> str:
    names, order = _names(wiring, one.arrangement), one.arrangement.order
    moved = [
        f'{name} is that of {leg}'
        for place, (entry, name, leg) in enumerate(zip(order, names, wiring.machine.drive_labels, strict=True))
        if entry != place
    ]
    return ', '.join(moved) or 'the order of the names'


def _sign_lines(wiring: Wiring, arrangement: LegAssignment) -> str:
    assert wiring.position_scale is not None
    assert wiring.position_offset is not None
    shift = arrangement.shifts(wiring.machine)
    offset = shift + arrangement.sign * wiring.position_offset
    keys: dict[str, object] = {
        'position.sign': wiring.patch.by_leg(np.sign(arrangement.sign * wiring.position_scale))
    }
    if offset.any() and 'quantity' not in wiring.patch.content.get('position', {}):
        keys['position.offset'] = wiring.patch.by_leg(offset)
    other_end = '; the offset is that of a count from the other end of the stroke' if shift.any() else ''
    return f'in a driver file (--driver, driver:={other_end})\n' + wiring.patch.add(keys)


def _turned(wiring: Wiring, rotation: Array) -> Finding:
    """The IMU is turned by angles that are not right ones."""
    return wrong(
        'imu_axes',
        f'the IMU is mounted otherwise than the machine file says, turned by {_angle(rotation):.0f} deg (or else'
        ' several legs are numbered otherwise, which can look the same)',
        f'turn the IMU, or in {wiring.machine.path.name} (tune BAG --motion refines it)\n'
        + rpy_lines(wiring, rotation),
        turned_deg=_angle(rotation),
    )


def _turned_words(wiring: Wiring, rotation: Array) -> str:
    """That an IMU turned so would explain the same."""
    return (
        f'the legs are as they are named, and the IMU is turned by {_angle(rotation):.0f} deg:'
        f' {rpy_lines(wiring, rotation)}'
    )


def _angle(rotation: Array) -> float:
    return float(np.degrees(np.linalg.norm(rotation_log(rotation))))
