"""Prepares a recording as rows ``force = observation @ parameters`` for least squares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.kinematics import joint_motion
from pkm_description.machine import Machine, PlatformMotion

from pkm_identification.columns.observation import ObservationModel, Reversals
from pkm_identification.configuration import IdentificationConfig
from pkm_identification.errors import RecordingError
from pkm_identification.motion_source.filters import (
    decimation_factor,
    edge_samples,
    excitation_band,
    kept_rows,
    parallel_filter,
)
from pkm_identification.motion_source.platform_motion import recorded_motions
from pkm_identification.recording.recording import Recording

#: rows are left out this near to a reversal, in periods of the force cut-off, when Coulomb friction is six times the
#: noise of a force sample; its jump is known to a millisecond only, and the filter spreads that error. It dies with
#: distance, so stronger friction asks for more. Found on simulated machines: nearer, systematic errors exceed the
#: standard deviations; farther, too little of the data is left.
REVERSAL_REACH, REACH_PER_E_FOLD, REACH_LIMITS = 0.5, 0.25, (0.4, 0.9)

#: the same around legs at rest, whose sticking force is unknown
REST_REACH = 0.5

#: s within the dead band after which a leg counts as resting
REST = 0.03


@dataclass(frozen=True)
class Bands:
    """Frequencies chosen for a recording, Hz, the dead band, m/s (see :class:`IdentificationConfig`).

    ``reversal_reach``: periods of the force cut-off around a leg's reversal in which rows are left out.
    """

    excitation: float
    motion_cutoff: float
    force_cutoff: float
    sign_cutoff: float
    dead_band: float
    reversal_reach: float


class RowFilter(NamedTuple):
    """Turns samples (N, ...) of a whole recording into rows (n, ...), as those of the forces and the regressor."""

    sample_rate: float
    cutoff: float
    kept: NDArray[np.bool_]

    def __call__(self, values: Array) -> Array:
        """Filter, decimate and leave out the ends."""
        return parallel_filter(values, self.sample_rate, self.cutoff)[self.kept]


class DriveSamples(NamedTuple):
    """What the drives did in a whole recording, each (N, A): m or rad and their rates."""

    positions: Array
    velocities: Array
    accelerations: Array


@dataclass(frozen=True)
class PreparedData:
    """Rows of one recording, at full rate and after parallel filtering and decimation.

    Attributes
    ----------
    time, forces, regressor, known : full rate without the filters' ends: (N,), (N, L), (N, L, P), (N, L);
        ``known`` are the forces of parameters that are held fixed
    row_time, row_forces, row_regressor : the same filtered and decimated, known forces subtracted
    row_weights : (n, L), 0 where a leg reverses or rests
    motion : platform motion at full rate
    resting : (N, L), legs at rest: they may stick, with a force that no model knows
    drives : of all samples, the filters' ends included; velocities livelier than the motion
    row_filter : what made the rows
    bands : see the class
    """

    time: Array
    forces: Array
    regressor: Array
    known: Array
    row_time: Array
    row_forces: Array
    row_regressor: Array
    row_weights: Array
    motion: PlatformMotion
    resting: NDArray[np.bool_]
    drives: DriveSamples
    row_filter: RowFilter
    bands: Bands


def choose_bands(machine: Machine, recording: Recording, config: IdentificationConfig) -> Bands:
    """Cut-off frequencies and dead band: the configured ones, else from the excitation and the sensors' noise.

    95 % of the acceleration's energy lie below the excitation band. Forces and regressor are filtered at four times
    that. The motion's cut-off is four times as high again: its smoothing has a gain of 1 where forces are compared, and
    predicted forces follow most of what happens at reversals. Signs of velocities take a fifth of the sample rate.
    The dead band is three standard deviations of the velocity noise that is left there.
    """
    rate = recording.sample_rate
    excitation = excitation_band(recording.drive_positions, rate)
    force = config.force_cutoff_frequency or min(max(4.0 * excitation, 4.0), 0.1 * rate)
    motion = config.motion_cutoff_frequency or min(4.0 * force, 0.2 * rate)
    sign = max(0.2 * rate, motion)
    dead_band = config.dead_band
    if dead_band < 0.0:
        # white noise of variance s^2 has density 2 s^2 / rate up to the cut-off, differentiated (2 pi f)^2 times that
        noise = float(np.max(machine.leg_sensors.position_noise))
        dead_band = 3.0 * noise * 2.0 * np.pi * sign * np.sqrt(2.0 * sign / (3.0 * rate))
    return Bands(excitation, float(motion), float(force), float(sign), float(dead_band), _reversal_reach(machine))


def _reversal_reach(machine: Machine) -> float:
    """Reach around reversals by the nominal Coulomb friction and the force sensors' noise."""
    coulomb = max(abs(joint.friction.coulomb) for joint in machine.actuated_joints)
    noise = float(np.max(machine.leg_sensors.effort_noise))
    if coulomb <= 0.0 or noise <= 0.0:
        return REVERSAL_REACH if coulomb <= 0.0 else REACH_LIMITS[1]
    reach = REVERSAL_REACH + REACH_PER_E_FOLD * np.log(coulomb / noise / 6.0)
    return float(np.clip(reach, *REACH_LIMITS))


def prepare(
    model: ObservationModel, recording: Recording, config: IdentificationConfig, bands: Bands | None = None
) -> PreparedData:
    """Motion, regressor and filtered rows of a recording.

    Parameters
    ----------
    model : regressor
    recording : drive positions and forces
    bands : reuse those of another recording; default: choose them

    Raises
    ------
    RecordingError
        Other drives than the machine's, or too short for the filters.
    KinematicsError
        Drive positions that no pose of the platform has; names the sample.
    """
    recording.require_drives(model.machine)
    bands = bands or choose_bands(model.machine, recording, config)
    rate = recording.sample_rate
    edge = edge_samples(rate, bands.motion_cutoff, bands.force_cutoff)
    if len(recording.time) <= 2 * edge + 10:
        raise RecordingError(
            f'{recording.source}: {recording.duration:.2f} s are too short, the filters ({bands.force_cutoff:.3g} Hz) '
            f'need {2 * edge / rate:.2f} s; record longer or raise the cut-off frequencies'
        )
    motion, lively = recorded_motions(model.machine, recording, config, bands.motion_cutoff, bands.sign_cutoff)
    regressor, known = model.regressor(motion, Reversals(lively, 1.0 / rate))

    inner = slice(edge, len(recording.time) - edge)
    step = decimation_factor(rate, bands.force_cutoff)
    places = np.arange(0, len(recording.time), step)
    rows = (places >= inner.start) & (places < inner.stop)
    row_filter = RowFilter(rate, bands.force_cutoff, rows)
    drives = _drive_samples(model, motion, lively)
    velocities = drives.velocities
    resting = _at_rest(velocities, bands.dead_band, max(2, round(REST * rate)))
    weights = kept_rows(resting, rate, bands.force_cutoff, REST_REACH)
    weights *= kept_rows(_reversing(velocities), rate, bands.force_cutoff, bands.reversal_reach)
    return PreparedData(
        recording.time[inner],
        recording.forces[inner],
        regressor[inner],
        known[inner],
        recording.time[::step][rows],
        row_filter(recording.forces - known),
        row_filter(regressor.reshape(len(known), -1)).reshape(-1, *regressor.shape[1:]),
        weights[rows],
        motion[inner],
        resting[inner],
        drives,
        row_filter,
        bands,
    )


def _drive_samples(model: ObservationModel, motion: PlatformMotion, lively: PlatformMotion) -> DriveSamples:
    """Motion of the drives, the velocities from a livelier motion, as those that decide the sign of friction."""
    columns = model.machine.drive_columns
    smooth = joint_motion(model.machine, motion)
    return DriveSamples(
        smooth.positions[:, columns],
        model.drive_velocities(lively),
        smooth.accelerations[:, columns],
    )


def _at_rest(velocities: Array, dead_band: float, samples: int) -> NDArray[np.bool_]:
    """Samples (N, L) of legs that stay within the dead band for at least ``samples`` in a row: they may stick."""
    slow = np.abs(velocities) < dead_band
    count = np.cumsum(np.concatenate([np.zeros((1, slow.shape[1])), slow]), axis=0)
    whole = count[samples:] - count[:-samples] == samples  # windows that are slow throughout
    rest = np.zeros_like(slow)
    for shift in range(samples):
        rest[shift : shift + len(whole)] |= whole
    return rest


def _reversing(velocities: Array) -> NDArray[np.bool_]:
    """Samples (N, L) on either side of a leg's reversal."""
    crossing = velocities[:-1] * velocities[1:] <= 0.0
    found = np.zeros_like(velocities, dtype=bool)
    found[:-1] |= crossing
    found[1:] |= crossing
    return found
