"""From a recording to prepared data: motion, signs, samples at rest, distances to reversals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.ndimage import maximum_filter1d

from pkm_identification.blocks import joined
from pkm_identification.columns.joint_samples import JointSamples, PassiveSamples
from pkm_identification.columns.observation import ObservationModel
from pkm_identification.configuration import IdentificationConfig
from pkm_identification.errors import RecordingError
from pkm_identification.motion_source.bands import Bands, choose_bands
from pkm_identification.motion_source.by_name import motion_source
from pkm_identification.motion_source.filters import decimation_factor, edge_samples, kept_rows
from pkm_identification.motion_source.interface import RecordedMotion
from pkm_identification.motion_source.reversals import near_reversals, nearest_reversals
from pkm_identification.motion_source.row_filter import RowFilter
from pkm_identification.motion_source.sticking import just_started, slow_samples
from pkm_identification.prepared_data import REST_REACH, PreparedData
from pkm_identification.recording.recording import Recording

#: periods of the motion's cut-off around a reversal in which its low-pass rounds the kink of the velocity
KINK = 0.5
#: the same around a drive that stops or starts, whose acceleration jumps: the low-pass rings. What is wrong before the
#: jump and after it cancels in forces below their cut-off, so both sides are left out, or none
RINGING = 1.5
#: periods of the force cut-off from which an unknown sign of a velocity is seen in predicted forces
SLOW = 0.1


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
    _require_length(recording, bands)
    found = motion_source(config.motion).motion(model.machine, recording, bands)
    _require_length(found.recording, bands)
    return rows_of_motion(model, found, bands)


def _require_length(recording: Recording, bands: Bands) -> None:
    rate = recording.sample_rate
    edge = edge_samples(rate, bands.motion_cutoff, bands.force_cutoff)
    if len(recording.time) <= 2 * edge + 10:
        raise RecordingError(
            f'{recording.source}: {recording.duration:.2f} s are too short, the filters ({bands.force_cutoff:.3g} Hz) '
            f'need {2 * edge / rate:.2f} s; record longer or raise the cut-off frequencies'
        )


def rows_of_motion(model: ObservationModel, found: RecordedMotion, bands: Bands) -> PreparedData:
    """Regressor and filtered rows of a recording whose motion is known; by its parts see :func:`prepare`."""
    recording, motion, lively = found.recording, found.smooth, found.lively
    rate = recording.sample_rate
    edge = edge_samples(rate, bands.motion_cutoff, bands.force_cutoff)
    step = decimation_factor(rate, bands.force_cutoff)
    inner = slice(edge, len(recording.time) - edge)
    places = np.arange(0, len(recording.time), step)
    rows = (places >= inner.start) & (places < inner.stop)
    samples = _joint_samples(model, found)
    turning = near_reversals(samples.velocities, round(KINK * rate / bands.motion_cutoff))
    samples = samples.lively_only(turning, 1.0 / rate)
    shares = joined(lambda part: model.shares(motion[part]), len(motion)) if model.has_shares else None
    noise = model.machine.leg_sensors.position_noise
    rests, slow = slow_samples(samples.lively, noise, rate, bands.dead_band, SLOW / bands.force_cutoff)
    sticks = rests | just_started(samples.positions, samples.lively, rests, noise)
    sticks = maximum_filter1d(sticks, 2 * round(RINGING * rate / bands.motion_cutoff) + 1, axis=0)
    moving = kept_rows(rests, rate, bands.force_cutoff, REST_REACH)[rows]
    reversals = nearest_reversals(samples.lively, rate, places[rows])
    if shares is not None:  # what is uncertain in one drive is shared by all
        sticks = np.repeat(sticks.any(axis=1, keepdims=True), sticks.shape[1], axis=1)
        moving = np.repeat(moving.min(axis=1, keepdims=True), moving.shape[1], axis=1)
        reversals = reversals.nearest_of_all()
    data = PreparedData(
        model, recording, motion, lively, turning, samples, shares, inner, ~sticks, slow,
        RowFilter(rate, bands.force_cutoff, rows), recording.time[::step][rows], moving, reversals, bands,
        found.repeatability,
    )  # fmt: skip
    if not data.row_weights.any():
        limit = f'than {bands.dead_band:.3g} m/s or rad/s (rows.dead_band)' if bands.dead_band >= 0.0 else ''
        raise RecordingError(
            f'{recording.source}: no rows are left: all samples are at rest or near reversals; move the drives faster '
            f'{limit} and longer one way'
        )
    return data


def _joint_samples(model: ObservationModel, found: RecordedMotion) -> JointSamples:
    """Return what the drives do; what the passive joints do is computed part by part where it is needed."""

    def of_part(part: slice, passive: bool = True) -> JointSamples:
        return model.joint_samples(found.smooth[part], found.lively[part], 1.0 / found.recording.sample_rate, passive)

    drives = JointSamples.in_blocks(lambda part: of_part(part, passive=False), len(found.smooth))
    return replace(drives, passive=PassiveSamples(of_part))
