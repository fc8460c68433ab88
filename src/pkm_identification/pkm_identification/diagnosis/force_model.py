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
from pkm_description.machine import Machine
from scipy.interpolate import CubicSpline

from pkm_identification.blocks import OfPart, joined, kept
from pkm_identification.columns.friction_term import FrictionTerm
from pkm_identification.columns.joint_samples import JointSamples
from pkm_identification.columns.joint_terms import LOAD_FRICTION, OneFactor
from pkm_identification.columns.term import Term
from pkm_identification.diagnosis.body_columns import BodyColumns
from pkm_identification.motion_source.filters import derivatives, excitation_band, low_pass, settling_samples
from pkm_identification.motion_source.sticking import just_started, reversing
from pkm_identification.recording.recording import Recording

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
