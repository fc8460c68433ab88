"""What a motion shows of a machine: shares of the force terms, base parameters, and how well they would be known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics.terms import DriveForceTerms, drive_force_terms
from pkm_description.machine import Machine, PlatformMotion

from pkm_identification.columns.chosen import legs_agree
from pkm_identification.columns.observation import ObservationModel
from pkm_identification.errors import NotExcitedError
from pkm_identification.estimator.least_squares import conditions, white_covariance
from pkm_identification.identifiability.locations import LocationSensitivity, location_sensitivities
from pkm_identification.judgement.identifiability import excited_parameters

#: noise of the efforts that is taken where a machine file states none, of their rms
EFFORT_NOISE = 0.003


@dataclass(frozen=True)
class ParameterValue:
    """A base parameter in a motion.

    Attributes
    ----------
    name : of the combination
    value : in the machine file
    share : rms force that it makes, % of the rms force; of an open one that of its column
    std : standard deviation by least squares of this motion, white noise of the efforts only; NaN: not determined
    """

    name: str
    value: float
    share: float
    std: float


@dataclass(frozen=True)
class MotionValue:
    """All that is known of a motion before it is made.

    Attributes
    ----------
    machine, motion : as given
    terms : forces by their causes
    parameters : base parameters, first those that the motion determines
    condition : of the observation matrix, columns of norm one; NaN: nothing is determined
    effort_noise : (A,) N or N m, that was assumed
    locations : see :class:`~pkm_identification.identifiability.locations.LocationSensitivity`
    """

    machine: Machine
    motion: PlatformMotion
    terms: DriveForceTerms
    parameters: tuple[ParameterValue, ...]
    condition: float
    effort_noise: Array
    locations: tuple[LocationSensitivity, ...]


def motion_value(machine: Machine, motion: PlatformMotion, with_locations: bool = True) -> MotionValue:
    """Judge a motion of the platform for identification, by the machine as its file has it.

    Parameters
    ----------
    with_locations : whether forces are computed for every place that may be elsewhere, which takes most of the time
    """
    terms = drive_force_terms(machine, motion)
    size = np.sqrt(np.mean(terms.total**2, axis=0))
    has_noise = machine.has_leg_sensors and np.all(machine.leg_sensors.effort_noise > 0.0)
    noise = machine.leg_sensors.effort_noise * np.ones(len(size)) if has_noise else EFFORT_NOISE * size
    parameters, condition = _parameters(machine, motion, size, noise)
    locations = tuple(location_sensitivities(machine, motion)) if with_locations else ()
    return MotionValue(machine, motion, terms, parameters, condition, noise, locations)


def _parameters(
    machine: Machine, motion: PlatformMotion, size: Array, noise: Array
) -> tuple[tuple[ParameterValue, ...], float]:
    model = ObservationModel(machine, legs_agree(machine))
    base, full = model.base_parameters(), model.parameters(machine)
    matrix, _ = model.regressor(motion)
    whole = float(np.sqrt(np.mean(size**2)))
    columns = base.columns(matrix)
    try:
        excited, open_names = excited_parameters(columns / noise[:, None], base)
    except NotExcitedError:
        excited, open_names = None, tuple(base.names)
    lines, condition = list[ParameterValue](), np.nan
    if excited is not None:
        seen, values = excited.columns(matrix), excited.values(full)
        rows = (seen / noise[:, None]).reshape(-1, len(excited))
        condition = conditions(rows)[0]
        std = np.sqrt(np.diag(white_covariance(rows)))
        rms = np.sqrt(np.mean(seen**2, axis=(0, 1)))
        lines += [
            ParameterValue(name, float(value), 100.0 * float(abs(value) * part) / whole, float(deviation))
            for name, value, part, deviation in zip(excited.names, values, rms, std, strict=True)
        ]
    rms = np.sqrt(np.mean(columns**2, axis=(0, 1)))
    for name, value, part in zip(base.names, base.values(full), rms, strict=True):
        if name in open_names:
            lines.append(ParameterValue(name, float(value), 100.0 * float(abs(value) * part) / whole, np.nan))
    return tuple(lines), float(condition)
