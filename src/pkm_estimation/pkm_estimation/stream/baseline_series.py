"""The conventional baseline over a whole recording at once; same results as its stream sample by sample."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.machine import Machine

from pkm_estimation.baseline import BaselineEstimate
from pkm_estimation.config import EstimatorConfig
from pkm_estimation.stream.baseline import WITHOUT_POSE, kinematic_estimator
from pkm_estimation.stream.health import HealthMonitor
from pkm_estimation.stream.samples import NANOSECOND

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class BaselineSeries:
    """Estimates of M of N samples.

    Attributes
    ----------
    stamps : (M,) ns
    estimates : of the reference point; all arrays with a leading axis M
    """

    stamps: Integers
    estimates: BaselineEstimate


def baseline_series(
    machine: Machine,
    config: EstimatorConfig,
    epochs: Integers,
    stamps: Integers,
    positions: Array,
    health: HealthMonitor,
) -> BaselineSeries:
    """Estimate the same samples as a :class:`BaselineStream` that gets them one by one.

    Parameters
    ----------
    epochs, stamps : (N,), (N,) ns, instants in the order in which the stream would get them; a new epoch restarts the
        differentiator
    positions : (N, L) m, NaN where a leg is missing
    health : gets an event for each sample without a pose
    """
    complete = np.flatnonzero(np.isfinite(positions).all(axis=1))
    epochs, stamps, positions = epochs[complete], stamps[complete], positions[complete]
    intervals = np.diff(stamps, prepend=stamps[:1]) * NANOSECOND
    begins = np.diff(epochs, prepend=epochs[:1]) != 0
    begins |= intervals > config.maximum_leg_gap
    estimates, places, errors = kinematic_estimator(machine, config).series(positions, intervals, begins)
    for place, error in errors.items():
        health.event(int(stamps[place]), WITHOUT_POSE, str(error))
    point = np.array(config.reference_point)
    if point.any():
        estimates = estimates.at_point(point)
    return BaselineSeries(stamps[places], estimates)
