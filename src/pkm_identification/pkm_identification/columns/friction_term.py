"""Friction of joints by any law of the library, its nonlinear parameters included."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Self

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.dynamics.friction import joint_friction_law
from pkm_description.friction_laws.law import FrictionLaw
from pkm_description.friction_laws.laws import friction_law, friction_law_class
from pkm_description.kernels.friction import deflect
from pkm_description.machine import Joint, Machine

from pkm_identification.columns.term import JointSamples, Term, passive_columns

#: factors on the start within which a stiffness is searched
PRESLIDING_REACH = 1e-2, 1e2
#: m or rad, least distance at the start: of drives that do not move
SHORTEST = 1e-10

#: parameters whose columns jump with the sign of the velocity
JUMPS = ('coulomb', 'static')
#: a nonlinear parameter is searched within these factors of its start: much faster, and a Stribeck velocity would be
#: that of viscous friction
REACH = 0.05, 6.0
#: least and largest values of parameters that have such by their meaning
LIMITS = {'exponent': (0.3, 4.0)}
#: nonlinear parameters that joints of the same kind share in any case: it says how friction works, and one drive alone
#: hardly determines it
SHARED = ('exponent',)
#: nonlinear parameters that stay as the file has them: a recording shows their product with a coefficient
HELD = ('additional_load',)
#: where a search of nonlinear parameters begins that no machine file states; velocities as parts of the fastest one
BEGIN = {'stribeck_velocity': 0.05, 'exponent': 1.0}


class Pooled(Term, ABC):
    """A force whose nonlinear parameters joints of the same kind share, or have each.

    Parameters
    ----------
    joints, kinds : names of the joints, and of the kind of each
    pooled : whether they share them
    single : names of the joints' nonlinear parameters, such as ``leg1_prismatic.exponent``

    Attributes
    ----------
    owners : place in ``shape`` of each of ``single``
    can_be_pooled : whether there are joints of a kind with such parameters
    """

    def __init__(self, joints: Sequence[str], kinds: Sequence[str], pooled: bool, single: Sequence[str]) -> None:
        self.joints, self.kinds, self.pooled = tuple(joints), tuple(kinds), pooled
        owners = [self.shared_name(name) for name in single]
        # those of joints' own first
        self.shape_names = tuple(dict.fromkeys(sorted(owners, key=lambda owner: owner not in single)))
        self.owners: NDArray[np.intp] = np.array([self.shape_names.index(owner) for owner in owners], dtype=np.intp)
        of_kinds = [self._of_kind(name) for name in single if name.rpartition('.')[2] not in SHARED]
        self.can_be_pooled = len(set(of_kinds)) < len(of_kinds)
        if pooled and self.can_be_pooled:
            kinds_of_values = ', '.join(dict.fromkeys(name.rpartition('.')[2] for name in single))
            self.note = (
                f'drives of the same kind share their {kinds_of_values}, which the recording does not contradict; the '
                'standard deviations allow for drives that differ'
            )

    @abstractmethod
    def pooling(self, pooled: bool) -> Self:
        """The same force with parameters of kinds of joints, or of single ones; a mean becomes of each."""

    def shared_name(self, name: str) -> str:
        """Name here of a nonlinear parameter of a joint, ``joint.parameter``; others stay."""
        joint, _, parameter = name.rpartition('.')
        return self._of_kind(name) if joint in self.joints and (self.pooled or parameter in SHARED) else name

    def _of_kind(self, name: str) -> str:
        joint, _, parameter = name.rpartition('.')
        return f'{self.kinds[self.joints.index(joint)]}.{parameter}'

    def _means(self, values: Array) -> Array:
        """Means (Q,) of values, one for each of ``single``, over the joints that share a parameter."""
        return np.array([values[self.owners == place].mean() for place in range(len(self.shape_names))])


class FrictionTerm(Pooled):
    """Friction laws of joints, driven ones or all.

    Parameters
    ----------
    joints : their names
    laws : one each
    places : of each, as of :class:`~pkm_identification.columns.term.Term`
    kinds : name of the kind of each
    pooled : whether joints of the same kind share all nonlinear parameters, not the exponents only; of differing ones
        the mean
    """

    kind = 'friction'
    title = 'friction of the joints'
    dissipates = True

    def __init__(
        self, joints: Sequence[str], laws: Sequence[FrictionLaw], places: Sequence[int], kinds: Sequence[str],
        pooled: bool = False,
    ) -> None:  # fmt: skip
        pairs = list(zip(joints, laws, strict=True))
        super().__init__(joints, kinds, pooled, [f'{joint}.{name}' for joint, law in pairs for name in _searched(law)])
        self.laws, self.places = tuple(laws), tuple(places)
        self.from_model = self.needs_loads = any(law.needs_load for law in laws)
        counts = [len(law.linear_parameter_names) for law in self.laws]
        self.column_places = np.repeat(np.array(self.places, dtype=np.intp), counts)
        self._parts = np.split(np.arange(sum(counts)), np.cumsum(counts)[:-1])
        self.names = tuple(f'{joint}.{name}' for joint, law in pairs for name in law.linear_parameter_names)
        self._own = np.split(self.owners, np.cumsum([len(_searched(law)) for law in laws])[:-1])
        self.shape = self._means(np.array([value for law in laws for value in _searched(law).values()]))
        limits = [
            LIMITS.get(name.rpartition('.')[2], (value * REACH[0], value * REACH[1]))
            for name, value in zip(self.shape_names, self.shape.tolist(), strict=True)
        ]
        self.shape_limits = np.array(limits).reshape(-1, 2)

    @classmethod
    def of(cls, machine: Machine, joints: str = 'actuated') -> FrictionTerm:
        """Laws that the machine file has for its driven joints, for the ``'passive'`` ones or for ``'all'``."""
        drives = np.argsort(np.concatenate([machine.drive_columns, passive_columns(machine)]))
        chosen = [
            (joint.name, joint_friction_law(joint), int(place), _kind(machine, joint))
            for joint, place in zip(machine.joints, drives, strict=True)
            if joints == 'all' or joint.actuated == (joints == 'actuated')
        ]
        names, laws, places, kinds = zip(*chosen, strict=True)
        return cls(names, laws, places, kinds)

    def pooling(self, pooled: bool) -> FrictionTerm:
        """The same laws with nonlinear parameters of kinds of joints, or of single ones; a mean becomes of each."""
        other = self._with_laws(self.laws, pooled)
        return other.with_shape(other.shape)

    def _with_laws(self, laws: Sequence[FrictionLaw], pooled: bool) -> FrictionTerm:
        return FrictionTerm(self.joints, laws, self.places, self.kinds, pooled)

    def with_law(self, name: str, speeds: Array, **shape: float) -> FrictionTerm:
        """The same joints, the driven ones with another law.

        ``speeds`` (A,) of the fastest motion scale where the search begins. Parameters that both laws have are kept,
        but for those in ``shape``; levels by direction begin at that of both, the static one else at that of Coulomb
        friction.
        """
        kind = friction_law_class(name)
        laws = []
        for law, place in zip(self.laws, self.places, strict=True):
            if place >= len(speeds):
                laws.append(law)
                continue
            values = {key: float(getattr(law, key, 0.0)) for key in kind.parameter_names('linear')}
            coulomb = float(getattr(law, 'coulomb', 0.0))
            for key in values:
                if key.startswith(JUMPS) and not hasattr(law, key):
                    values[key] = float(getattr(law, key.partition('_')[0], coulomb))
            begin = {key: BEGIN.get(key, 1.0) for key in kind.parameter_names('nonlinear')} | shape
            if 'stribeck_velocity' in begin:
                begin['stribeck_velocity'] *= float(speeds[place])
            kept = {key: getattr(law, key) for key in begin if key not in shape and hasattr(law, key)}
            laws.append(friction_law({'law': name} | values | begin | kept))
        return self._with_laws(laws, self.pooled)

    def with_shape(self, shape: Array) -> FrictionTerm:
        """The same laws with other nonlinear parameters (Q,)."""
        laws = [
            friction_law(law.mapping() | dict(zip(_searched(law), shape[own].tolist(), strict=True)))
            for law, own in zip(self.laws, self._own, strict=True)
        ]
        return self._with_laws(laws, self.pooled)

    def nominal(self, machine: Machine) -> Array:
        """Linear parameters (P,) of a machine's laws; of parameters that they do not have, those of this term."""
        found, joints = [], {joint.name: joint for joint in machine.joints}
        for name, law in zip(self.joints, self.laws, strict=True):
            other = joint_friction_law(joints[name])
            found += [getattr(other, key, getattr(law, key)) for key in law.linear_parameter_names]
        return np.array(found, dtype=float)

    def columns(self, samples: JointSamples) -> Array:
        """Columns (N, P); what jumps with the sign takes the lively velocities."""
        result = np.empty((len(samples.positions), len(self.names)))
        for place, law, part in zip(self.places, self.laws, self._parts, strict=True):
            own, at = samples.joint(place)
            smooth = law.regressor(own.velocities[:, at], own.loads[:, at])
            lively = _turning(partial(law.regressor, load=own.loads[:, at]), own, at)
            result[:, part] = np.where(_jumps(law), lively, smooth)
        return result

    def by_deflection(self, samples: JointSamples) -> Array:
        """See the base class: half of what the laws of the drives differ by between both directions."""
        result = np.zeros((len(samples.positions), len(self.names)))
        for place, law, part in zip(self.places, self.laws, self._parts, strict=True):
            if place < samples.lively.shape[1]:
                speed, load = np.abs(samples.lively[:, place]), samples.loads[:, place]
                jump = 0.5 * (law.regressor(speed, load) - law.regressor(-speed, load))
                result[:, part] = np.where(_jumps(law), jump, 0.0)
        return result

    def shape_slopes(self, samples: JointSamples, parameters: Array) -> tuple[Array, NDArray[np.intp]]:
        """Derivatives (N, R) by the nonlinear parameters."""
        if not self.shape_names:
            return super().shape_slopes(samples, parameters)
        found = []
        for place, law, part in zip(self.places, self.laws, self._parts, strict=True):
            own, at = samples.joint(place)
            found.append(_turning(partial(_sensitivity, law, parameters[part], own.loads[:, at]), own, at))
        places = np.repeat(self.places, [len(own) for own in self._own])
        return np.concatenate(found, axis=1), np.stack([places, self.owners])


def _kind(machine: Machine, joint: Joint) -> str:
    """Drives are of the same kind where they all turn, or all slide; passive joints at the same place of their legs."""
    if joint.actuated:
        kinds = {one.kind for one in machine.actuated_joints}
        return 'drives' if len(kinds) == 1 else f'{joint.kind}_drives'
    leg = next(leg for leg in machine.legs if any(one is joint for one in leg.joints))
    return f'leg_{joint.name.removeprefix(leg.name + "_")}'


def _searched(law: FrictionLaw) -> dict[str, float]:
    """Nonlinear parameters that are identified, and their values."""
    return {name: value for name, value in law.nonlinear_parameters.items() if name not in HELD}


def _jumps(law: FrictionLaw) -> list[bool]:
    """Which columns jump with the sign of the velocity."""
    return [name.startswith(JUMPS) for name in law.linear_parameter_names]


def _turning(values: Callable[[Array], Array], samples: JointSamples, column: int) -> Array:
    """Values (N, K) of a law between those of both directions, as far as the contact of a joint has turned."""
    speed, part = np.abs(samples.lively[:, column]), 0.5 * samples.signs[:, column, None]
    return np.asarray((0.5 + part) * values(speed) + (0.5 - part) * values(-speed))


def _sensitivity(law: FrictionLaw, parameters: Array, load: Array, velocity: Array) -> Array:
    """Derivatives (N, Q) at linear parameters (P,), in which they are linear.

    A law itself refuses negative ones: those by themselves, and taken away.
    """
    wanted = [place for place, name in enumerate(law.nonlinear_parameters) if name not in HELD]
    total: Array = np.zeros((len(velocity), len(wanted)))
    for sign in (1.0, -1.0):
        own = np.maximum(sign * parameters, 0.0)
        if own.any():
            total = total + sign * law.with_linear_parameters(own).nonlinear_sensitivity(velocity, load)[:, wanted]
    return total


class Presliding(Pooled):
    """The way after a reversal in which friction of the drives goes from one direction to the other.

    A contact that turns is deflected like a spring before it slides. Until then its friction is the part of that of
    sliding by which it is deflected. It slides when the spring holds the friction of sliding: the way to there grows
    with the load that friction grows with, and is longest at rest, where Stribeck friction is
    (:func:`pkm_description.kernels.friction.deflect`). All friction of the drives goes with it, so there are no
    columns. Drives of the same kind share the stiffness, or have each their own.

    Parameters
    ----------
    drives : their names
    kinds : of each drive
    stiffnesses : (A,) N/m or N m/rad
    begin : stiffnesses about which they are searched; default: ``stiffnesses``
    pooled : whether drives of the same kind share it; theirs is the geometric mean
    """

    kind = 'presliding'
    title = 'friction of the drives that rises over a distance after reversals (pre-sliding)'
    dissipates = True

    def __init__(
        self, drives: Sequence[str], kinds: Sequence[str], stiffnesses: Sequence[float],
        begin: Sequence[float] | None = None, pooled: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(drives, kinds, pooled, [f'{drive}.presliding_stiffness' for drive in drives])
        self.stiffnesses = tuple(stiffnesses)
        self._begin = self.stiffnesses if begin is None else tuple(begin)
        self.shape, begins = (np.exp(self._means(np.log(values))) for values in (self.stiffnesses, self._begin))
        self.shape_limits = np.outer(begins, PRESLIDING_REACH)

    @classmethod
    def of(cls, machine: Machine, distances: Array, levels: Array | None = None) -> Presliding:
        """Begin with distances (A,) of the drives, m or rad, at levels (A,) of their friction, N or N m.

        Levels that are not given, or not positive, are Coulomb friction of the machine file, or 1.
        """
        stated = np.array([joint.friction.coulomb for joint in machine.actuated_joints])
        levels = stated if levels is None else np.where(levels > 0.0, levels, stated)
        stiffnesses = np.where(levels > 0.0, levels, 1.0) / np.maximum(distances, SHORTEST)
        kinds = [_kind(machine, joint) for joint in machine.actuated_joints]
        return cls(machine.actuated_joint_names, kinds, stiffnesses.tolist())

    def with_shape(self, shape: Array) -> Presliding:
        """Other stiffnesses (Q,) N/m or N m/rad."""
        return Presliding(self.joints, self.kinds, shape[self.owners].tolist(), self._begin, self.pooled)

    def pooling(self, pooled: bool) -> Presliding:
        """The same contacts with stiffnesses of kinds of drives, or of single ones."""
        return Presliding(self.joints, self.kinds, self.stiffnesses, self._begin, pooled)

    def deflected(self, samples: JointSamples, period: float) -> JointSamples:
        """Samples with levels, whose contacts are deflected; ``period`` s from sample to sample."""
        return replace(samples, deflections=self._deflections(samples, period)[0])

    def deflection_slopes(self, samples: JointSamples, period: float) -> Array:
        """Changes (N, A) of the deflections by the drives' stiffnesses, arguments as of :meth:`deflected`."""
        return self._deflections(samples, period)[1]

    def of_owners(self, values: Array) -> Array:
        """Sums (..., Q) over the drives that share a stiffness of values (..., A) of the drives."""
        return values @ (self.owners[:, None] == np.arange(len(self.shape_names)))

    def _deflections(self, samples: JointSamples, period: float) -> tuple[Array, Array]:
        if samples.levels is None:
            raise ValueError('pre-sliding needs the levels of friction: see fitting.prediction.at_levels')
        found = np.empty((2, *samples.lively.shape))
        lively, directions, levels = (
            np.ascontiguousarray(one) for one in (samples.lively, samples.directions, samples.levels)
        )
        deflect(lively, directions, period, levels, np.array(self.stiffnesses), found[0], found[1])
        return found[0], found[1]


def presliding_of(terms: Sequence[Term]) -> Presliding | None:
    """The term of this kind, if there is one."""
    return next((term for term in terms if isinstance(term, Presliding)), None)
