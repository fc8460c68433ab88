"""Estimates sample by sample: are they those of the batch, and their covariances what they claim."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kinematics import drive_positions
from pkm_description.loading import load_machine
from pkm_description.machine import Machine
from pkm_description.motion.profiles import profile
from pkm_identification.estimator.least_squares import weighted
from pkm_identification.online.estimators import (
    ExtendedParameterFilter,
    RecursiveLeastSquares,
    UnscentedParameterFilter,
)
from pkm_identification.online.identifier import OnlineIdentifier
from pkm_identification.online.observation import OnlineObservation
from pkm_identification.online.settings import OnlineSettings
from pkm_identification.online.sliding_polynomial import SlidingPolynomial
from scipy.stats import chi2

from verification.check import Check, at_most, within

#: Hz
RATE = 100.0
#: white noise of efforts, of their typical size, and of positions, of their range
EFFORT_NOISE, POSITION_NOISE = 0.003, 2e-6
#: ns, of the first sample
BEGIN = 10**9


@dataclass(frozen=True)
class OwnData:
    """What the node would get, and the truth.

    Attributes
    ----------
    time : (N,) s
    positions, efforts : (N, A) measured
    parameters : (N, B) true base parameters
    matrices : (N, A, B) of the true motion
    file_forces : (N, A) of the machine as its file has it, along the true motion
    effort_noise : (A,) standard deviation
    """

    time: Array
    positions: Array
    efforts: Array
    parameters: Array
    matrices: Array
    file_forces: Array
    effort_noise: Array

    @property
    def stamps(self) -> list[int]:
        """Times in ns."""
        return [BEGIN + round(time * 1e9) for time in self.time.tolist()]


def own_data(observation: OnlineObservation, seed: int, duration: float, settings: OnlineSettings) -> OwnData:
    """Draw parameters from the prior of the settings, let friction and offsets walk as stated, add white noise.

    Nothing else is wrong: motion, friction laws and all that has no column are as the machine file says.
    """
    machine, random = observation.machine, np.random.default_rng(seed)
    kind = 'fourier' if machine.degrees_of_freedom == 6 else 'drives'
    motion = profile(kind, machine, duration, RATE, seed)
    positions = drive_positions(machine, motion)
    regressor, held = observation.model.regressor(motion)
    matrix = observation.base.columns(regressor)
    nominal = regressor @ observation.model.parameters(machine) + held
    count = len(observation.base)
    steps = random.normal(size=(len(motion), count)) * observation.walk(settings) / np.sqrt(RATE)
    steps[0] = settings.prior * observation.scale * random.normal(size=count)
    changes = np.cumsum(steps, axis=0)
    efforts = nominal + np.einsum('nab,nb->na', matrix, changes)
    noise = EFFORT_NOISE * observation.typical_force
    efforts += noise * random.normal(size=efforts.shape)
    positions = positions + POSITION_NOISE * np.ptp(positions) * random.normal(size=positions.shape)
    return OwnData(motion.time, positions, efforts, observation.nominal + changes, matrix, nominal, noise)


def online_rows(machine: Machine, data: OwnData) -> tuple[Array, Array, Array]:
    """Matrices (M, A, B), forces (M, A) beyond the file's, and which are used (M, A), as the node makes them."""
    settings, observation = OnlineSettings(), OnlineObservation(machine)
    window = SlidingPolynomial(machine.actuated_count, settings.window, settings.degree)
    matrices, forces, used = [], [], []
    for stamp, position, effort in zip(data.stamps, data.positions, data.efforts, strict=True):
        sample = window.add(stamp, position, effort)
        if sample is None:
            continue
        rows = observation.rows(sample)
        matrices.append(rows.matrix)
        forces.append(sample.efforts - rows.forces)
        used.append(sample.slowest)
    speeds = np.array(used)
    return np.array(matrices), np.array(forces), speeds > settings.slow * speeds.max(axis=0)


#: largest difference of recursive least squares from the batch, of each value; of filters, in their deviations
BATCH, SIGMAS = 1e-8, 1.0
#: what filters believe before, in units of the node's prior: almost nothing
WIDE = 1e3
#: s, of the recordings of the batch, of the estimators, and of the node, which must learn the noise, too
BATCH_DURATION, DURATION, NODE_DURATION = 20.0, 10.0, 30.0
#: two-sided
LEVEL = 0.95

Estimator = ExtendedParameterFilter | RecursiveLeastSquares | UnscentedParameterFilter


def _estimators(std: Array) -> dict[str, Callable[[], Estimator]]:
    """Estimators by name, with a prior of mean 0 and standard deviations (B,)."""
    none, count = np.zeros(len(std)), len(std)
    return {
        'RLS': lambda: RecursiveLeastSquares(count, prior=(none, std)),
        'EKF': lambda: ExtendedParameterFilter(none, std),
        'UKF': lambda: UnscentedParameterFilter(none, std),
    }


def _run(estimator: Estimator, matrices: Array, forces: Array, variances: Array) -> Estimator:
    for matrix, force, variance in zip(matrices, forces, variances, strict=True):
        estimator.update(matrix, force, variance)
    return estimator


def batch_checks(source: str, seed: int, duration: float = BATCH_DURATION) -> Iterator[Check]:
    """The node's rows, and which of them it uses, once through the offline least squares and once sample by sample."""
    machine = load_machine(source)
    identifier = OnlineIdentifier(machine)
    data = own_data(identifier.observation, seed, duration, identifier.settings)
    matrices, forces, used = online_rows(machine, data)
    noise = weighted(matrices, forces, used.astype(float)).force_std
    batch = weighted(matrices, forces, used.astype(float), force_std=noise)
    variances = np.where(used, noise**2, np.inf)
    own = _run(RecursiveLeastSquares(len(batch.parameters)), matrices, forces, variances)
    what = f'base parameters ({len(batch.parameters)}) by recursive least squares, against the batch: largest of all'
    yield at_most('online-batch-RLS', what, BATCH, own.parameters / batch.parameters - 1.0)
    wide = _estimators(WIDE * identifier.settings.prior * identifier.observation.scale)
    for name in ('EKF', 'UKF'):
        found = _run(wide[name](), matrices, forces, variances)
        off = (found.parameters - batch.parameters) / found.std
        yield at_most(f'online-batch-{name}', f'{name} against the batch, in its standard deviations', SIGMAS, off)


def normalised_error(error: Array, covariance: Array) -> float:
    """Square of an error (B,) in units of its covariance (B, B)."""
    size = np.sqrt(np.diag(covariance))
    return float(error / size @ np.linalg.solve(covariance / np.outer(size, size), error / size))


def _estimator_error(name: str, identifier: OnlineIdentifier, data: OwnData) -> float:
    observation = identifier.observation
    std = identifier.settings.prior * observation.scale
    variances = np.broadcast_to(data.effort_noise**2, data.efforts.shape)
    found = _run(_estimators(std)[name](), data.matrices, data.efforts - data.file_forces, variances)
    return normalised_error(found.parameters + observation.nominal - data.parameters[-1], found.covariance)


def _node_error(identifier: OnlineIdentifier, data: OwnData) -> float:
    identifier.reset()
    last = None
    for stamp, position, effort in zip(data.stamps, data.positions, data.efforts, strict=True):
        last = identifier.add(stamp, position, effort) or last
    assert last is not None
    truth = data.parameters[int(np.searchsorted(data.stamps, last.stamp))]
    return normalised_error(identifier.parameters - truth, identifier.covariance)


def consistency_checks(source: str, seeds: range) -> Iterator[Check]:
    """Errors in units of the stated covariance, over seeds; truths are drawn from what is believed before."""
    machine = load_machine(source)
    still = OnlineIdentifier(machine, OnlineSettings(friction_drift=0.0, offset_drift=0.0))
    count = len(still.observation.base)
    tail = 0.5 * (1.0 - LEVEL)
    lower, upper = (float(chi2.ppf(part, len(seeds) * count)) / len(seeds) for part in (tail, 1.0 - tail))
    told = f'{source}: mean NEES of {count} base parameters over {len(seeds)} seeds'
    errors: dict[str, list[float]] = {}
    for seed in seeds:
        data = own_data(still.observation, seed, DURATION, still.settings)
        for name in ('RLS', 'EKF', 'UKF'):
            errors.setdefault(name, []).append(_estimator_error(name, still, data))
    for name, values in errors.items():
        what = f'{told}: {name}, noise and motion known'
        yield within(f'online-nees-{name}', what, lower, upper, float(np.mean(values)))
    node = OnlineIdentifier(machine)
    values = [_node_error(node, own_data(node.observation, seed, NODE_DURATION, node.settings)) for seed in seeds]
    mean, single = float(np.mean(values)), float(chi2.ppf(LEVEL, count))
    outside = 100.0 * float(np.mean(np.array(values) > single))
    note = f'{outside:.2g} % of seeds above {single:.3g}'
    yield within('online-nees-node', f'{told}: the node, which learns the noise', lower, upper, mean, note=note)
