"""Limits of a run, each with its result: estimation, identification, payload."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.bounded_yaml import bounded_file
from pkm_description.machine import Machine, RigidBody
from pkm_description.report.words import JudgedFigure, figure_text, keeps_limit, limit_text, verdict
from pkm_estimation.bags import Imu, Odometry
from pkm_estimation.offline.metrics import attitude_error

from pkm_bringup.demo.system import DemoError

#: part of the platform's mass, and place in radii of the platform
LOAD, PLACE = 0.1, (0.1, -0.06, 0.12)
#: file that the service ``online_identification/save`` writes
FILE = 'online_parameters.yaml'
#: s of motion after the drop below which the limits are not judged
SHORTEST_JUDGED = 9.0
Stamps = NDArray[np.int64]
#: words of the demo's table and of ``verdict.json``
_WORDS = {'met': 'ok', 'failed': 'FAILED', 'not reachable': 'not judged'}

_DIGITS = 3


@dataclass(frozen=True)
class Criterion(JudgedFigure):
    """A judged figure with its numbers, for ``verdict.json``; made by :func:`criterion`.

    Attributes
    ----------
    value : figure in SI units
    limit : what it must not exceed, or must reach
    baseline : the same figure of the conventional estimator, for comparison
    measured_baseline : the same as text
    excuse : why the limit cannot be judged in this run (a shortened one); empty if it can
    """

    value: float
    limit: float
    baseline: float | None
    measured_baseline: str
    excuse: str

    @property
    def verdict(self) -> str:
        """One word for the table."""
        return _WORDS[self.status]


def criterion(
    what: str,
    value: float,
    limit: float,
    unit: str = '',
    scale: float = 1.0,
    at_least: bool = False,
    baseline: float | None = None,
    excuse: str = '',
) -> Criterion:
    """Judge a figure by its limit.

    Parameters
    ----------
    what : what is measured
    value : figure; NaN counts as failed
    limit : what it must not exceed (or reach, if ``at_least``)
    unit, scale : shown as ``value * scale`` followed by ``unit``
    at_least : the figure must be as large as the limit
    baseline : the same figure of the conventional estimator, for comparison
    excuse : why the limit cannot be judged in this run (a shortened one); empty if it can
    """
    return Criterion(
        what=what,
        required=limit_text(limit * scale, unit, at_least, _DIGITS),
        measured=figure_text(value * scale, unit, _DIGITS),
        status='not reachable' if excuse else verdict(keeps_limit(value, limit, at_least)),
        value=value,
        limit=limit,
        baseline=baseline,
        measured_baseline='' if baseline is None else figure_text(baseline * scale, unit, _DIGITS),
        excuse=excuse,
    )


@dataclass(frozen=True)
class EstimationErrors:
    """Errors at N common stamps.

    Attributes
    ----------
    stamps : (N,) ns
    position : (N, 3) m, base axes
    velocity : (N, 3) m/s, platform axes
    angular_velocity : (N, 3) rad/s, platform axes
    attitude : (N, 3) vector part of the error quaternion (half the rotation angle, for small errors)
    """

    stamps: Stamps
    position: Array
    velocity: Array
    angular_velocity: Array
    attitude: Array

    def __len__(self) -> int:
        return len(self.stamps)

    def between(self, start: float, end: float) -> EstimationErrors:
        """Keep stamps from ``start`` to ``end`` s, both included."""
        keep = within(self.stamps, start, end)
        return EstimationErrors(**{name: getattr(self, name)[keep] for name in self.__dataclass_fields__})


def within(stamps: Stamps, start: float, end: float) -> NDArray[np.bool_]:
    """Mask of stamps [ns] from ``start`` to ``end`` s, both included."""
    return (stamps >= round(start * 1e9)) & (stamps <= round(end * 1e9))


def estimation_errors(truth: Odometry, estimate: Odometry) -> EstimationErrors:
    """Compare two odometry streams at the stamps that both have."""
    stamps, at_truth, at_estimate = np.intersect1d(truth.stamps, estimate.stamps, return_indices=True)
    return EstimationErrors(
        stamps,
        estimate.position[at_estimate] - truth.position[at_truth],
        estimate.linear_velocity[at_estimate] - truth.linear_velocity[at_truth],
        estimate.angular_velocity[at_estimate] - truth.angular_velocity[at_truth],
        attitude_error(truth.orientation[at_truth], estimate.orientation[at_estimate]),
    )


def estimated_biases(raw: Imu, corrected: Imu) -> tuple[Stamps, Array, Array]:
    """Biases that the estimator took off: stamps (N,) ns, (N, 3) m/s^2 and (N, 3) rad/s."""
    stamps, at_raw, at_corrected = np.intersect1d(raw.stamps, corrected.stamps, return_indices=True)
    return (
        stamps,
        raw.specific_force[at_raw] - corrected.specific_force[at_corrected],
        raw.angular_rate[at_raw] - corrected.angular_rate[at_corrected],
    )


def worst_axis_rms(errors: Array) -> float:
    """Root mean square per axis of (N, 3), the largest of the three; NaN without samples."""
    return float(np.sqrt(np.mean(errors**2, axis=0)).max()) if len(errors) else float('nan')


@dataclass(frozen=True)
class ParameterRow:
    """One identified parameter and its true value."""

    name: str
    value: float
    std: float
    true_value: float

    @property
    def standardised_error(self) -> float:
        """Error in standard deviations."""
        return abs(self.value - self.true_value) / self.std

    @property
    def relative_error(self) -> float:
        """Error as a part of the true value."""
        return float(np.divide(abs(self.value - self.true_value), abs(self.true_value)))


@dataclass(frozen=True)
class IdentificationFigures:
    """What the demo shows of an identification.

    Attributes
    ----------
    base : identifiable base parameters
    unidentified : names of base parameters that the data do not determine
    physical : bodies and friction of the machine file
    held_out_force_error : rms of the force error on the validation motion over the rms of the force
    report, overlay : files written
    """

    base: tuple[ParameterRow, ...]
    unidentified: tuple[str, ...]
    physical: tuple[ParameterRow, ...]
    held_out_force_error: float
    report: str = ''
    overlay: str = ''

    def physical_rows(self, ending: str) -> list[ParameterRow]:
        """Physical parameters whose name has that ending."""
        return [row for row in self.physical if row.name.endswith(ending)]


def judge_identification(figures: IdentificationFigures, excuse: str = '') -> list[Criterion]:
    """Judge base parameters in standard deviations, mass and friction in percent, forces on held-out data."""

    def worst(values: Sequence[float]) -> float:
        return float(np.max(values)) if len(values) else float('nan')

    mass = [row.relative_error for row in figures.physical_rows('platform_link.m')]
    friction = [
        row.relative_error
        for row in [*figures.physical_rows('.viscous'), *figures.physical_rows('.coulomb')]
        if row.true_value != 0.0
    ]
    name = f'base parameters ({len(figures.base)}), largest error'
    return [
        criterion(name, worst([row.standardised_error for row in figures.base]), 3.0, 'std', excuse=excuse),
        criterion('platform mass, error', worst(mass), 0.01, '%', 100.0, excuse=excuse),
        criterion(
            f'friction ({len(friction)}), largest error', worst(friction), 0.05, '%', 100.0, excuse=excuse
        ),
        criterion(
            'force on the held-out motion, rms error',
            figures.held_out_force_error,
            0.03,
            '%',
            100.0,
            excuse=excuse,
        ),
    ]


def payload_of(machine: Machine) -> RigidBody:
    """The mass that is dropped, in one point."""
    place = float(machine.model.radius[0]) * np.array(PLACE)
    return RigidBody('payload', LOAD * machine.platform.mass, place, np.zeros((3, 3)))


def judge_payload(directory: Path, payload: RigidBody, dropped: float, excuse: str = '') -> tuple[Criterion, ...]:
    """Judge when, how much and where; a payload that was not named breaks all limits.

    Parameters
    ----------
    directory : of :data:`FILE`
    payload : the truth
    dropped : s, when
    excuse : why the limits cannot be judged

    Raises
    ------
    DemoError
        The file cannot be read.
    """
    path = directory / FILE
    try:
        said = bounded_file(path).get('payload')
        since = float(said['since']) if said else np.nan
        mass, mass_std = (float(said['mass']), float(said['mass_std'])) if said else (np.nan, np.nan)
        center, center_std = (
            (np.array(said[key], dtype=float) if said else np.full(3, np.nan)) for key in ('center', 'center_std')
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, yaml.YAMLError) as error:
        raise DemoError(f'{path}: the payload cannot be read: {error!r}') from error
    off = center - payload.center_of_mass
    errors = np.abs([(mass - payload.mass) / mass_std, *(off / center_std)])
    stated = f'stated {100.0 * mass_std / payload.mass:.2g} %', f'stated {1e3 * float(np.max(center_std)):.2g} mm'
    return (
        criterion('payload, error of its time', abs(since - dropped), 0.5, 's', excuse=excuse),
        criterion(
            f'payload, error of its mass ({stated[0]})', abs(mass / payload.mass - 1.0), 0.02, '%', 100.0,
            excuse=excuse,
        ),
        criterion(
            f'payload, error of its centre ({stated[1]})', float(np.max(np.abs(off))), 0.005, 'mm', 1e3, excuse=excuse
        ),
        criterion('payload, largest error', float(np.max(errors)), 4.0, 'std', excuse=excuse),
    )  # fmt: skip
