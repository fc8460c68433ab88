"""Sensors alone: the same problem without the geometry, their noise, and whether held-out data confirm what is found.

Constants and noise are those of the first two thirds of a recording of a motion. Whether they are worth anything the
last third says, which had no part in them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from math import log

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import PkmError
from pkm_description.machine import Machine, PlatformMotion, Tolerances
from scipy.spatial.transform import Rotation
from scipy.special import chdtri

from pkm_estimation.bags import RecordedData
from pkm_estimation.calibration.motion import Motion, between, fitted_until, of_motion
from pkm_estimation.calibration.problem import Solution, solve
from pkm_estimation.config import EstimatorConfig
from pkm_estimation.offline.estimate import AsToldPipeline, estimate_by, recorded
from pkm_estimation.sensors import measure
from pkm_estimation.tuning.noise import InnovationStatistics, innovations_of, noise_figures

#: a mean of squared innovations within this factor of its expectation is consistent, or it must be nearer than before
_CONSISTENT = 1.3
#: probability with which constants that are as the machine file says pass for such
_AS_STATED = 0.999
#: deviation after a motion over deviation before it: below the first a constant is seen, above the second it is not
SEEN, UNSEEN = 0.1, 0.5
#: times that constants are found with the noise that was found
_ROUNDS = 2
#: part of the positions that the gate may leave out more than before
_LEFT_OUT = 0.01


@dataclass(frozen=True)
class SensorsFound:
    """What a recording of a motion says of the sensors, and what speaks for it.

    Attributes
    ----------
    solution : constants of the sensors by the first two thirds
    machine, config : with what was found; as they were where nothing was
    found : in words
    before, after : innovations of the last third with what was known, and with what was found
    left_out : (2,) part of the positions of the drives in the last third that the gate leaves out, before and after
    reason : why it is not to be used, empty if it is
    """

    solution: Solution
    machine: Machine
    config: EstimatorConfig
    found: tuple[str, ...]
    before: InnovationStatistics
    after: InnovationStatistics
    left_out: tuple[float, float]
    reason: str

    @property
    def is_better(self) -> bool:
        """Whether it explains what had no part in it."""
        return not self.reason

    @property
    def verdict(self) -> str:
        """What was found, in a sentence without its full stop."""
        if self.reason:
            return f'no settings are written: {self.reason}'
        return (
            f'found what explains the last third of the recording better: {"; ".join(self.found)}. Innovations there '
            f'are {self.after.ratio:.3g} times as claimed (squares), {self.before.ratio:.3g} times before'
        )


def sensors_of_motion(
    machine: Machine,
    data: RecordedData,
    config: EstimatorConfig,
    zero_std: float,
    keep_r: bool = False,
    progress: Callable[[str], None] = lambda line: None,
) -> SensorsFound:
    """Find constants of the sensors and their noise, by a recording of a motion.

    Parameters
    ----------
    config : settings to begin with
    zero_std : standard deviation of the zeros of the drives [m, rad]
    keep_r : leave the noise of the legs as it is
    progress : called with a line for each step

    Raises
    ------
    TuningError
        The recording is too short.
    """
    until = fitted_until(data)
    first = between(data, 0, until)
    noise = config
    for _ in range(_ROUNDS):
        constants, scoring = of_motion(
            without_geometry(machine, zero_std), first, replace(noise, imu_delay=config.imu_delay)
        )
        solution = solve(constants, [Motion(constants, first, scoring)], progress=progress)
        off, known, tuned = _with_what_is_off(solution, machine, config)
        progress(f'not as stated: {", ".join(off) or "nothing"}')
        figures = noise_figures(known, first, tuned, keep_r, progress)
        noise = figures.config
        if not figures.found:  # constants were weighed by the noise that there is
            break
    found = *off, *figures.found
    before, out_before = _held_out(machine, config, data, until)
    after, out_after = _held_out(known, noise, data, until)
    reason = _reason(found, before, after, out_before, out_after)
    return SensorsFound(solution, known, noise, found, before, after, (out_before, out_after), reason)


def without_geometry(machine: Machine, zero_std: float) -> Machine:
    """Machine whose geometry is exact, but for the zeros of its drives."""
    return replace(machine, tolerances=Tolerances(0.0, zero_std))


def _with_what_is_off(
    solution: Solution, machine: Machine, config: EstimatorConfig
) -> tuple[tuple[str, ...], Machine, EstimatorConfig]:
    """What is not as stated, in words, and machine and settings with that; each kind is tested by itself.

    All else is as stated: what is off is then what the same innovations say under that condition.
    """
    constants, values = solution.constants, solution.values
    imu, stated, delay = constants.machine_at(values).imu, machine.imu, constants.delay_at(values)
    turned = Rotation.from_matrix(imu.rotation_platform_imu @ stated.rotation_platform_imu.T).as_rotvec()
    moved, zeros = imu.position - stated.position, (values * constants.std)[: len(constants.geometry.kind)]
    degrees, place = np.degrees(np.linalg.norm(turned)), 1e3 * np.linalg.norm(moved)
    farthest, other = 1e3 * np.abs(zeros).max(initial=0.0), 'of the IMU is not that of the machine file'
    kinds = {
        'delay': (np.array([delay - config.imu_delay]), f'the IMU is {1e3 * delay:.2f} ms late'),
        'mounting': (turned, f'the mounting {other}, turned by {degrees:.3g} degrees'),
        'place': (moved, f'the place {other}, by {place:.3g} mm'),
        'zero': (zeros, f'zeros of the drives are off, by {farthest:.3g} mm or mrad at most'),
    }
    for kind in ('accelerometer', 'gyroscope', 'gravity'):
        size = (values * constants.std)[constants.places(kind)]
        most = float(np.linalg.norm(size))
        told = f'{most:.3g} m/s^2' if kind == 'gravity' else f'{100.0 * most:.3g} % (scale or axes)'
        kinds[kind] = size, f'the {kind} is off by {told}'
    off, held, known = {}, np.zeros(len(values), dtype=bool), values.copy()
    for kind, (size, words) in kinds.items():
        rows = list(range(len(zeros))) if kind == 'zero' else constants.places(kind)
        if not rows:
            continue
        std = constants.std[rows]
        covariance = solution.covariance[np.ix_(rows, rows)] * np.outer(std, std)
        if size @ np.linalg.solve(covariance, size) > chdtri(len(rows), 1.0 - _AS_STATED):
            off[kind] = words
        else:
            held[rows], known[rows] = True, values[rows] - size / std
    if not off:
        return (), machine, config
    precision, free = np.linalg.inv(solution.covariance)[~held], ~held
    known[free] -= np.linalg.solve(precision[:, free], precision[:, held] @ (known - values)[held])
    found = constants.machine_at(known)
    if 'mounting' not in off:
        found = replace(found, imu=replace(found.imu, rotation_platform_imu=stated.rotation_platform_imu))
    if 'delay' in off:
        config = replace(config, imu_delay=round(constants.delay_at(known), 6))
    return tuple(off.values()), replace(found, tolerances=machine.tolerances), config


def _held_out(
    machine: Machine, config: EstimatorConfig, data: RecordedData, until: int
) -> tuple[InnovationStatistics, float]:
    """Innovations of a whole run after a stamp, and the part of the drives' positions that its gate leaves out."""
    statistics = innovations_of(machine, data, config, until)
    try:
        result = estimate_by(AsToldPipeline(machine, replace(config, baseline=False, history=0.0)), data)
    except PkmError:
        return statistics, 1.0
    late = result.motion.stamps >= until
    missing = np.isnan(result.innovation[late]) & np.isfinite(result.drive_positions[late])
    return statistics, float(missing.mean()) if late.any() else 1.0


def _reason(
    found: Collection[str],
    before: InnovationStatistics,
    after: InnovationStatistics,
    out_before: float,
    out_after: float,
) -> str:
    """Why settings are not to be used; empty if they are."""
    if not found:
        return 'no constant of the sensors and no noise explains the recording better than what is stated'
    if not after.objective < before.objective:
        return (
            'the last third of the recording, which had no part in the choice, is less likely with these settings '
            f'(-2 log-likelihood per innovation {after.objective:.4g}, before {before.objective:.4g})'
        )
    off = abs(log(after.ratio))
    if off > log(_CONSISTENT) and not off < abs(log(before.ratio)):
        return (
            f'innovations of the last third are {after.ratio:.3g} times as large (squares) as these settings expect, '
            f'before {before.ratio:.3g} times'
        )
    if out_after > out_before + _LEFT_OUT:
        return (
            f'with these settings the gate would leave out {100.0 * out_after:.1f} % of the leg positions of the last '
            f'third, before {100.0 * out_before:.1f} %: an error is left that no constant of the sensors explains '
            '(calibrate finds the geometry)'
        )
    return ''


def foretold(machine: Machine, motion: PlatformMotion, config: EstimatorConfig, zero_std: float) -> Solution:
    """What a motion would tell of the constants of the sensors: as those of a simulated recording of it."""
    data = recorded(machine, measure(machine, motion))
    constants, scoring = of_motion(without_geometry(machine, zero_std), data, replace(config, imu_delay=0.0))
    nothing = np.zeros(len(constants))
    seen = Motion(constants, data, scoring).score(nothing)
    covariance: Array = np.linalg.inv(seen.information + constants.precision).astype(float)
    return Solution(constants, nothing, covariance, 0, True, float(seen.squares[0]), float(seen.squares[1]))


def observability_report(solution: Solution) -> list[str]:
    """Each constant before and after a motion, and the combinations that stay unknown."""
    constants, std = solution.constants, solution.std
    lines = [f'{"constant":36s} {"before":>9s} {"after":>9s}']
    for name, unit, before, after in zip(constants.names, constants.units, constants.std, std, strict=True):
        ratio = after / before
        told = 'seen' if ratio < SEEN else 'NOT SEEN' if ratio > UNSEEN else 'weakly seen'
        lines.append(f'{name:36s} {before:9.2g} {after:9.2g} {unit:5s} {told}')
    missing = solution.not_determined()
    lines.append('(with noise as in the machine file; joint centres taken as exact)')
    if not missing:
        return [*lines, 'every combination of these constants is seen']
    return [*lines, f'not seen ({len(missing)} of {len(std)} directions):', *(f'  {told}' for told in missing)]


def sensors_report(found: SensorsFound) -> list[str]:
    """Report as lines of text."""
    lines = ['sensors by the innovations of the first two thirds']
    lines += [f'  found: {words}' for words in found.found] or ['  found: nothing']
    lines.append('innovations of the last third, which had no part in the choice')
    for name, one, out in zip(('before', 'after'), (found.before, found.after), found.left_out, strict=True):
        lines.append(
            f'{name:7s} {100.0 * one.in_band:5.1f} % within two standard deviations (95.4 % if consistent), '
            f'squares {one.ratio:.3g} times their expectation, -2 log-likelihood {one.objective:.4g}; '
            f'the gate leaves out {100.0 * out:.1f} %'
        )
    return [*lines, f'no settings are written: {found.reason}'] if found.reason else lines
