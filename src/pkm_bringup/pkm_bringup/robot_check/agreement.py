"""How well predicted and measured IMU signals agree, over all ways in which the IMU's axes may point."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import permutations, product

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.errors import KinematicsError
from pkm_description.kinematics import forward_kinematics, measured_tolerance
from pkm_description.kinematics.drive_map import motion_of_configurations
from pkm_description.machine import Machine, PlatformMotion
from pkm_estimation.sensors.conditions import imu_truth
from scipy.signal import savgol_coeffs, savgol_filter

#: (48, 3, 3): measured axes = matrix @ the file's axes; the identity first, then proper rotations, then mirrored
AXES: Array = np.array(
    sorted(
        (
            np.diag(signs)[:, list(order)]
            for order in permutations(range(3))
            for signs in product((1.0, -1.0), repeat=3)
        ),
        key=lambda matrix: (-round(np.linalg.det(matrix)), -np.trace(matrix)),
    )
)


def is_rotation(matrix: Array) -> bool:
    """Whether a matrix is a rotation and not a mirror image."""
    return bool(np.linalg.det(matrix) > 0.0)


def axes_text(matrix: Array) -> str:
    """Words for measured axes by those of the machine file, e.g. ``x = -y, y = x, z = z``."""
    terms = []
    for name, row in zip('xyz', matrix, strict=True):
        axis = int(np.argmax(np.abs(row)))
        terms.append(f'{name} = {"-" if row[axis] < 0.0 else ""}{"xyz"[axis]}')
    return ', '.join(terms)


#: s between two instants of the grid, and instants of a smoothing polynomial (third degree)
INTERVAL, POINTS = 0.02, 7
#: s without a sample after which the grid has a hole
_HOLE = 0.12
#: a wiring with other axes must explain so much more (as part of the signal's power) than the machine file's
_CLEAR = 0.05


@dataclass(frozen=True)
class ImuEvidence:
    """IMU signals on the grid, with the units already mended.

    Attributes
    ----------
    specific_force, angular_rate : (N, 3) m/s^2, rad/s
    good : (N,)
    rate_noise : (3,) rad/s, what noise leaves in ``angular_rate``
    force_allowed : m/s^2, how far the specific force may be off by bias
    uses_force : False where gravity is not in it, so that it cannot be compared
    """

    specific_force: Array
    angular_rate: Array
    good: NDArray[np.bool_]
    rate_noise: Array
    force_allowed: float
    uses_force: bool = True

    def rows(self, rows: NDArray[np.intp]) -> ImuEvidence:
        """Evidence at some of its instants."""
        force, rate = self.specific_force[rows], self.angular_rate[rows]
        return replace(self, specific_force=force, angular_rate=rate, good=self.good[rows])


@dataclass(frozen=True)
class Agreement:
    """How well one hypothesis about the drives explains the IMU.

    Attributes
    ----------
    rate_misfit : part of the angular rate's power (about its mean) that is not explained; above 1 where the prediction
        is worse than none; NaN where neither turns
    force_misfit : root mean square of the specific force's error by what is allowed; NaN without it
    force_error : m/s^2, that root mean square
    gyroscope, accelerometer : (3, 3) axes that explain most
    gain : factor by which the measured rate is larger than the predicted one, on those axes
    """

    rate_misfit: float
    force_misfit: float
    force_error: float
    gyroscope: Array
    accelerometer: Array
    gain: float

    @property
    def axes_cost(self) -> float:
        """How unusual the axes are: 0 as in the file, 1 for one mistake, 2 for two."""
        own = np.array_equal(self.gyroscope, AXES[0]), np.array_equal(self.accelerometer, AXES[0])
        alike = np.array_equal(self.gyroscope, self.accelerometer)
        if all(own):
            return 0.0
        if alike and is_rotation(self.gyroscope):
            return 1.0  # turned
        opposite = np.array_equal(self.gyroscope, -self.accelerometer)
        if opposite and any(own):
            return 1.0  # one sensor's sign
        # a mirrored frame is rarer than legs that are numbered the other way round, which looks the same
        return 1.5 if any(own) or alike or opposite else 2.0


def agreement(evidence: ImuEvidence, prediction: SensorPrediction, turns: bool) -> Agreement:
    """Compare a prediction with the IMU, each sensor on the axes that suit it best.

    The machine file's axes stay unless others are clearly better.

    Parameters
    ----------
    turns : whether the angular rate is large enough to be compared
    """
    rows = evidence.good[prediction.found]
    measured_rows = evidence.good & prediction.found
    rate = evidence.angular_rate[measured_rows]
    misfit, gain, gyroscope = float('nan'), float('nan'), AXES[0]
    errors = _force_errors(evidence, prediction) if evidence.uses_force and rows.any() else None
    if turns and len(rate) > 3:
        rate = rate - rate.mean(axis=0)
        wanted = prediction.angular_rate[rows]
        wanted = wanted - wanted.mean(axis=0)
        power, cross = float(np.sum(rate**2)), rate.T @ wanted
        fits = (power - 2.0 * np.einsum('kij,ij->k', AXES, cross) + float(np.sum(wanted**2))) / max(power, 1e-12)
        best = _mounted(fits, errors, evidence.force_allowed)
        gyroscope, misfit = AXES[best], float(fits[best])
        gain = float(np.sum(gyroscope * cross) / max(np.sum(wanted**2), 1e-12))
    error, accelerometer = float('nan'), AXES[0]
    if errors is not None:
        # the gyroscope tells more: what it says is taken if the accelerometer can live with it
        alike = np.flatnonzero(np.abs(np.einsum('kij,ij->k', AXES, gyroscope)) == 3.0).tolist()
        able = [k for k in alike if errors[k] <= max(evidence.force_allowed, 1.2 * errors.min())]
        best = min(able, key=lambda k: errors[k]) if turns and able else _chosen(errors, 0.5 * evidence.force_allowed)
        accelerometer, error = AXES[best], float(errors[best])
    return Agreement(misfit, error / evidence.force_allowed, error, gyroscope, accelerometer, gain)


def _force_errors(evidence: ImuEvidence, prediction: SensorPrediction) -> Array:
    """Root mean square (48,) m/s^2 of the specific force's error on each of the axes."""
    force = evidence.specific_force[evidence.good & prediction.found]
    felt = prediction.specific_force[evidence.good[prediction.found]]
    squares = np.sum(force**2) + np.sum(felt**2) - 2.0 * np.einsum('kij,ij->k', AXES, force.T @ felt)
    return np.asarray(np.sqrt(np.maximum(squares, 0.0) / len(force)))


def _mounted(misfits: Array, errors: Array | None, allowed: float) -> int:
    """Axes that explain the rates: the file's, else of those that do so alike a rotation that suits gravity, too."""
    usual = _chosen(misfits, _CLEAR)
    if usual == 0 or errors is None:
        return usual
    able = [k for k in np.flatnonzero(misfits <= misfits.min() + _CLEAR).tolist() if errors[k] <= allowed]
    return min(able, key=lambda k: (not is_rotation(AXES[k]), errors[k])) if able else usual


def _chosen(misfits: Array, clear: float) -> int:
    """First of the best: the file's axes if they are nearly as good, then proper rotations before mirrored ones."""
    return int(np.argmax(misfits <= misfits.min() + clear))


@dataclass(frozen=True)
class SensorPrediction:
    """Platform and IMU by forward kinematics.

    Attributes
    ----------
    found : (N,) samples whose pose can be trusted
    motion : of those K samples
    specific_force, angular_rate : (K, 3) in the axes that the machine file gives to the IMU; of machines without an
        IMU in those of the platform, at its origin
    """

    found: NDArray[np.bool_]
    motion: PlatformMotion
    specific_force: Array
    angular_rate: Array


def predict(
    machine: Machine, time: Array, positions: Array, rates: Array, accelerations: Array
) -> SensorPrediction | None:
    """Predict from drives (N, A) m or rad and their derivatives; None if no sample has a pose.

    Raises
    ------
    KinematicsError
        The drives of this machine do not determine its pose at all.
    """
    result = forward_kinematics(machine, positions, tolerance=measured_tolerance(machine))
    found = result.trusted
    if not found.any():
        return None
    try:
        motion = motion_of_configurations(
            machine, time[found], result.rows(np.flatnonzero(found)), rates[found], accelerations[found]
        )
    except KinematicsError:
        return None
    lever, turn = (
        (machine.imu.position, machine.imu.rotation_platform_imu) if machine.has_imu else (np.zeros(3), np.eye(3))
    )
    return SensorPrediction(found, motion, *imu_truth(motion, machine.gravity, lever, turn))


@dataclass(frozen=True)
class Smoothed:
    """A stream on the grid.

    Attributes
    ----------
    value, rate, acceleration : (N, C), smoothed, and its first and second derivative
    good : (N,) False near holes and ends
    noise, rate_noise : (C,) standard deviations that white noise of the samples leaves in values and rates
    """

    value: Array
    rate: Array
    acceleration: Array
    good: NDArray[np.bool_]
    noise: Array
    rate_noise: Array


def grid_of(*times: Array) -> Array:
    """Grid (N,) s over the time that all streams have in common; empty if there is none."""
    begin, end = max(time[0] for time in times), min(time[-1] for time in times)
    return np.asarray(begin + INTERVAL * np.arange(max(0, int((end - begin) / INTERVAL))))


def smoothed(time: Array, values: Array, grid: Array) -> Smoothed:
    """Average samples around each instant of the grid, then fit polynomials; nothing lags.

    Parameters
    ----------
    time : (K,) s, increasing
    values : (K, C); rows that are not finite do not count
    grid : (N,) s, equidistant
    """
    finite = np.isfinite(values).all(axis=1)
    time, values = time[finite], values[finite]
    count = len(grid)
    place = np.rint((time - grid[0]) / INTERVAL).astype(int)
    inside = (place >= 0) & (place < count)
    _, place = np.unique(place[inside], return_inverse=True)
    number = np.bincount(place)
    at = np.bincount(place, time[inside]) / number
    means = np.column_stack([np.bincount(place, column) / number for column in values[inside].T])
    even = np.column_stack([np.interp(grid, at, column) for column in means.T])
    nearest = np.abs(grid[:, None] - at[np.clip(np.searchsorted(at, grid)[:, None] + [-1, 0], 0, len(at) - 1)]).min(1)
    hole = nearest > 0.5 * _HOLE
    good = np.convolve(hole, np.ones(POINTS), 'same') == 0
    good[: POINTS // 2] = good[count - POINTS // 2 :] = False
    parts = [savgol_filter(even, POINTS, 3, deriv=order, delta=INTERVAL, axis=0) for order in range(3)]
    # third differences of smooth signals vanish; of white noise they have a variance of 20
    white = np.median(np.abs(np.diff(even, n=3, axis=0)), axis=0) / 0.6745 / np.sqrt(20.0)
    # what the polynomials leave of the deviation of white noise, in values and rates
    gain = [float(np.linalg.norm(savgol_coeffs(POINTS, 3, deriv=order, delta=INTERVAL))) for order in (0, 1)]
    return Smoothed(parts[0], parts[1], parts[2], good, gain[0] * white, gain[1] * white)
