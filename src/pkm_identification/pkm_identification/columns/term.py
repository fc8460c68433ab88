"""A kind of force in the drives: columns that are linear in its parameters, and parameters that shape them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.kinematics.joint_motion import JointMotion
from pkm_description.machine import Machine

from pkm_identification.blocks import joined

#: what the motion alone tells
MOTION = ('positions', 'velocities', 'accelerations', 'lively', 'sign_shares')


class Term:
    """Forces of one kind. Each column is the force in one joint, per unit of a parameter.

    Joints are told by their place: drives first, then passive joints, both in the order of the machine. Forces in
    passive joints, and those of redundant drives, reach the drives by virtual power.

    Attributes
    ----------
    kind : name in settings
    title : what it is, in words for reports
    dissipates : whether it is friction
    passed_on : whether friction that grows with the drive's force feels it; what is periodic in the motor, and what
        only the sensor shows, it does not
    from_model : whether its columns are computed from forces that the model predicts, so that they change with it
    needs_loads : whether they are computed from forces in the joints that a motion of the whole machine gives
    on_platform : whether it acts on the platform, and not in joints: then the model has its columns
    note : what a result with these forces must say; empty: nothing
    names : of the P linear parameters, such as ``leg1_prismatic.viscous``
    column_places : (P,) place of each column's joint
    shape_names, shape : of the Q parameters in which the forces are not linear, and their values (Q,)
    shape_limits : (Q, 2) least and largest values
    """

    kind: str
    title: str

    dissipates: bool = False
    passed_on: bool = True
    from_model: bool = False
    needs_loads: bool = False
    on_platform: bool = False
    note: str = ''
    names: tuple[str, ...] = ()
    column_places: NDArray[np.intp] = np.zeros(0, dtype=np.intp)
    shape_names: tuple[str, ...] = ()
    shape: Array = np.zeros(0)
    shape_limits: Array = np.zeros((0, 2))

    def columns(self, samples: JointSamples) -> Array:
        """Force (N, P) in the column's joint per unit of each parameter; there are terms without any."""
        return np.zeros((len(samples.positions), 0))

    def by_deflection(self, samples: JointSamples) -> Array:
        """Change (N, P) of the columns per unit of the contacts' deflections, in which they are affine."""
        full, none = np.ones_like(samples.lively), np.zeros_like(samples.lively)
        return self.columns(replace(samples, deflections=full)) - self.columns(replace(samples, deflections=none))

    def nominal(self, machine: Machine) -> Array:
        """Values (P,) that a machine file states; zero for forces that it does not know."""
        return np.zeros(len(self.names))

    def with_shape(self, shape: Array) -> Term:
        """The same forces with other nonlinear parameters (Q,)."""
        return self

    def shape_slopes(self, samples: JointSamples, parameters: Array) -> tuple[Array, NDArray[np.intp]]:
        """Derivatives (N, R) of forces in single joints by shape parameters at linear parameters (P,).

        Returns
        -------
        slopes : (N, R)
        places : (2, R) place of the joint and shape parameter of each
        """
        return np.zeros((len(samples.positions), 0)), np.zeros((2, 0), dtype=np.intp)


class PerJoint(Term, ABC):
    """The same columns for each of some joints.

    Parameters
    ----------
    joints : their names

    Attributes
    ----------
    parameters : names of a joint's
    """

    parameters: tuple[str, ...]

    def __init__(self, joints: Sequence[str]) -> None:
        self.joints = tuple(joints)
        self.names = tuple(f'{joint}.{name}' for joint in self.joints for name in self.parameters)
        self.column_places = np.repeat(np.arange(len(self.joints)), len(self.parameters))

    @abstractmethod
    def forms(self, samples: JointSamples) -> Sequence[Array]:
        """One array (N, K) per parameter of a joint."""

    def columns(self, samples: JointSamples) -> Array:
        """Force (N, P) in the column's joint per unit of each parameter."""
        stacked = np.stack(list(self.forms(samples)), axis=-1)
        return stacked.reshape(len(stacked), -1)


@dataclass(frozen=True)
class JointSamples:
    """Motion of A drives in N samples, m or rad and their rates, and forces that the model predicts.

    When a joint reverses, friction jumps, so does the acceleration, and the velocity has a kink. A low-pass rounds the
    kink and shifts the zero crossing by milliseconds, always to the same side. So what jumps with the sign takes
    livelier velocities, with a higher cut-off frequency. Their noise would reverse a drive that is slow and does not
    turn: that counts only near reversals of the smooth velocity. The sign of a sample is averaged over its interval,
    for a reversal falls between samples. No smoothing beyond that: with the kink it would shift the reversal again.

    Attributes
    ----------
    positions, velocities, accelerations : (N, A) smooth
    lively : (N, A) velocities for what jumps with the sign, near reversals with a higher cut-off frequency
    sign_shares : (N, A) from 0 to 1: size of the sign's average over the sample's interval
    efforts, effort_rates : (N, A) N or N m and their rates: drive forces without friction; zero before there is a
        model
    passed_on : (N, A) N or N m: what the drives pass on to the machine, without friction, rotors and what only their
        sensors show; default: ``efforts``
    deflections : (N, A) from -1 to 1, of contacts that do not slide at once after a reversal; none: they do
    levels : (N, A) N or N m, friction of the drives when their contacts slide; none: not asked for
    loads : (N, A) N, force across the axis in the driven joints; zero before there is a model
    passive : the same of the passive joints, where a term asks for them; of long recordings they are there part by
        part only. Their ``efforts`` are sizes of the forces
        along the axes of hinges, N; on planar machines, where rigid bodies do not determine them, zero
    """

    positions: Array
    velocities: Array
    accelerations: Array
    lively: Array
    sign_shares: Array
    efforts: Array = field(default_factory=lambda: np.zeros((0, 0)))
    effort_rates: Array = field(default_factory=lambda: np.zeros((0, 0)))
    loads: Array = field(default_factory=lambda: np.zeros((0, 0)))
    passed_on: Array = field(default_factory=lambda: np.zeros((0, 0)))
    passive: JointSamples | PassiveSamples | None = None
    deflections: Array | None = None
    levels: Array | None = None

    def __post_init__(self) -> None:
        for name in ('efforts', 'effort_rates', 'loads'):
            if not getattr(self, name).size:
                object.__setattr__(self, name, np.broadcast_to(0.0, self.positions.shape))
        if not self.passed_on.size:
            object.__setattr__(self, 'passed_on', self.efforts)

    @classmethod
    def of(
        cls, machine: Machine, smooth: JointMotion, lively: JointMotion, sample_period: float, passive: bool = False
    ) -> JointSamples:
        """Samples by the motion of all joints.

        Parameters
        ----------
        sample_period : s, 0 for states by themselves
        passive : also of the passive joints
        """
        shares = sign_shares(lively, sample_period)

        def of(columns: NDArray[np.intp], others: JointSamples | None = None) -> JointSamples:
            return cls(
                smooth.positions[:, columns], smooth.velocities[:, columns], smooth.accelerations[:, columns],
                lively.velocities[:, columns], shares[:, columns], passive=others,
            )  # fmt: skip

        return of(machine.drive_columns, of(passive_columns(machine)) if passive else None)

    @classmethod
    def in_blocks(cls, of_part: Callable[[slice], JointSamples], count: int) -> JointSamples:
        """All samples of the drives, without forces, computed in blocks."""

        def stacked(part: slice) -> Array:
            own = of_part(part)
            return np.stack([getattr(own, name) for name in MOTION], axis=1)

        return cls(*np.moveaxis(joined(stacked, count), 1, 0))

    def __getitem__(self, part: slice) -> JointSamples:
        """Some of the samples."""
        return JointSamples(**{name: values[part] for name, values in vars(self).items() if values is not None})

    def with_forces(self, efforts: Array, loads: Array) -> JointSamples:
        """The same motion with forces (N, A) in the joints."""
        return replace(self, efforts=efforts, loads=loads, passed_on=efforts)

    @property
    def passive_joints(self) -> JointSamples:
        """Those of the passive joints."""
        if self.passive is None:
            raise ValueError('these samples are of the drives only')
        return self.passive.computed if isinstance(self.passive, PassiveSamples) else self.passive

    def joint(self, place: int) -> tuple[JointSamples, int]:
        """Samples that have the joint at a place of :class:`~pkm_identification.columns.term.Term`, and its column."""
        drives = self.positions.shape[1]
        return (self, place) if place < drives else (self.passive_joints, place - drives)

    def lively_only(self, near: NDArray[np.bool_], sample_period: float) -> JointSamples:
        """The livelier velocities ``near`` (N, A) reversals only; the smooth ones elsewhere."""
        return replace(
            self,
            lively=np.where(near, self.lively, self.velocities),
            sign_shares=np.where(near, self.sign_shares, sign_shares(self, sample_period)),
        )

    def smoothed(self, width: float) -> JointSamples:
        """Samples with a tanh of the velocity over ``width``, m/s or rad/s, in place of its sign; 0: as they are."""
        if not width:
            return self
        passive = self.passive_joints.smoothed(width) if self.passive is not None else None
        return replace(self, sign_shares=np.abs(np.tanh(self.lively / width)), passive=passive)

    @property
    def directions(self) -> Array:
        """Signs (N, A) of the velocities, averaged over the sample's interval."""
        return np.sign(self.lively) * self.sign_shares

    @property
    def signs(self) -> Array:
        """What friction goes with (N, A): directions of the motion, or deflections of the contacts."""
        return self.directions if self.deflections is None else self.deflections


@dataclass(frozen=True)
class PassiveSamples:
    """Samples of the passive joints of a recording, which are many: a part of them is computed where it is needed.

    Attributes
    ----------
    of_part : samples of drives and passive joints of a part, without forces
    part : which samples these are
    efforts, loads : (N, P) of the passive joints; see :class:`JointSamples`
    """

    of_part: Callable[[slice], JointSamples]
    part: slice = field(default_factory=lambda: slice(None))
    efforts: Array | None = None
    loads: Array | None = None

    def __getitem__(self, part: slice) -> PassiveSamples:
        """Some of all samples."""
        efforts, loads = (None if one is None else one[part] for one in (self.efforts, self.loads))
        return replace(self, part=part, efforts=efforts, loads=loads)

    @cached_property
    def computed(self) -> JointSamples:
        """The samples."""
        own = self.of_part(self.part).passive_joints
        if self.efforts is not None and self.loads is not None:
            own = own.with_forces(self.efforts, self.loads)
        return own

    def with_forces(self, efforts: Array, loads: Array) -> PassiveSamples:
        """The same motion with forces (N, P) in the joints."""
        return replace(self, efforts=efforts, loads=loads)


def passive_columns(machine: Machine) -> NDArray[np.intp]:
    """Columns of the joints without a drive among all joints."""
    return np.setdiff1d(np.arange(len(machine.joints)), machine.drive_columns)


def sign_shares(lively: JointMotion | JointSamples, sample_period: float) -> Array:
    """Size (N, J) of the average sign over an interval in which the velocity is linear."""
    change = 0.5 * sample_period * np.abs(lively.accelerations)
    return np.minimum(np.abs(lively.velocities) / np.maximum(change, 1e-300), 1.0)
