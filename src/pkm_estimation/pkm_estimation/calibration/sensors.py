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
from scipy.stats import chi2

from pkm_estimation.bags import RecordedData
from pkm_estimation.calibration.constants import APPLIED, Constants
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
        solution, off = _solved(constants, machine, config, first, scoring, progress)
        known, tuned = machine, config
        if off:
            some = _only(constants, off, machine, config)
            solution, off = _solved(some, machine, config, first, scoring, progress)
            known = replace(some.machine_at(solution.values), tolerances=machine.tolerances)
            tuned = replace(config, imu_delay=round(some.delay_at(solution.values), 6))
        figures = noise_figures(known, first, tuned, keep_r, progress)
        noise = figures.config
        if not figures.found:  # constants were weighed by the noise that there is
            break
    found = *off.values(), *figures.found
    before, out_before = _held_out(machine, config, data, until)
    after, out_after = _held_out(known, noise, data, until)
    reason = _reason(found, before, after, out_before, out_after)
    return SensorsFound(solution, known, noise, found, before, after, (out_before, out_after), reason)


def without_geometry(machine: Machine, zero_std: float) -> Machine:
    """Machine whose geometry is exact, but for the zeros of its drives."""
    return replace(machine, tolerances=Tolerances(0.0, zero_std))


def _solved(
    constants: Constants, machine: Machine, config: EstimatorConfig, data: RecordedData, scoring: EstimatorConfig,
    progress: Callable[[str], None],
) -> tuple[Solution, dict[str, str]]:  # fmt: skip
    """Constants, and those that are not as stated."""
    solution = solve(constants, [Motion(constants, data, scoring)], progress=progress)
    off = _off(solution, machine, config)
    progress(f'not as stated: {", ".join(off.values()) or "nothing"}')
    return solution, off


def _off(solution: Solution, machine: Machine, config: EstimatorConfig) -> dict[str, str]:
    """Constants that are not as stated, by kind, in words; each kind is tested by itself."""
    constants, values = solution.constants, solution.values
    found = constants.machine_at(values)
    turned = Rotation.from_matrix(found.imu.rotation_platform_imu @ machine.imu.rotation_platform_imu.T)
    sizes = {
        'delay': np.array([constants.delay_at(values) - config.imu_delay]),
        'mounting': turned.as_rotvec(),
        'place': found.imu.position - machine.imu.position,
        'zero': (values * constants.std)[: len(constants.geometry.kind)],
    }
    places = {kind: constants.places(kind) for kind in sizes} | {'zero': list(range(len(constants.geometry.kind)))}
    told = {}
    for kind, size in sizes.items():
        rows = places[kind]
        if not rows:
            continue
        std = constants.std[rows]
        covariance = solution.covariance[np.ix_(rows, rows)] * np.outer(std, std)
        if size @ np.linalg.solve(covariance, size) > chi2.ppf(_AS_STATED, len(rows)):
            told[kind] = _in_words(kind, size, constants.delay_at(values))
    return told


def _in_words(kind: str, size: Array, delay: float) -> str:
    most = float(np.linalg.norm(size))
    if kind == 'delay':
        return f'the IMU is {1e3 * delay:.2f} ms late'
    if kind == 'mounting':
        return f'the mounting of the IMU is not that of the machine file, turned by {np.degrees(most):.3g} degrees'
    if kind == 'place':
        return f'the place of the IMU is not that of the machine file, by {1e3 * most:.3g} mm'
    return f'zeros of the drives are off, by {1e3 * float(np.abs(size).max()):.3g} mm or mrad at most'


def _only(constants: Constants, off: Collection[str], machine: Machine, config: EstimatorConfig) -> Constants:
    """The problem with what is off, and what is not stated anywhere; all else is as stated."""
    imu = constants.machine.imu
    if 'mounting' not in off:
        imu = replace(imu, rotation_platform_imu=machine.imu.rotation_platform_imu)
    if 'place' not in off:
        imu = replace(imu, position=machine.imu.position)
    tolerances = constants.machine.tolerances
    if 'zero' not in off:
        tolerances = replace(tolerances, leg_zeros=0.0)
    kinds = tuple(one for one in constants.imu if one[0] in off or one[0] not in APPLIED)
    delay = constants.imu_delay if 'delay' in off else config.imu_delay
    return Constants(replace(constants.machine, imu=imu, tolerances=tolerances), kinds, delay)


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
    covariance: Array = np.linalg.inv(seen.information + np.eye(len(nothing))).astype(float)
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
