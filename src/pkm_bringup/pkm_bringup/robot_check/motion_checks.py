"""Drives and IMU together: order and signs of the legs, axes and signs of the IMU, by forward kinematics."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import replace

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import Finding, State

from pkm_bringup.robot_check.agreement import (
    AXES,
    ImuEvidence,
    SensorPrediction,
    Smoothed,
    grid_of,
    is_rotation,
    smoothed,
)
from pkm_bringup.robot_check.arrangement import (
    DriveMotion,
    Judged,
    equivalents,
    is_solvable,
    judge,
    plain,
    rate_map,
    search,
)
from pkm_bringup.robot_check.motion_findings import (
    arrangement_findings,
    axes_findings,
    name_findings,
    turned_finding,
    turned_words,
)
from pkm_bringup.robot_check.position_checks import inside
from pkm_bringup.robot_check.wiring import Wiring, cannot_tell, suspicious, wrong

#: part of the angular rate's power that may stay unexplained
_UNEXPLAINED = 0.05
#: least second singular value (of at most 2): with less, gravity and rates lie on one axis, and a turn about it is free
_SECOND = 0.02
#: rad, nearer to a turn by right angles the named axes are said
_APART = np.radians(12.0)
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
MOTION = (
    'a motion in which the platform turns about all its axes, one drive after the other (motion_player profile:=drives)'
)


def motion_checks(wiring: Wiring) -> Iterator[Finding]:
    """Findings about arrangement and axes; sets ``motion`` and ``best``."""
    machine = wiring.machine
    if wiring.positions is None or is_solvable(machine):
        yield from name_findings(wiring, None)
        return
    if not wiring.poses_trusted:
        yield from name_findings(wiring, None)
        yield cannot_tell('leg_order', 'positions are wrong, so no pose can be compared with the IMU', 'see positions')
        return
    streams = [wiring.leg_time]
    with_imu = wiring.imu is not None and wiring.angular_rate is not None and machine.has_imu
    if with_imu:
        streams.append(wiring.imu_time)
    grid = grid_of(*streams)
    if len(grid) < 12:
        yield from name_findings(wiring, None)
        yield cannot_tell(
            'leg_order', 'drives and IMU have less than a quarter of a second in common', 'a longer --duration'
        )
        return
    drives = smoothed(wiring.leg_time, wiring.positions, grid)
    wiring.motion = DriveMotion(grid, drives.value, drives.rate, drives.acceleration, drives.good)
    if not with_imu or wiring.specific_force is None or wiring.angular_rate is None:
        few, rows = wiring.motion.some(_INSTANTS)
        none, never = np.zeros((len(rows), 3)), np.zeros(len(rows), dtype=bool)
        no_imu = ImuEvidence(none, none, never, np.zeros(3), 1.0, False)
        wiring.best = judge(machine, few, no_imu, plain(machine.actuated_count), False)
        yield from name_findings(wiring, None)
        yield cannot_tell('leg_order', 'without an IMU nothing tells which joint belongs to which leg', 'the IMU')
        return
    body = smoothed(wiring.imu_time, np.hstack([wiring.specific_force, wiring.angular_rate]), grid)
    bias = float(np.linalg.norm(machine.imu.accelerometer_bias))
    evidence = ImuEvidence(
        body.value[:, :3], body.value[:, 3:], body.good, body.noise[3:], _FORCE + bias, wiring.gravity_felt
    )
    yield from _compared(wiring, drives, evidence)


def _compared(wiring: Wiring, drives: Smoothed, evidence: ImuEvidence) -> Iterator[Finding]:
    machine, motion = wiring.machine, wiring.motion
    assert motion is not None
    measured, expected = _rates(wiring, drives, evidence)
    turns = wiring.imu_usable and max(measured, expected) > 0.0
    evidence = yield from _gyroscope_unit(wiring, evidence, measured, expected)
    usual = plain(machine.actuated_count)
    few, rows = motion.some(_INSTANTS)
    part = evidence.rows(rows)
    base = judge(machine, few, part, usual, turns)
    ranked = [] if base is None else [base]
    if turns and (wiring.names_guessed or base is None or base.score > _FINE):
        ranked = [one for one in search(machine, motion, evidence, wiring.names_guessed) if _in_stroke(wiring, one)]
    if not ranked:
        yield from name_findings(wiring, None)
        yield cannot_tell(
            'leg_order', 'no arrangement of the legs has poses in their strokes', 'see positions and pose'
        )
        return
    best = ranked[0]
    turned = None
    if turns and base is not None and best is not base:
        turned = free_mounting(part, base.prediction)
    # one mounting by any angle is likelier than two mistakes that look the same
    mistakes = best.arrangement.cost + best.agreement.axes_cost
    explains = best.agreement.rate_misfit < _SURE and best.agreement.force_misfit < 1.0
    if turned is not None and (mistakes >= 2.0 or not explains):
        wiring.best = base
        wiring.specific_force, wiring.angular_rate = wiring.specific_force @ turned, wiring.angular_rate @ turned  # type: ignore[operator]
        yield from name_findings(wiring, None)
        yield turned_finding(wiring, turned)
        return
    others = (one for one in ranked[1:] if not one.arrangement.moves_as(best.arrangement))
    rivals = [one for one in others if one.score < best.score + 0.05]
    wiring.best = best = judge(machine, few, part, best.arrangement, turns) or best
    if not turns:
        yield from name_findings(wiring, None)
        yield cannot_tell(
            'leg_order', 'the platform does not turn: any order and some signs of the legs would fit', MOTION
        )
    elif best.agreement.rate_misfit > 0.5:
        yield from name_findings(wiring, None)
        yield wrong(
            'leg_imu_disagree',
            f'legs and IMU do not agree: forward kinematics leaves {best.agreement.rate_misfit:.0%} of the '
            'angular rate unexplained, for all orders and signs of legs and axes of the IMU that were tried',
            'see the findings above first; else several drives are wired otherwise at once, or the geometry of the'
            ' machine file is that of another machine',
            misfit=best.agreement.rate_misfit,
        )
        return
    else:
        equal = equivalents(machine, motion, evidence) if best.arrangement.is_plain else []
        yield from name_findings(wiring, rivals)
        other = '' if turned is None else turned_words(wiring, turned)
        yield from _doubted(best, arrangement_findings(wiring, best, base, rivals, equal, other))
    yield from _doubted(best, axes_findings(wiring, best, turns, rivals))
    yield from _gain(wiring, best, turns)


def _doubted(best: Judged, findings: Iterator[Finding]) -> Iterator[Finding]:
    """Findings of a mended arrangement; certain only if it leaves next to nothing of the angular rate unexplained."""
    misfit = best.agreement.rate_misfit
    for one in findings:
        if one.state is State.WRONG and misfit > _SURE:
            sentence = f'{one.sentence}. {misfit:.0%} of the angular rate stay unexplained: there may be another cause'
            one = replace(one, state=State.SUSPICIOUS, sentence=sentence)
        yield one


def _rates(wiring: Wiring, drives: Smoothed, evidence: ImuEvidence) -> tuple[float, float]:
    """Root mean squares [rad/s] of measured and expected angular rate; 0 where noise is all there is."""
    machine, motion = wiring.machine, wiring.motion
    assert motion is not None
    to_rate = rate_map(machine)
    good = motion.good & evidence.good
    if np.count_nonzero(good) < 10:
        return 0.0, 0.0

    def size(values: Array) -> float:
        return float(np.sqrt(np.mean(np.sum((values - values.mean(axis=0)) ** 2, axis=1))))

    measured, expected = size(evidence.angular_rate[good]), size(motion.rate[good] @ to_rate.T)
    floor = max(_LEAST_RATE, _ABOVE_NOISE * float(np.linalg.norm(evidence.rate_noise)))
    leg_floor = max(_LEAST_RATE, _ABOVE_NOISE * float(np.linalg.norm(to_rate * drives.rate_noise)))
    return measured * (measured > floor), expected * (expected > leg_floor)


def _gyroscope_unit(
    wiring: Wiring, evidence: ImuEvidence, measured: float, expected: float
) -> Generator[Finding, None, ImuEvidence]:
    """Whether the angular rate is in deg/s or mrad/s; returns the evidence in rad/s."""
    if not (measured and expected):
        return evidence
    ratio = measured / expected
    for unit, size, low, high in (('deg/s', np.pi / 180.0, 20.0, 170.0), ('mrad/s', 1e-3, 400.0, 2500.0)):
        if low < ratio < high:
            yield wrong(
                'gyroscope_unit',
                f'angular rates are {ratio:.3g} times those of the legs: they are in {unit}',
                'in the driver file\n' + wiring.patch.add('imu.angular_rate', unit),
                ratio=ratio,
            )
            rate, noise = evidence.angular_rate * size, evidence.rate_noise * size
            return replace(evidence, angular_rate=rate, rate_noise=noise)
    return evidence


def _gain(wiring: Wiring, best: Judged, turns: bool) -> Iterator[Finding]:
    gain = best.agreement.gain
    if not turns or not np.isfinite(gain) or (best.agreement.rate_misfit > 0.5 and 0.7 < gain < 1.4):
        return
    if not 0.8 < gain < 1.25:
        yield suspicious(
            'motion_scale',
            f'the IMU turns {gain:.3g} times as fast as the legs say',
            'the unit of the positions (see also velocities), the lead of the screws, or lengths in the machine file',
            gain=gain,
        )


def _in_stroke(wiring: Wiring, one: Judged) -> bool:
    """Whether an arrangement keeps the drives in their strokes (those of different legs may differ)."""
    assert wiring.motion is not None
    if one.arrangement.is_plain:
        return True
    few, _ = wiring.motion.some(200)
    return bool(inside(wiring.machine, few.arranged(wiring.machine, one.arrangement).value).all())


def free_mounting(evidence: ImuEvidence, prediction: SensorPrediction) -> Array | None:
    """Rotation (3, 3), measured = rotation @ the file's axes, that explains rates and specific force.

    Least squares over both (Wahba's problem, solved by singular values, Markley 1988), each scaled to the same power.

    Returns
    -------
    None if no rotation explains them, they do not determine one, or it is one by right angles
    """
    if not evidence.uses_force:
        return None
    rows, measured_rows = evidence.good[prediction.found], evidence.good & prediction.found
    force, rate = evidence.specific_force[measured_rows], evidence.angular_rate[measured_rows]
    felt, wanted = prediction.specific_force[rows], prediction.angular_rate[rows]
    rate, wanted = rate - rate.mean(axis=0), wanted - wanted.mean(axis=0)
    power = float(np.sum(rate**2))
    if len(rate) < 10 or min(power, float(np.sum(wanted**2))) <= 0.0:
        return None
    cross = rate.T @ wanted / (np.linalg.norm(rate) * np.linalg.norm(wanted))
    cross += force.T @ felt / (np.linalg.norm(force) * np.linalg.norm(felt))
    left, sizes, right = np.linalg.svd(cross)
    rotation: Array = left @ np.diag([1.0, 1.0, np.linalg.det(left @ right)]) @ right
    misfit = float(np.sum((rate - wanted @ rotation.T) ** 2)) / power
    error = float(np.sqrt(np.mean(np.sum((force - felt @ rotation.T) ** 2, axis=1))))
    if sizes[1] < _SECOND or misfit > _UNEXPLAINED or error > evidence.force_allowed:
        return None
    traces = np.array([np.trace(rotation.T @ axes) for axes in AXES if is_rotation(axes)])
    return rotation if np.arccos(np.clip(0.5 * (traces.max() - 1.0), -1.0, 1.0)) > _APART else None
