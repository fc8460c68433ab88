"""From a recording to rows ``force = observation @ parameters``: motion, signs, rest, distances to reversals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.machine import PlatformMotion
from scipy.interpolate import CubicSpline
from scipy.ndimage import maximum_filter1d

from pkm_identification.blocks import OfPart, joined, kept
from pkm_identification.columns.observation import ObservationModel, with_loads
from pkm_identification.columns.term import JointSamples, PassiveSamples, Term
from pkm_identification.configuration import IdentificationConfig
from pkm_identification.errors import RecordingError
from pkm_identification.motion_source.bands import Bands, choose_bands
from pkm_identification.motion_source.by_name import motion_source
from pkm_identification.motion_source.filters import UNFILTERED, RowFilter, decimation_factor, edge_samples, kept_rows
from pkm_identification.motion_source.interface import RecordedMotion, Repeatability
from pkm_identification.motion_source.sticking import (
    Reversals,
    just_started,
    near_reversals,
    nearest_reversals,
    slow_samples,
)
from pkm_identification.recording.recording import Recording

#: rows are left out this near to drives at rest, in periods of the force cut-off
REST_REACH = 0.5
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


@dataclass(frozen=True)
class PreparedData:
    """A recording, its motion, and what becomes rows of the least squares.

    Rows are samples after parallel filtering and decimation, without the filters' ends. What a drive does while it
    sticks is no part of them, neither in forces nor in columns.

    Attributes
    ----------
    model : whose structure the rows have
    recording : see the class; of a motion source that averages over periods, the part that is periodic
    motion, lively : of the platform at all samples; the second with a higher cut-off frequency, for signs
    turning : (N, A), whether a drive is so near to a reversal that signs are those of the lively motion
    samples : what the joints do at all samples
    shares : (N, A, A) of redundant drives: efforts are judged as far as motion determines them; else ``None``
    inner : samples without the filters' ends
    slides : (N, A), whether a drive slides, or may stick, see :mod:`pkm_identification.motion_source.sticking`
    turns_slowly : (N, A), whether noise hides the sign of a velocity for so long that a prediction cannot be judged
    row_filter : what makes the rows
    row_time : (n,) s
    moving_rows : (n, A), 0 near to where a drive rests
    reversals : the nearest reversal of each row
    bands : see the class
    repeatability : mean and variance over the periods, of a motion source that averages
    """

    model: ObservationModel
    recording: Recording
    motion: PlatformMotion
    lively: PlatformMotion
    turning: NDArray[np.bool_]
    samples: JointSamples
    shares: Array | None
    inner: slice
    slides: NDArray[np.bool_]
    turns_slowly: NDArray[np.bool_]
    row_filter: RowFilter
    row_time: Array
    moving_rows: Array
    reversals: Reversals
    bands: Bands
    repeatability: Repeatability | None = None

    @cached_property
    def row_weights(self) -> Array:
        """Weights (n, A): 0 near to where a drive reverses or rests."""
        rate, cutoff = self.recording.sample_rate, self.bands.force_cutoff
        reach = self.bands.reversal_reach / cutoff if cutoff < UNFILTERED * rate else 0.0
        return self.moving_rows * (self.reversals.distance > reach)

    def with_reach(self, reversal_reach: float) -> PreparedData:
        """The same rows, used from another distance to reversals on, in periods of the force cut-off."""
        return self._with(self.model, replace(self.bands, reversal_reach=reversal_reach))

    def with_model(self, model: ObservationModel) -> PreparedData:
        """The same recording for another model."""
        return self._with(model, self.bands)

    def _with(self, model: ObservationModel, bands: Bands) -> PreparedData:
        """The same with another model or reach; columns that are the same are not computed again."""
        other = replace(self, model=model, bands=bands)
        same = ('structure_rows', '_structure') if model.has_structure_of(self.model) else ()
        others = 'passive_rows', '_passive_shares', 'platform_rows', '_of_platform', '_by_deflection'
        for name in (*same, *others):
            if name in self.__dict__:
                other.__dict__[name] = self.__dict__[name]
        return other

    @property
    def time(self) -> Array:
        """Seconds of the inner samples."""
        return self.recording.time[self.inner]

    def efforts(self, delay: float = 0.0, lag: float = 0.0) -> Array:
        """Measured efforts (N, A) of all samples, as far as motion determines them.

        They are those of ``delay`` s later, before a filter of first order with the time constant ``lag`` s.
        """
        forces = self.recording.forces
        if delay or lag:
            time = self.recording.time
            signal, at = CubicSpline(time, forces, axis=0), np.clip(time + delay, time[0], time[-1])
            forces = signal(at) + lag * signal(at, 1)
        return forces if self.shares is None else np.asarray(np.einsum('nca,nc->na', self.shares, forces))

    def effort_rows(self, delay: float = 0.0, lag: float = 0.0) -> Array:
        """Rows (n, A) of the efforts."""
        return self.row_filter(self.slides * self.efforts(delay, lag))

    @cached_property
    def structure_rows(self) -> Array:
        """Rows (n, A, S) of the structure's columns."""
        return self.rows_of(self._structure)

    @cached_property
    def passive_rows(self) -> tuple[Array, Array, Array]:
        """Rows (n, A, P) of friction in each passive joint: its sign, times the force across, and along its axis.

        Forces are those of the machine file.
        """
        model = self.model

        def columns(part: slice) -> Array:
            motion = self.motion[part]
            own = with_loads(self.samples[part], motion, model.machine).passive_joints
            forms = np.stack([own.signs, own.signs * own.loads, own.signs * own.efforts], axis=1)
            # (N, A, 3, P)
            shared = np.einsum('npa,nfp->nafp', self._passive_shares(part), forms)
            return shared.reshape(*shared.shape[:2], -1)

        constant, across, along = np.split(self.rows_of(columns), 3, axis=-1)
        return constant, across, along

    @cached_property
    def platform_rows(self) -> Array:
        """Rows (n, A, 15) of forces on the platform."""
        return self.rows_of(self._of_platform)

    def rows_of(self, columns: OfPart) -> Array:
        """Rows (n, A, C) of columns (N, A, C) that a function gives for a part of the samples."""
        return self.row_filter.in_blocks(lambda part: self.slides[part, :, None] * columns(part), len(self.motion))

    def structure_forces(self, parameters: Array) -> Array:
        """Forces (N, A) of all samples by parameters (S,) of the structure; the first of them alone, if fewer."""
        count = len(parameters)
        return joined(lambda part: self._structure(part)[..., :count] @ parameters, len(self.motion))

    def term_rows(self, term: Term, samples: JointSamples) -> Array:
        """Rows (n, A, P) of a term's columns."""
        if term.on_platform:
            return self.platform_rows
        return self.joint_rows(lambda part: term.columns(samples[part]), term.column_places)

    def joint_rows(self, columns: OfPart, places: NDArray[np.intp]) -> Array:
        """Rows (n, A, P) of columns (N, P), each the force in the joint at one of the places ``places`` (P,)."""
        if not self._are_alone(places):
            return self.rows_of(lambda part: self._expanded(columns(part), places, part))
        own = self.row_filter.in_blocks(lambda part: self.slides[part][:, places] * columns(part), len(self.motion))
        rows = np.zeros((*self.row_weights.shape, len(places)))
        rows[:, places, np.arange(len(places))] = own
        return rows

    def by_deflection(self, term: Term, samples: JointSamples) -> OfPart:
        """Changes (n, P) of a term's columns per unit of the contacts' deflections, in a part of the samples.

        They are kept where neither forces nor a search of nonlinear parameters change them.
        """
        if term.from_model or term.shape_names:
            return lambda part: term.by_deflection(samples[part])
        if term not in self._by_deflection:
            own = kept(lambda part: term.by_deflection(self.samples[part]), len(self.motion))
            self._by_deflection[term] = own
        return self._by_deflection[term]

    def slope_rows(self, term: Term, samples: JointSamples, parameters: Array) -> Array:
        """Rows (n, A, Q) of the derivatives of a term's forces by its nonlinear parameters, at linear ones (P,)."""
        places, shapes = term.shape_slopes(samples[:1], parameters)[1]
        rows = self.joint_rows(lambda part: term.shape_slopes(samples[part], parameters)[0], places)
        found = np.zeros((*rows.shape[:2], len(term.shape_names)))
        for column, shape in enumerate(shapes):
            found[..., shape] += rows[..., column]
        return found

    def term_forces(self, term: Term, samples: JointSamples, parameters: Array) -> Array:
        """Forces (N, A) of a term with parameters (P,)."""
        if term.on_platform:
            return joined(lambda part: self._of_platform(part) @ parameters, len(self.motion))
        places, drives = term.column_places, np.arange(self.model.machine.actuated_count)
        # which column is whose
        own = (places[:, None] == drives) * parameters[:, None]

        def forces(part: slice) -> Array:
            columns = term.columns(samples[part])
            if self._are_alone(places):
                return columns @ own
            return self._expanded(columns, places, part) @ parameters

        return joined(forces, len(self.motion))

    def _are_alone(self, places: NDArray[np.intp]) -> bool:
        """Whether forces in these joints are each the force of one drive."""
        return self.shares is None and bool((places < self.model.machine.actuated_count).all())

    def _expanded(self, columns: Array, places: NDArray[np.intp], part: slice) -> Array:
        """Columns (n, A, P) of all drives from those of single joints (n, P)."""
        has_passive = (places >= self.model.machine.actuated_count).any()
        passive = self._passive_shares(part) if has_passive else None
        return self.model.expanded(columns, places, None if self.shares is None else self.shares[part], passive)

    @cached_property
    def _by_deflection(self) -> WeakKeyDictionary[Term, OfPart]:
        return WeakKeyDictionary()

    @cached_property
    def _passive_shares(self) -> OfPart:
        """Forces (n, P, A) in the drives per unit of force in each passive joint, in a part of the samples."""
        return kept(lambda part: self.model.passive_shares(self.motion[part]), len(self.motion))

    @cached_property
    def _of_platform(self) -> OfPart:
        """Columns (n, A, 15) of forces on the platform in a part of the samples."""
        return kept(lambda part: self.model.of_platform(self.motion[part]), len(self.motion))

    @cached_property
    def _structure(self) -> OfPart:
        """Columns (n, A, S) of the bodies in a part of the samples."""
        return kept(lambda part: self.model.structure(self.motion[part]), len(self.motion))
