"""Run of a filter alone on a scenario: prediction and correction in turn, errors of all states against the truth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kinematics.rotation import matrix_from_quaternion, quaternion_from_matrix
from pkm_description.machine import Pose
from pkm_estimation.baseline import KinematicEstimator
from pkm_estimation.filtering.singular_reach import AssemblySide
from pkm_estimation.filters import CovarianceError, Innovation
from pkm_estimation.models import ATTITUDE, POSITION, STATE_SIZE, EstimatorGeometry
from pkm_estimation.models.extra_states import ImuFrame
from pkm_estimation.sensors import simulate_sensors
from pkm_estimation.stream import PlatformFilter

from verification.consistency.monte_carlo import followed
from verification.consistency.state_error import true_state
from verification.miletovic_2017.euler_truth import euler_truth
from verification.miletovic_2017.scenario import INTERVAL, Scenario, machine_named, profile_named

#: every so many samples the whole covariance is judged
NEES_EVERY = 50


@dataclass(frozen=True)
class FilterRun:
    """Results of a filter for each sample; states as in :mod:`pkm_estimation.models`, position in base axes.

    Attributes
    ----------
    time : (N,) s after the first sample
    error : (N, 15) estimate less truth; NaN after a loss
    std : (N, 15) standard deviations of the filter's own coordinates
    residual, residual_std : (N, L) m, innovations
    nis : (N,) normalised innovation squared; NaN without a measurement
    nees : (M,) normalised estimation error squared, 15 degrees of freedom
    outside : points with ``q.q > 1``
    lost : why the run ended early; empty if it did not
    least_eigenvalue : smallest eigenvalue of the correlation matrices, checked at intervals
    """

    time: Array
    error: Array
    std: Array
    residual: Array
    residual_std: Array
    nis: Array
    nees: Array
    outside: int
    lost: str
    least_eigenvalue: float

    def standardised(self, begin: float) -> Array:
        """Innovations over their standard deviations (M, L), from a time on."""
        ratio = (self.residual / self.residual_std)[self.time >= begin]
        return ratio[np.isfinite(ratio).all(axis=1)]


def pooled_rms(runs: list[FilterRun], begin: float) -> Array:
    """Root mean square (15,) of the errors from a time [s] on, over runs of one length."""
    result: Array = np.sqrt(np.mean([np.mean(run.error[run.time >= begin] ** 2, axis=0) for run in runs], axis=0))
    return result


def mean_nis(runs: list[FilterRun], begin: float) -> float:
    """Mean normalised innovation squared from a time on."""
    return float(np.mean([np.nanmean(run.nis[run.time >= begin]) for run in runs]))


def in_band(runs: list[FilterRun], begin: float) -> Array:
    """Share (L,) of the innovations within two standard deviations."""
    result: Array = np.mean([np.mean(np.abs(run.standardised(begin)) <= 2.0, axis=0) for run in runs], axis=0)
    return result


@dataclass(frozen=True)
class Signals:
    """What a filter gets, and the truth.

    Attributes
    ----------
    inputs : (N, 6) IMU samples, platform axes as the filter believes them
    positions : (N, L) m, of the drives
    states : (N, 15) truth
    """

    inputs: Array
    positions: Array
    states: Array


def signals_of(scenario: Scenario) -> Signals:
    """Simulate the sensors of a scenario."""
    evaluate, time = profile_named(scenario.machine, scenario.motion), scenario.time
    machine, believed = machine_named(scenario.machine), scenario.believed_machine
    data = simulate_sensors(machine, evaluate, time, scenario.conditions, scenario.seed)
    imu, own = np.hstack([data.specific_force, data.angular_rate]), machine.imu
    motion = evaluate(time)
    biases = ImuFrame(own).to_platform(np.concatenate([own.accelerometer_bias, own.gyroscope_bias]))
    if scenario.truth == 'exact':
        inputs = imu @ np.kron(np.eye(2), believed.imu.rotation_platform_imu).T
        states = true_state(motion, own.position, slice(None), biases, np.eye(3))
        drift = own.rotation_platform_imu @ np.array(scenario.conditions.gyroscope_drift)
        states[:, 12:] += np.outer(time - time[0], drift)
        return Signals(inputs, data.drive_positions, states)
    # the noise and biases of the simulated sensors, on the Euler recursion's own truth
    quiet = replace(scenario.conditions, noise=False, bias=False)
    ideal = simulate_sensors(machine, evaluate, time, quiet, scenario.seed)
    longer = evaluate(np.concatenate([time, time[-1] + INTERVAL * np.array([1.0, 2.0])]))
    truth = euler_truth(longer, believed.gravity, believed.imu.position)
    exact = np.hstack([ideal.specific_force, ideal.angular_rate])
    inputs = np.hstack([truth.specific_force, truth.angular_rate]) + imu - exact
    constant = np.tile(biases, (len(motion), 1))
    return Signals(inputs, data.drive_positions, np.hstack([truth.position, truth.velocity, truth.attitude, constant]))


def make_filter(scenario: Scenario) -> PlatformFilter:
    """Filter of a scenario's settings for the machine that it believes in."""
    machine = scenario.believed_machine
    noise = np.diag(machine.leg_sensors.position_noise**2)
    return PlatformFilter(
        EstimatorGeometry.from_machine(machine), ImuFrame(machine.imu).noise_covariance, noise, scenario.config
    )


def started(scenario: Scenario) -> tuple[PlatformFilter, Signals]:
    """Filter that the scenario's signals have started, and those."""
    signals, filter_ = signals_of(scenario), make_filter(scenario)
    start(scenario, filter_, signals)
    return filter_, signals


def stepped(filter_: PlatformFilter, signals: Signals, count: int | None = None) -> Iterator[int]:
    """Take one sample after the other, up to ``count``; yields their rows."""
    return (k for k, _ in followed(filter_, signals.inputs, signals.positions[:count]))


def start(scenario: Scenario, filter_: PlatformFilter, signals: Signals) -> None:
    """Start the filter as the scenario says."""
    random = np.random.default_rng([scenario.seed, 99])
    if scenario.start in ('printed', 'printed_drawn'):
        filter_.start_as_printed()
        if scenario.start == 'printed_drawn':
            factor = np.linalg.cholesky(filter_.ukf.covariance)
            filter_.ukf.state = filter_.ukf.state + factor @ random.normal(size=len(filter_.ukf.state))
        return
    machine = scenario.believed_machine
    pose: Pose = KinematicEstimator(machine, np.eye(machine.leg_count)).pose(signals.positions[0])[0]
    filter_.start_at(pose)
    if scenario.start == 'pose_known':
        errors = random.normal(size=STATE_SIZE) * np.sqrt(filter_.ukf.covariance.diagonal()[:STATE_SIZE])
        filter_.ukf.state[3:6] = signals.states[0, 3:6] + errors[3:6]
        filter_.ukf.state[9:15] = signals.states[0, 9:15] + errors[9:15]


def first_update(scenario: Scenario, filter_: PlatformFilter, signals: Signals) -> Innovation:
    """First correction after a start far off: printed filters as printed, the default one as its pipeline does it."""
    if scenario.config.filter != 'manifold':
        return filter_.update(signals.positions[0])
    side = AssemblySide(scenario.believed_machine)
    innovation = filter_.first_update(signals.positions[0], side.is_home_mode)
    if innovation is None:
        raise CovarianceError('no pose on the home assembly mode explains the positions')
    return innovation


def run_filter(scenario: Scenario) -> FilterRun:
    """Run a scenario; a filter that diverges may overflow on its way to being lost."""
    with np.errstate(over='ignore', invalid='ignore'):
        return _run(scenario)


def _run(scenario: Scenario) -> FilterRun:
    signals = signals_of(scenario)
    filter_ = make_filter(scenario)
    count, legs = signals.positions.shape
    error = np.full((count, STATE_SIZE), np.nan)
    std = np.full((count, STATE_SIZE), np.nan)
    residual, residual_std = np.full((2, count, legs), np.nan)
    nis = np.full(count, np.nan)
    nees, lost, least = [], '', np.inf
    try:
        start(scenario, filter_, signals)
        for k in range(count):
            if k:
                filter_.predict(signals.inputs[k - 1], signals.inputs[k], INTERVAL)
            if k or scenario.start not in ('forward_kinematics', 'pose_known'):
                innovation = filter_.update(signals.positions[k]) if k else first_update(scenario, filter_, signals)
                residual[k], nis[k] = innovation.residual, innovation.nis
                residual_std[k] = innovation.std
            if not np.isfinite(filter_.ukf.covariance).all():
                raise CovarianceError('covariance is not finite')
            error[k] = filter_.state[:STATE_SIZE] - signals.states[k]
            std[k] = np.sqrt(filter_.ukf.covariance.diagonal()[:STATE_SIZE])
            if k % NEES_EVERY == NEES_EVERY - 1:
                nees.append(nees_of(filter_, signals.states[k]))
                least = min(least, least_eigenvalue(filter_))
    except CovarianceError as trouble:
        lost = str(trouble)
    return FilterRun(
        scenario.time - scenario.time[0],
        error, std, residual, residual_std, nis, np.array(nees),
        filter_.outside_unit_sphere, lost, least,
    )  # fmt: skip


def least_eigenvalue(filter_: PlatformFilter) -> float:
    """Smallest eigenvalue of the correlation matrix: how far the covariance is from losing a rank."""
    std = np.sqrt(filter_.ukf.covariance.diagonal())
    return float(np.linalg.eigvalsh(filter_.ukf.covariance / np.outer(std, std))[0])


def nees_of(filter_: PlatformFilter, truth: Array) -> float:
    """Normalised estimation error squared in the filter's own coordinates for a true state (15,)."""
    state, chart = filter_.ukf.state, filter_.chart
    error = state[:STATE_SIZE] - truth
    error[POSITION] = state[POSITION] - chart.T @ truth[POSITION]
    scalar = np.sqrt(1.0 - truth[ATTITUDE] @ truth[ATTITUDE])
    true_rotation = matrix_from_quaternion(np.append(truth[ATTITUDE], scalar))
    error[ATTITUDE] = state[ATTITUDE] - quaternion_from_matrix(chart.T @ true_rotation)[:3]
    covariance = filter_.ukf.covariance[:STATE_SIZE, :STATE_SIZE]
    return float(error @ np.linalg.solve(covariance, error))
