"""What the drives should need along a recording: nominal forces, and columns for what may be unlike them.

The columns are those that an identification fits: bodies, rotors, friction laws and friction by load of
:mod:`pkm_identification.columns`. Here they are many, with a prior each, for nothing is known of the machine yet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.dynamics import inverse_dynamics
from pkm_description.kinematics import motion_from_drives
from pkm_description.machine import Machine, PlatformMotion
from scipy.interpolate import CubicSpline
from scipy.sparse import csr_array, diags_array

from pkm_identification.blocks import BLOCK, OfPart, blocks, joined, kept, normal_matrix
from pkm_identification.columns.friction_term import FrictionTerm
from pkm_identification.columns.joint_terms import DRIVE_INERTIA, LOAD_FRICTION, OneFactor
from pkm_identification.columns.observation import ObservationModel
from pkm_identification.columns.term import JointSamples, Term
from pkm_identification.judgement.physical import nominal_covariance
from pkm_identification.motion_source.filters import derivatives, excitation_band, low_pass, settling_samples
from pkm_identification.motion_source.sticking import just_started, reversing
from pkm_identification.recording.recording import Recording

#: standard deviation of the bell, and where it ends, in periods of the force band
_WIDTH, _REACH = 0.15, 0.6
#: rows per period of the force band
_ROWS = 4.0
#: part of a row's weights that must be left
_LEAST = 0.2
#: relative standard deviation of the nominal bodies' parameters that a diagnosis allows for
TRUST = 0.5
#: the same of rotors that the machine file has, and inertia of unknown rotors, of what the drive moves
ROTOR_TRUST, UNKNOWN_ROTORS = 0.05, 0.3
#: speeds at which Stribeck friction fades, of a drive's root mean square
FADING = (0.15, 0.4, 1.0, 2.5)
#: force band, in excitation bands, and its least, Hz
_BANDS, _LEAST_BAND = 2.5, 5.0
#: motion band of bodies, and of the friction, which turns within moments, in force bands
_MOTION, _LIVELY = 2.0, 8.0
#: poses per period of the force band
_POSES = 16.0
#: part of its root mean square below which a drive's velocity counts as a reversal
_SLOW = 0.1


@dataclass(frozen=True)
class ForceModel:
    """Forces of the drives along a recording, and columns for what they may be like.

    Attributes
    ----------
    machine, cutoff : Hz
    places : (n,) samples of the recording at which poses are known
    time : (n,) s
    positions : (n, A) of the drives
    nominal : (n, A) forces of the nominal machine with its friction
    known : (n, A) forces of the nominal bodies
    bodies : forces of bodies unlike the nominal ones at the poses
    full_time : (N,) s of the recording
    full_rates : (N, A) velocities of the drives, lively enough for friction
    friction : what the friction of a drive may be like, each drive with parameters of its own
    turning : (N, A) samples at which a drive turns or has not left its place since: no law knows its friction
    """

    machine: Machine
    cutoff: float
    places: NDArray[np.intp]
    time: Array
    positions: Array
    nominal: Array
    known: Array
    bodies: BodyColumns
    full_time: Array
    full_rates: Array
    friction: FrictionColumns
    turning: NDArray[np.bool_]

    @property
    def sample_rate(self) -> float:
        """Samples per second of the recording."""
        return float((len(self.full_time) - 1) / (self.full_time[-1] - self.full_time[0]))

    def at_samples(self, forces: Array) -> Array:
        """Forces (N, A) at the recording's samples, from those at the poses (n, A)."""
        return np.asarray(CubicSpline(self.time, forces)(np.clip(self.full_time, self.time[0], self.time[-1])))


def force_model(machine: Machine, recording: Recording) -> ForceModel:
    """Motion and columns of a recording.

    Raises
    ------
    KinematicsError, RecordingError
        Positions that close no pose, or that show no motion.
    """
    rate, time = recording.sample_rate, recording.time
    band = excitation_band(recording.drive_positions, rate)
    cutoff = min(max(_BANDS * band, _LEAST_BAND), 0.2 * rate)
    smooth = low_pass(recording.drive_positions, rate, _MOTION * cutoff)
    rates, accelerations = derivatives(time, smooth)
    # the filter's starts are left out at both ends
    edge = settling_samples(rate, _MOTION * cutoff)
    places = np.arange(edge, len(time) - edge, max(1, int(rate / (_POSES * cutoff))))
    motion = motion_from_drives(machine, time[places], smooth[places], rates[places], accelerations[places])
    turn = 0.02 * np.sqrt(np.mean(rates**2))
    nominal = inverse_dynamics(machine, motion, sign_smoothing=float(turn))
    bodies, known = BodyColumns.of(machine, motion)
    carried = np.stack([np.interp(time, motion.time, column) for column in known.T], axis=1)
    lively, _ = derivatives(time, low_pass(recording.drive_positions, rate, _LIVELY * cutoff))
    whole = np.broadcast_to(1.0, lively.shape)
    samples = JointSamples(smooth, lively, accelerations, lively, whole, efforts=carried)
    friction = FrictionColumns.of(machine, samples, np.sqrt(np.mean(recording.forces**2, axis=0)))
    slow = np.abs(lively) < _SLOW * np.sqrt(np.mean(lively**2, axis=0))
    turns = reversing(lively)
    turning = slow | turns | just_started(smooth, lively, turns, machine.leg_sensors.position_noise)
    return ForceModel(
        machine, cutoff, places, time[places], smooth[places], nominal, known, bodies, time, lively, friction, turning
    )


@dataclass(frozen=True)
class FrictionColumns:
    """Columns (N, A, F) of the drives of a recording: all at once they are large.

    Viscous and Coulomb friction by direction, which has an offset, too; Stribeck friction of several velocities; and
    friction that grows with the efforts of the samples, those of the nominal bodies: with measured forces noise and
    friction would explain themselves.

    Attributes
    ----------
    columns : (n, A, F) of some samples
    count : of all samples
    """

    columns: OfPart
    count: int

    @classmethod
    def of(cls, machine: Machine, samples: JointSamples, size: Array) -> FrictionColumns:
        """Columns for the drives of a machine, each of the size (A,) of the efforts."""
        speeds = np.sqrt(np.mean(samples.lively**2, axis=0)) + 1e-300
        plain = FrictionTerm.of(machine)
        terms = [plain.with_law('asymmetric', speeds), OneFactor(LOAD_FRICTION, machine.actuated_joint_names)]
        terms += [plain.with_law('stribeck', speeds, stribeck_velocity=fading, exponent=2.0) for fading in FADING]
        sizes = {
            'viscous_positive': size / speeds, 'viscous_negative': size / speeds,
            'coulomb_positive': size, 'coulomb_negative': size,
            'load_friction': size / (np.sqrt(np.mean(samples.efforts**2, axis=0)) + 1e-300),
            # of Stribeck laws what fades; their rest is that of the first law
            'static': size,
        }  # fmt: skip
        count = len(samples.lively)
        return cls(kept(lambda part: _columns(terms, sizes, samples[part]), count), count)

    def __call__(self, part: slice) -> Array:
        """Columns (n, A, F) of some samples."""
        return self.columns(part)

    def forces(self, parameters: Array) -> Array:
        """Friction (N, A) by parameters (A, F)."""
        return joined(lambda part: np.einsum('naf,af->na', self.columns(part), parameters), self.count)


def _columns(terms: Sequence[Term], sizes: Mapping[str, Array], samples: JointSamples) -> Array:
    """Columns (N, A, F) of the parameters that have a size (A,)."""
    found = []
    for term in terms:
        columns, owners = term.columns(samples), term.column_places
        kinds = np.array([name.rpartition('.')[2] for name in term.names])
        for kind in dict.fromkeys(kinds.tolist()):
            if kind in sizes:
                own = np.flatnonzero(kinds == kind)
                found.append(sizes[kind] * columns[:, own[np.argsort(owners[own])]])
    return np.stack(found, axis=-1)


@dataclass(frozen=True)
class BodyColumns:
    """Columns (n, A, K) of a motion, one per unit standard deviation: all at once they are large.

    Attributes
    ----------
    structure : columns (n', A, P) of the bodies, own ones for each leg, at some poses
    root : (P, K - A) of the prior covariance of their parameters, without directions that make no force
    rotors : (n, A) forces of one standard deviation of each drive's rotor, the last A columns
    """

    structure: OfPart
    root: Array
    rotors: Array

    @classmethod
    def of(cls, machine: Machine, motion: PlatformMotion) -> tuple[BodyColumns, Array]:
        """Columns along a motion, and the forces (n, A) of the nominal bodies and rotors."""
        model = ObservationModel(machine, identical_legs=False, friction='none')
        values = model.all_parameters(machine)[model.inertial]
        structure = kept(lambda part: model.structure(motion[part]), len(motion))
        known = inverse_dynamics(machine, motion, friction=False)
        every = cls(structure, _prior_root(model, values), _of_rotors(model, motion, known))
        # the same prior on fewer columns: directions that make no force are left out
        sizes, directions = np.linalg.eigh(normal_matrix(every._bodies, len(motion)))
        seen = sizes > 1e-14 * sizes[-1]
        return cls(structure, every.root @ directions[:, seen], every.rotors), known

    def __len__(self) -> int:
        """Number of columns."""
        return self.root.shape[1] + self.rotors.shape[1]

    def __call__(self, part: slice) -> Array:
        """Columns (n', A, K) of some poses."""
        rotors = self.rotors[part, :, None] * np.eye(self.rotors.shape[1])
        return np.concatenate([self._bodies(part), rotors], axis=-1)

    def forces(self, change: Array) -> Array:
        """Forces (n, A) of a change (K,)."""
        bodies, rotors = np.split(change, [self.root.shape[1]])
        values = self.root @ bodies
        return joined(lambda part: self.structure(part) @ values + self.rotors[part] * rotors, len(self.rotors))

    def _bodies(self, part: slice) -> Array:
        return self.structure(part) @ self.root


def _prior_root(model: ObservationModel, values: Array) -> Array:
    """Root (P, K) of the prior covariance of all inertial parameters (P,)."""
    covariance = nominal_covariance(model.all_names[model.inertial], values, TRUST, TRUST)
    scale = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    used = scale > 0.0
    correlation = covariance[np.ix_(used, used)] / np.outer(scale[used], scale[used])
    eigenvalues, vectors = np.linalg.eigh(correlation)
    kept = eigenvalues > 1e-9
    root = np.zeros((len(values), np.count_nonzero(kept)))
    root[used] = scale[used, None] * vectors[:, kept] * np.sqrt(eigenvalues[kept])
    return root


def _of_rotors(model: ObservationModel, motion: PlatformMotion, known: Array) -> Array:
    """Forces (n, A) of rotors unlike the nominal ones, by one standard deviation each."""
    term = OneFactor(DRIVE_INERTIA, model.machine.actuated_joint_names)
    # per unit of inertia: the accelerations of the drives
    unit = joined(lambda part: term.columns(model.joint_samples(motion[part], motion[part], 0.0)), len(motion))
    moved = np.std(known, axis=0) / np.maximum(np.std(unit, axis=0), 1e-300)
    rotor = term.nominal(model.machine)
    return np.where(rotor > 0.0, ROTOR_TRUST * rotor, UNKNOWN_ROTORS * moved) * unit


# Equations of a recording: efforts and columns below one frequency, without the samples that say nothing.
#
# Each row is a mean around an instant with the weights of a bell of finite length. What is left out is zero in efforts
# and columns alike, *before* the mean is taken, so that the unknown force of a drive that turns touches no row, and
# rows are left between reversals that follow each other closely.
@dataclass(frozen=True)
class Rows:
    """Makes rows of samples and of forces at the model's poses.

    Attributes
    ----------
    places : (m,) samples around which the means are taken
    time : (m,) s
    used : (m, A) 1 where enough samples are left, else 0
    """

    places: NDArray[np.intp]
    time: Array
    used: Array
    _kept: NDArray[np.bool_]
    _half: int
    _means: csr_array
    _from_poses: tuple[csr_array, ...]

    def of_samples(self, values: Array) -> Array:
        """Rows (m, A, ...) of values at all samples (N, A, ...)."""
        return self.of_parts(lambda part: values[part])

    def of_parts(self, values: OfPart) -> Array:
        """Rows (m, A, ...) of values (N, A, ...) that a function gives for a part of the samples."""
        found = []
        for part in blocks(len(self.places), max(1, BLOCK * len(self.places) // len(self._kept))):
            wide = slice(self.places[part][0] - self._half, self.places[part][-1] + self._half + 1)
            own = values(wide)
            kept = self._kept[wide].reshape(*own.shape[:2], *[1] * (own.ndim - 2)) * own
            rows = self._means[part][:, wide] @ kept.reshape(len(kept), -1)
            found.append(rows.reshape(-1, *own.shape[1:]))
        return np.concatenate(found)

    def of_poses(self, values: Array) -> Array:
        """Rows (m, A, ...) of smooth values at the model's poses (n, A, ...)."""
        return self.of_pose_parts(lambda part: values[part])

    def of_pose_parts(self, values: OfPart) -> Array:
        """Rows (m, A, ...) of smooth values (n, A, ...) that a function gives for a part of the poses."""
        rows: list[Array] = []
        for part in blocks(self._from_poses[0].shape[1]):
            given = values(part)
            flat = given.reshape(*given.shape[:2], -1)
            found = [own[:, part] @ flat[:, drive] for drive, own in enumerate(self._from_poses)]
            rows = [one + more for one, more in zip(rows, found, strict=True)] if rows else found
        return np.stack(rows, axis=1).reshape(-1, *given.shape[1:])


def rows_of(model: ForceModel, left_out: NDArray[np.bool_]) -> Rows:
    """Rows without the samples (N, A) that are left out, drive by drive."""
    rate, count = model.sample_rate, len(model.full_time)
    step = model.places[1] - model.places[0]
    half = int(_REACH * rate / model.cutoff)
    # whole poses from one row to the next
    every = max(1, int(rate / (_ROWS * model.cutoff) / step))
    # the bell ends between the first and the last pose
    places = model.places[::every]
    places = places[(places >= model.places[0] + half) & (places <= model.places[-1] - half)]
    offsets = np.arange(-half, half + 1)
    bell = np.exp(-0.5 * (offsets * model.cutoff / rate / _WIDTH) ** 2)
    columns = places[:, None] + offsets
    starts = np.arange(len(places) + 1) * len(offsets)
    weights = np.tile(bell / bell.sum(), len(places))
    means = csr_array((weights, columns.ravel(), starts), shape=(len(places), count))
    between = _between_poses(model, count)
    kept = ~left_out
    from_poses = tuple(csr_array(means @ diags_array(column.astype(float)) @ between) for column in kept.T)
    used = np.asarray(means @ kept.astype(float) > _LEAST, dtype=float)
    return Rows(places, model.full_time[places], used, kept, half, means, from_poses)


def _between_poses(model: ForceModel, count: int) -> csr_array:
    """Values at all samples (N, n) from those at the poses: cubics through the four nearest."""
    first, step, poses = int(model.places[0]), int(model.places[1] - model.places[0]), len(model.places)
    place = (np.arange(count) - first) / step
    left = np.clip(np.floor(place).astype(int), 1, poses - 3)
    part = np.clip(place, 0.0, poses - 1.0) - left
    weights = np.stack(
        [
            -part * (part - 1.0) * (part - 2.0) / 6.0,
            (part + 1.0) * (part - 1.0) * (part - 2.0) / 2.0,
            -(part + 1.0) * part * (part - 2.0) / 2.0,
            (part + 1.0) * part * (part - 1.0) / 6.0,
        ],
        axis=1,
    )
    columns = left[:, None] + np.arange(-1, 3)
    return csr_array((weights.ravel(), columns.ravel(), np.arange(count + 1) * 4), shape=(count, poses))
