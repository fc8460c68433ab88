"""What a motion shows of a machine: shares of the force terms, base parameters, and how well they would be known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pkm_description.arrays import Array
from pkm_description.dynamics import inverse_dynamics
from pkm_description.dynamics.inverse import DriveForceTerms, drive_force_terms
from pkm_description.dynamics.parameter_reduction.reduction import BaseParameters
from pkm_description.errors import PkmError
from pkm_description.machine import Machine, PlatformMotion
from pkm_description.report.page import MEASURED, NOMINAL, PREDICTED, RESIDUAL, STYLE
from pkm_description.writing import replacing

from pkm_identification.columns.observation import ObservationModel, legs_agree
from pkm_identification.errors import NotExcitedError
from pkm_identification.estimator.least_squares import conditions, white_covariance
from pkm_identification.judgement.significance import excited_parameters

#: bars of parameters and locations that are drawn, the most telling ones
BARS = 30
#: part of the platform's radius that a coordinate is shifted by, to either side
STEP = 1e-5
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
    motion : as given
    terms : forces by their causes
    parameters : base parameters, first those that the motion determines
    condition : of the observation matrix, columns of norm one; NaN: nothing is determined
    locations : see :class:`~pkm_identification.identifiability.motion_value.LocationSensitivity`
    """

    motion: PlatformMotion
    terms: DriveForceTerms
    parameters: tuple[ParameterValue, ...]
    condition: float
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
    return MotionValue(motion, terms, parameters, condition, locations)


def _parameters(
    machine: Machine, motion: PlatformMotion, size: Array, noise: Array
) -> tuple[tuple[ParameterValue, ...], float]:
    model = ObservationModel(machine, legs_agree(machine))
    structure, full = model.base_parameters(), model.parameters(machine)
    matrix, _ = model.regressor(motion)
    whole = float(np.sqrt(np.mean(size**2)))

    def lines(base: BaseParameters, std: Array) -> list[ParameterValue]:
        rms = np.sqrt(np.mean(base.columns(matrix) ** 2, axis=(0, 1)))
        shares = 100.0 * (np.abs(base.values(full)) * rms) / whole
        return list(map(ParameterValue, base.names, base.values(full).tolist(), shares.tolist(), std.tolist()))

    unknown = lines(structure, np.full(len(structure), np.nan))
    try:
        excited, open_names = excited_parameters(structure.columns(matrix) / noise[:, None], structure)
    except NotExcitedError:
        return tuple(unknown), np.nan
    rows = (excited.columns(matrix) / noise[:, None]).reshape(-1, len(excited))
    known = lines(excited, np.sqrt(np.diag(white_covariance(rows))))
    return (*known, *(one for one in unknown if one.name in open_names)), conditions(rows)[0]


# How drive forces depend on where things are: centres of mass and joints (Oh 2003, Eq. 2.89).
#
# The platform's motion stays; one coordinate of one place is shifted to both sides. What a motion sensor is off from
# the centre of mass of the platform is a shift of that centre.
@dataclass(frozen=True)
class LocationSensitivity:
    """Change of the drive forces with one coordinate of a place.

    Attributes
    ----------
    place, axis : in words, and ``x``, ``y`` or ``z`` of the link frame
    coordinate : m, where it is
    relative : (A,) rms change of each drive's force per change of the coordinate, both relative, Eq. 2.89: % per %;
        0 for a coordinate of 0
    slope : (N, A) N/m, N m/m, change of the forces with the coordinate along the motion
    per_millimetre : rms change of all drives' forces for 1 mm, % of their rms; NaN: shifted, the machine cannot make
        this motion
    """

    place: str
    axis: str
    coordinate: float
    slope: Array
    relative: Array
    per_millimetre: float


def location_sensitivities(machine: Machine, motion: PlatformMotion) -> list[LocationSensitivity]:
    """Sensitivities of every centre of mass of platform and legs, every first joint and every joint on the platform."""
    forces = inverse_dynamics(machine, motion)
    size = np.sqrt(np.mean(forces**2, axis=0))
    step = STEP * float(np.max(machine.model.radius))
    found = []
    for place, start, moved in _places(machine):
        for axis in range(3):
            shift = step * np.eye(3)[axis]
            try:
                sides = [inverse_dynamics(moved(start + sign * shift), motion) for sign in (1.0, -1.0)]
                slope = (sides[0] - sides[1]) / (2.0 * step)
            except PkmError:
                slope = np.full(forces.shape, np.nan)
            each = np.sqrt(np.mean(slope**2, axis=0))
            relative = each * abs(start[axis]) / size
            whole = 100.0 * 1e-3 * float(np.sqrt(np.mean(slope**2) / np.mean(forces**2)))
            found.append(LocationSensitivity(place, 'xyz'[axis], float(start[axis]), slope, relative, whole))
    return found


def _places(machine: Machine) -> Iterator[tuple[str, Array, Callable[[Array], Machine]]]:
    """Names, where they are, and the machine with the place elsewhere."""
    body = machine.platform
    yield (
        f'centre of mass of {body.name}', body.center_of_mass,
        lambda at: replace(machine, platform=replace(body, center_of_mass=at)),
    )  # fmt: skip
    for number, leg in enumerate(machine.legs):
        path = 'legs', number
        own: tuple[str | int, ...] = (*path, 'joints', 0, 'translation')
        yield f'{leg.name}: first joint', leg.joints[0].translation, partial(_with, machine, own)
        for place, closure in enumerate(leg.closures):
            if any(closure is one for one in leg.platform_closures):
                own = (*path, 'closures', place, 'other_point')
                yield f'{closure.name} on the platform', closure.other_point, partial(_with, machine, own)
        for place, one in enumerate(leg.joints):
            if one.body.mass != 0.0:
                own = (*path, 'joints', place, 'body', 'center_of_mass')
                yield f'centre of mass of {one.body.name}', one.body.center_of_mass, partial(_with, machine, own)


def _with(whole: Any, path: Sequence[str | int], value: Any) -> Any:
    """A structure with another value at a path of names and places."""
    if not path:
        return value
    key, *rest = path
    if isinstance(key, int):
        return (*whole[:key], _with(whole[key], rest, value), *whole[key + 1 :])
    changed: dict[str, Any] = {key: _with(getattr(whole, key), rest, value)}
    return replace(whole, **changed)


def motion_value_figure(value: MotionValue) -> Figure:
    """Terms over time, dominance and variation, relative deviations of parameters, locations."""
    terms = value.terms
    names = [field.name for field in fields(terms)]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(11.0, 14.0), layout='constrained')
        axes = figure.subplots(4, 1, gridspec_kw={'height_ratios': [3, 2, 4, 4]})
        for name in names:
            axes[0].plot(value.motion.time, np.linalg.norm(getattr(terms, name), axis=1), lw=0.8, label=name)
        axes[0].plot(value.motion.time, np.linalg.norm(terms.total, axis=1), lw=1.0, color=MEASURED, label='total')
        axes[0].set_xlabel('time [s]')
        axes[0].set_ylabel('norm over the drives')
        axes[0].legend(loc='upper right', ncols=5, fontsize=6)
        dominance, variation = terms.dominance(), terms.variation()
        place = np.arange(len(names))
        axes[1].bar(place - 0.2, [dominance[name] for name in names], 0.4, color=NOMINAL, label='dominance')
        axes[1].bar(place + 0.2, [variation[name] for name in names], 0.4, color=PREDICTED, label='variation')
        axes[1].set_xticks(place, names)
        axes[1].set_ylabel('% of the mean force')
        axes[1].legend()
        known = [one for one in value.parameters if np.isfinite(one.std) and one.value != 0.0]
        known.sort(key=lambda one: abs(one.std / one.value))
        _bars(
            axes[2], [one.name for one in known], [100.0 * abs(one.std / one.value) for one in known],
            'standard deviation by noise of the efforts, % of the value', PREDICTED,
        )  # fmt: skip
        axes[2].set_xscale('log')
        places = [one for one in value.locations if one.per_millimetre > 0.0]
        places.sort(key=lambda one: -one.per_millimetre)
        _bars(
            axes[3], [f'{one.place}, {one.axis}' for one in places], [one.per_millimetre for one in places],
            'change of the forces for 1 mm, %', RESIDUAL,
        )  # fmt: skip
    return figure


def _bars(axis: Axes, names: list[str], sizes: list[float], what: str, colour: str) -> None:
    names, sizes = [name[:60] for name in names[:BARS]], sizes[:BARS]
    axis.barh(np.arange(len(names)), sizes, color=colour, alpha=0.7)
    axis.set_yticks(np.arange(len(names)), names, fontsize=5)
    axis.invert_yaxis()
    axis.set_xlabel(what)


def write_plot(value: MotionValue, path: Path) -> Path:
    """Write the picture; the ending of the name says the format."""
    with replacing(path) as beside:
        motion_value_figure(value).savefig(beside, dpi=120)
    return path
