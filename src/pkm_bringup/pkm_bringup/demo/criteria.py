"""Limits of a run, each with its result: estimation, identification, payload."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import yaml
from pkm_description.bounded_yaml import bounded_file
from pkm_description.errors import PkmError
from pkm_description.machine import ImuSensor, Machine, RigidBody
from pkm_description.report.words import figure_text, keeps_limit, limit_text
from pkm_estimation.bags import Imu
from pkm_estimation.motion_estimate import MotionEstimate
from pkm_estimation.offline.metrics import MotionErrors, matching, motion_errors
from pkm_identification.compare import ComparisonRow

#: part of the platform's mass, and place in radii of the platform
LOAD, PLACE = 0.1, (0.1, -0.06, 0.12)
#: file that the service ``online_identification/save`` writes
FILE = 'online_parameters.yaml'
#: s of motion after the drop below which the limits are not judged
SHORTEST_JUDGED = 9.0
_DIGITS = 3


class DemoError(PkmError):
    """The demo cannot go on; the message says who failed and what to look at."""


class Criterion(NamedTuple):
    """A figure that is judged by its limit.

    Attributes
    ----------
    what : what is measured
    value : figure in SI units; NaN counts as failed
    limit : what it must not exceed (or reach, if ``at_least``)
    unit, scale : shown as ``value * scale`` followed by ``unit``
    at_least : the figure must be as large as the limit
    baseline : the same figure of the conventional estimator, for comparison
    excuse : why the limit cannot be judged in this run (a shortened one); empty if it can
    """

    what: str
    value: float
    limit: float
    unit: str = ''
    scale: float = 1.0
    at_least: bool = False
    baseline: float | None = None
    excuse: str = ''

    @property
    def failed(self) -> bool:
        """Whether the limit can be judged and is broken."""
        return not self.excuse and not keeps_limit(self.value, self.limit, self.at_least)

    @property
    def verdict(self) -> str:
        """One word for the table and for ``verdict.json``."""
        return 'not judged' if self.excuse else 'FAILED' if self.failed else 'ok'

    @property
    def required(self) -> str:
        """The limit as text."""
        return limit_text(self.limit * self.scale, self.unit, self.at_least, _DIGITS)

    def shown(self, value: float | None) -> str:
        """The figure, or its baseline, as text."""
        return '' if value is None else figure_text(value * self.scale, self.unit, _DIGITS)


def estimation_errors(
    truth: MotionEstimate, estimate: MotionEstimate, start: float = 0.0, end: float = 9e9
) -> MotionErrors:
    """Root mean square errors at the stamps that both have, from ``start`` to ``end`` s; NaN if there are none."""
    own, true = matching(estimate.stamps, truth.stamps, round(start * 1e9), round(end * 1e9))
    return motion_errors(estimate, own, truth, true)


def bias_errors(
    sensor: ImuSensor, raw: Imu, corrected: Imu, start: float = 0.0, end: float = 9e9
) -> tuple[float, float]:
    """Errors of the biases that the estimator took off from ``start`` to ``end`` s: accelerometer, gyroscope.

    Root mean squares, the worst axis counts; NaN without samples.
    """
    taken, at_raw = matching(corrected.stamps, raw.stamps, round(start * 1e9), round(end * 1e9))
    force = raw.specific_force[at_raw] - corrected.specific_force[taken] - sensor.accelerometer_bias
    rate = raw.angular_rate[at_raw] - corrected.angular_rate[taken] - sensor.gyroscope_bias
    if not len(taken):
        return float('nan'), float('nan')
    accelerometer, gyroscope = (float(np.sqrt(np.mean(errors**2, axis=0)).max()) for errors in (force, rate))
    return accelerometer, gyroscope


class IdentificationFigures(NamedTuple):
    """What the demo shows of an identification.

    Attributes
    ----------
    base : identifiable base parameters
    physical : bodies and friction of the machine file
    held_out_force_error : rms of the force error on the validation motion over the rms of the force
    report, overlay : files written
    """

    base: tuple[ComparisonRow, ...]
    physical: tuple[ComparisonRow, ...]
    held_out_force_error: float
    report: str = ''
    overlay: str = ''

    def physical_rows(self, ending: str) -> list[ComparisonRow]:
        """Physical parameters whose name has that ending."""
        return [row for row in self.physical if row.name.endswith(ending)]


def judge_identification(figures: IdentificationFigures, excuse: str = '') -> list[Criterion]:
    """Judge base parameters in standard deviations, mass and friction in percent, forces on held-out data."""
    mass = figures.physical_rows('platform_link.m')
    friction = [row for ending in ('.viscous', '.coulomb') for row in figures.physical_rows(ending) if row.truth]
    figures_and_limits = (
        ('base parameters ({}), largest error', [abs(row.standardised_error) for row in figures.base], 3.0, 'std', 1.0),
        ('platform mass, error', [row.relative_error for row in mass], 0.01, '%', 1e2),
        ('friction ({}), largest error', [row.relative_error for row in friction], 0.05, '%', 1e2),
        ('force on the held-out motion, rms error', [figures.held_out_force_error], 0.03, '%', 1e2),
    )
    return [
        Criterion(what.format(len(values)), float(np.max(values or [np.nan])), limit, unit, scale, excuse=excuse)
        for what, values, limit, unit, scale in figures_and_limits
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
    rows = (
        ('payload, error of its time', abs(since - dropped), 0.5, 's', 1.0),
        (f'payload, error of its mass ({stated[0]})', abs(mass / payload.mass - 1.0), 0.02, '%', 100.0),
        (f'payload, error of its centre ({stated[1]})', float(np.max(np.abs(off))), 0.005, 'mm', 1e3),
        ('payload, largest error', float(np.max(errors)), 4.0, 'std', 1.0),
    )
    return tuple(Criterion(*row, excuse=excuse) for row in rows)
