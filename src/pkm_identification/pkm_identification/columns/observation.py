"""The observation matrix: drive forces as a linear function of bodies, friction and further forces of the drives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.dynamics import rigid_body_parameter_names, rigid_body_parameters, rigid_body_regressor
from pkm_description.dynamics.friction import joint_shares
from pkm_description.dynamics.parameter_reduction.reduction import BaseParameters, reduce_parameters
from pkm_description.dynamics.reactions import joint_reactions
from pkm_description.errors import ConfigurationError
from pkm_description.kinematics import joint_motion
from pkm_description.kinematics.closed_legs import close_legs
from pkm_description.kinematics.drive_map import twist_per_drive
from pkm_description.kinematics.workspace import random_states
from pkm_description.machine import Machine, PlatformMotion

from pkm_identification.blocks import blocks, joined
from pkm_identification.columns.friction_term import FrictionTerm, Presliding
from pkm_identification.columns.joint_terms import (
    DRIVE_INERTIA,
    LOAD_FRICTION,
    OFFSET,
    QUADRATIC_FRICTION,
    SPRING,
    THRUST_FRICTION,
    TRANSVERSE_FRICTION,
    EffortDelay,
    Form,
    Gain,
    OneFactor,
    PlatformForce,
)
from pkm_identification.columns.term import JointSamples, Term, passive_columns
from pkm_identification.configuration import IdentificationConfig

#: forms that every drive has
_OF_DRIVES = (OFFSET, LOAD_FRICTION, TRANSVERSE_FRICTION, QUADRATIC_FRICTION, SPRING, DRIVE_INERTIA)
#: forms that passive joints have, where their friction is identified
OF_PASSIVE_JOINTS = (TRANSVERSE_FRICTION, THRUST_FRICTION)
#: parts of a drive's travel at which the search for its pre-sliding distance begins
DEFLECTION = 1e-4
#: s over which the fastest speed is averaged: sensors are noisy
SPEED_INTERVAL = 0.02


class ObservationModel:
    """Regressor of a machine for a chosen set of parameters.

    The *structure* are the columns of the bodies. The *terms* are forces of single joints.

    Parameters
    ----------
    machine : geometry, and nominal values of parameters that are held fixed
    identical_legs, friction, fixed : see :class:`pkm_identification.configuration.IdentificationConfig`
    terms : forces of joints; default with ``friction='actuated'`` the friction laws that the machine file has for the
        driven joints, with ``'all'`` for all, else none; and the :func:`stated_forms`

    Attributes
    ----------
    all_names : parameters of the structure, then of the terms
    structure_count : how many are the structure's
    free, held : places in ``all_names`` of the parameters to identify, and of those at their nominal values
    names : of the free ones
    body_count : how many of the free ones are inertial
    """

    def __init__(
        self,
        machine: Machine,
        identical_legs: bool = True,
        friction: str = 'actuated',
        fixed: Sequence[str] = (),
        terms: Sequence[Term] | None = None,
    ) -> None:
        self.machine, self.identical_legs, self.friction, self.fixed = machine, identical_legs, friction, tuple(fixed)
        if terms is None:
            terms = [FrictionTerm.of(machine, friction)] if friction != 'none' else []
            terms += [OneFactor(form, machine.actuated_joint_names) for form in stated_forms(machine)]
        self.terms = tuple(terms)
        bodies = list(rigid_body_parameter_names(machine, identical_legs=identical_legs))
        self.structure_count = len(bodies)
        self.all_names: tuple[str, ...] = (*bodies, *(name for term in self.terms for name in term.names))
        held = np.array([any(fnmatchcase(name, pattern) for pattern in fixed) for name in self.all_names])
        unused = [pattern for pattern in fixed if not any(fnmatchcase(name, pattern) for name in self.all_names)]
        if unused:
            raise ConfigurationError(
                f'fixed: no parameter matches {", ".join(unused)}; names look like {bodies[0]}, {bodies[10]}'
            )
        self.free = np.flatnonzero(~held)
        self.held = np.flatnonzero(held)
        self.names = tuple(self.all_names[index] for index in self.free)
        self.body_count = int(np.sum(self.free < len(bodies)))
        #: whether there are forces in passive joints
        self.has_passive = any((term.column_places >= machine.actuated_count).any() for term in self.terms)

    def with_terms(self, terms: Sequence[Term]) -> ObservationModel:
        """The same structure with other forces of the drives."""
        return ObservationModel(self.machine, self.identical_legs, self.friction, self.fixed, terms)

    def with_own_legs(self) -> ObservationModel | None:
        """The same model with own parameters for every leg; ``None`` where it has these or holds some of them."""
        if not self.identical_legs:
            return None
        try:
            other = ObservationModel(self.machine, False, self.friction, self.fixed, self.terms)
        except ConfigurationError:  # held parameters are those of all legs together
            return None
        return other if len(other.all_names) > len(self.all_names) else None

    def has_structure_of(self, other: ObservationModel) -> bool:
        """Whether both have the same columns but for their terms."""
        return self.machine is other.machine and self.identical_legs == other.identical_legs

    @property
    def kinds(self) -> set[str]:
        """Kinds of the terms."""
        return {term.kind for term in self.terms}

    @property
    def has_drive_friction(self) -> bool:
        """Whether there is friction in the driven joints."""
        count = self.machine.actuated_count
        return any(isinstance(term, FrictionTerm) and min(term.places) < count for term in self.terms)

    @property
    def has_shares(self) -> bool:
        """Whether drives are redundant, so that they share forces."""
        return self.machine.actuated_count != self.machine.degrees_of_freedom

    @property
    def rubbing(self) -> str:
        """Whose friction is identified: ``'actuated'``, ``'all'`` or ``'none'``."""
        return 'all' if self.has_passive else 'actuated' if self.has_drive_friction else 'none'

    def with_parameters(self, parameters: Array) -> list[tuple[Term, Array]]:
        """Terms with their linear parameters, of all parameters in the order of :attr:`all_names`."""
        ends = self.structure_count + np.cumsum([0, *(len(term.names) for term in self.terms)])
        return list(zip(self.terms, np.split(parameters, ends)[1:-1], strict=True))

    def all_parameters(self, machine: Machine) -> Array:
        """All parameters of a machine, free and held, in the order of :attr:`all_names`."""
        bodies = rigid_body_parameters(machine, identical_legs=self.identical_legs)
        return np.concatenate([bodies, *(term.nominal(machine) for term in self.terms)])

    def parameters(self, machine: Machine) -> Array:
        """Free parameters (P,) of a machine, in the order of :attr:`names`."""
        return self.all_parameters(machine)[self.free]

    def complete(self, values: Array) -> Array:
        """All parameters, free ones from ``values`` (P,), held ones nominal."""
        everything = self.all_parameters(self.machine)
        everything[self.free] = values
        return everything

    def with_base_values(self, parameters: Array, base: BaseParameters, values: Array) -> Array:
        """All parameters, those that head combinations changed such that the base parameters have values (B,)."""
        changed = parameters.copy()
        changed[self.free[base.independent]] += values - base.values(parameters[self.free])
        return changed

    def regressor(self, motion: PlatformMotion, sign_width: float = 0.0) -> tuple[Array, Array]:
        """Observation matrix (N, A, P) of the free parameters and known forces (N, A) of the held ones.

        Signs are those of the motion's own velocities; forces that depend on loads take those of the nominal machine.

        Parameters
        ----------
        sign_width : m/s or rad/s of a tanh in place of the sign; 0: the sign itself
        """
        matrix = np.empty((len(motion), self.machine.actuated_count, len(self.free)))
        known, nominal = np.empty(matrix.shape[:2]), self.all_parameters(self.machine)
        for part in blocks(len(motion)):
            now = motion[part]
            structure, samples = self.structure(now), self.joint_samples(now, now, 0.0).smoothed(sign_width)
            if any(term.from_model for term in self.terms):
                efforts = structure @ nominal[: self.structure_count]
                samples = self.with_forces(samples, now, self.machine, efforts, 0.0)
            shares = self.shares(now) if self.has_shares else None
            passive = self.passive_shares(now) if self.has_passive else None
            columns = [
                self.of_platform(now) if term.on_platform
                else self.expanded(term.columns(samples), term.column_places, shares, passive)
                for term in self.terms
            ]  # fmt: skip
            everything = np.concatenate([structure, *columns], axis=-1)
            matrix[part], known[part] = everything[..., self.free], everything[..., self.held] @ nominal[self.held]
        return matrix, known

    def structure(self, motion: PlatformMotion) -> Array:
        """Columns (N, A, S) of the structure."""
        return rigid_body_regressor(self.machine, motion, identical_legs=self.identical_legs)

    def joint_samples(
        self, motion: PlatformMotion, lively: PlatformMotion, sample_period: float, passive: bool = False
    ) -> JointSamples:
        """What the drives do, and the passive joints if asked for, or a term needs them; without forces."""
        smooth = joint_motion(self.machine, motion)
        other = smooth if lively is motion else joint_motion(self.machine, lively)
        return JointSamples.of(self.machine, smooth, other, sample_period, passive or self.has_passive)

    def with_forces(
        self, samples: JointSamples, motion: PlatformMotion, machine: Machine, efforts: Array, sample_rate: float,
        passed_on: Array | None = None,
    ) -> JointSamples:  # fmt: skip
        """Samples with the forces that terms ask for.

        Parameters
        ----------
        machine : with the bodies and the friction that are believed; it gives the forces in the joints
        efforts : (N, A) N or N m, without friction
        sample_rate : Hz, 0 for states by themselves
        passed_on : (N, A) what the drives pass on of them; default: all
        """
        rates = np.gradient(efforts, 1.0 / sample_rate, axis=0) if sample_rate > 0.0 else np.zeros_like(efforts)
        passive = samples.passive if self.has_passive else None
        samples = replace(
            samples, efforts=efforts, effort_rates=rates, passive=passive,
            passed_on=efforts if passed_on is None else passed_on,
        )  # fmt: skip
        return with_loads(samples, motion, machine) if any(term.needs_loads for term in self.terms) else samples

    def shares(self, motion: PlatformMotion) -> Array:
        """How redundant drives share forces, (N, A, A): the force in each drive on the forces of all.

        Of a machine without redundant drives each force is its own drive's.
        """
        return joint_shares(self.machine, joint_motion(self.machine, motion), self.machine.drive_columns)

    def passive_shares(self, motion: PlatformMotion) -> Array:
        """Forces (N, P, A) in the drives per unit of force in each passive joint."""
        return joint_shares(self.machine, joint_motion(self.machine, motion), passive_columns(self.machine))

    def of_platform(self, motion: PlatformMotion) -> Array:
        """Forces (N, A, 15) in the drives per unit of each parameter of :class:`PlatformForce`, by virtual power."""
        joints = joint_motion(self.machine, motion)
        legs = close_legs(self.machine, joints.position, joints.rotation_base_platform, joints.positions)
        forces, moments = np.split(np.swapaxes(twist_per_drive(legs), 1, 2), 2, axis=2)
        # arms (N, 3 of the force, 3 of the point, 3), of a force along each axis
        arms = np.cross(np.swapaxes(motion.rotation_base_platform, 1, 2)[:, None], np.eye(3)[:, None])
        levers = np.einsum('nac,nijc->naij', moments, arms).reshape(*forces.shape[:2], 9)
        away = (motion.position - self.machine.home.position)[:, None]
        return np.concatenate([forces, levers, forces * away], axis=-1)

    def expanded(
        self, columns: Array, places: NDArray[np.intp], shares: Array | None, passive: Array | None = None
    ) -> Array:
        """Columns (N, A, P) of all drives from those of single joints (N, P).

        Parameters
        ----------
        places : (P,) of the joints, as of :class:`~pkm_identification.columns.term.Term`
        shares, passive : see the methods of these names
        """
        drives = self.machine.actuated_count
        result = np.zeros((len(columns), drives, len(places)))
        for column, place in enumerate(places.tolist()):
            if place >= drives:
                assert passive is not None
                result[..., column] = passive[:, place - drives] * columns[:, column, None]
            elif shares is not None:
                result[..., column] = shares[:, place] * columns[:, column, None]
            else:
                result[:, place, column] = columns[:, column]
        return result

    def base_parameters(
        self, tolerance: float = 1e-8, samples: int = 150, seed: int = 0, eliminated: Sequence[str] = ()
    ) -> BaseParameters:
        """Reduce to base parameters over random states all over the workspace.

        A property of the machine, not of a recording. ``eliminated``: shell patterns of parameters that are regrouped
        into others where they can be.
        """
        matrix, _ = self.regressor(random_states(self.machine, samples, seed))
        rows = matrix.reshape(-1, len(self.names))
        return reduce_parameters(rows, self.names, tolerance, eliminated=tuple(eliminated), absence=1e-12)


def stated_forms(machine: Machine) -> list[Form]:
    """Forms of which the machine file has values: rotors. They are always identified.

    A data sheet that is wrong by some percent would move the masses by many of their standard deviations.
    """
    return [form for form in _OF_DRIVES if form.stated and any(map(form.stated, machine.actuated_joints))]


def with_loads(samples: JointSamples, motion: PlatformMotion, machine: Machine) -> JointSamples:
    """Samples with the forces in the joints of a machine under its own friction."""
    columns = passive_columns(machine) if samples.passive is not None else np.zeros(0, dtype=np.intp)
    hinges = np.array([machine.joints[column].kind != 'prismatic' for column in columns], dtype=bool)

    def forces(part: slice) -> Array:
        reactions = joint_reactions(machine, motion[part])
        across = reactions.loads[:, columns]
        # what is not across the axis of a hinge is along it; a slide has its own force there
        along = np.sqrt(np.maximum((reactions.joint_forces[:, columns] ** 2).sum(axis=-1) - across**2, 0.0))
        along *= hinges & (not machine.planar)
        return np.concatenate([reactions.loads[:, machine.drive_columns], along, across], axis=1)

    found = joined(forces, len(motion))
    drives, along, across = np.split(found, [machine.actuated_count, machine.actuated_count + len(columns)], axis=1)
    passive = None if samples.passive is None else samples.passive.with_forces(along, across)
    return replace(samples, loads=drives, passive=passive)


def observation_model(
    machine: Machine, config: IdentificationConfig, positions: Array, sample_rate: float
) -> ObservationModel:
    """Model of a machine with the friction law and the further forces of the settings, but for ripples.

    The period of a ripple is looked for in the residuals of a fit.

    Parameters
    ----------
    positions : (N, A) m or rad of the drives; their speeds say where the search for nonlinear parameters begins
    sample_rate : Hz

    Raises
    ------
    ConfigurationError
        Friction by the force across the axis of joints whose law has it already.
    """
    terms: list[Term] = []
    asked, passive = config.columns.terms, config.columns.friction == 'all'
    if config.columns.friction != 'none':
        friction = FrictionTerm.of(machine, config.columns.friction)
        if config.columns.friction_law:
            friction = friction.with_law(config.columns.friction_law, fastest(positions, sample_rate))
        if TRANSVERSE_FRICTION.kind in asked:
            _require_no_load(friction)
        terms.append(friction.pooling(config.columns.pooled_laws))
    joints, stated = machine.actuated_joint_names, stated_forms(machine)
    terms += [OneFactor(form, joints) for form in _OF_DRIVES if form.kind in asked or form in stated]
    if passive:
        terms += [of_passive_joints(machine, form) for form in OF_PASSIVE_JOINTS if form.kind in asked]
    if PlatformForce.kind in asked:
        terms.append(PlatformForce())
    if Gain.kind in asked:
        terms.append(Gain(joints))
    late = machine.leg_sensors.lateness if machine.has_leg_sensors else (0.0, 0.0)
    if EffortDelay.kind in asked or any(late):
        terms.append(EffortDelay(*late))
    if Presliding.kind in asked:
        terms.append(Presliding.of(machine, DEFLECTION * np.ptp(positions, axis=0)))
    identical = config.columns.identical_legs and legs_agree(machine)
    return ObservationModel(machine, identical, config.columns.friction, config.columns.fixed, terms)


def _require_no_load(friction: FrictionTerm) -> None:
    """Refuse laws of joints that depend on the load: with the same force twice, neither coefficient is known."""
    loaded = [joint for joint, law in zip(friction.joints, friction.laws, strict=True) if law.needs_load]
    if loaded:
        laws = dict.fromkeys(law.law for law in friction.laws if law.needs_load)
        raise ConfigurationError(
            f'columns.terms: {TRANSVERSE_FRICTION.kind}: the friction law of {", ".join(loaded)} ({", ".join(laws)}) '
            'grows with the force across the axis already; leave out this term, or for drives choose '
            'columns.friction_law: viscous_coulomb'
        )


def of_passive_joints(machine: Machine, form: Form) -> OneFactor:
    """A force of one form in every passive joint."""
    names = [machine.joints[place].name for place in passive_columns(machine)]
    return OneFactor(form, names, machine.actuated_count)


def legs_agree(machine: Machine) -> bool:
    """Whether the legs that are built alike have the same bodies in the machine file."""
    try:
        rigid_body_parameters(machine, identical_legs=True)
    except ValueError:
        return False
    return True


def fastest(positions: Array, sample_rate: float) -> Array:
    """Largest speeds (A,) of drives at positions (N, A)."""
    samples = int(np.clip(round(SPEED_INTERVAL * sample_rate), 1, len(positions) - 1))
    speeds = np.abs(positions[samples:] - positions[:-samples]).max(axis=0) * sample_rate / samples
    return np.asarray(np.maximum(speeds, 1e-300))
