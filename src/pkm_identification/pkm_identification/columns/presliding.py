"""Friction that rises over a short way after a reversal, as real contacts do (pre-sliding)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.kernels.presliding import deflect
from pkm_description.machine import Machine

from pkm_identification.columns.friction_term import drive_kinds
from pkm_identification.columns.term import JointSamples, Term

#: factors on the start within which a stiffness is searched
REACH = 1e-2, 1e2
#: m or rad, least distance at the start: of drives that do not move
SHORTEST = 1e-10

#: terms with their linear parameters
Forces = Sequence[tuple[Term, Array]]


class Presliding(Term):
    """The way after a reversal in which friction of the drives goes from one direction to the other.

    A contact that turns is deflected like a spring before it slides. Until then its friction is the part of that of
    sliding by which it is deflected. It slides when the spring holds the friction of sliding: the way to there grows
    with the load that friction grows with, and is longest at rest, where Stribeck friction is
    (:func:`pkm_description.kernels.presliding.deflect`). All friction of the drives goes with it, so there are no
    columns. Drives of the same kind share the stiffness, or have each their own.

    Parameters
    ----------
    drives : their names
    kinds : of each drive
    stiffnesses : (A,) N/m or N m/rad
    begin : stiffnesses about which they are searched; default: ``stiffnesses``
    pooled : whether drives of the same kind share it; theirs is the geometric mean
    note : see :class:`~pkm_identification.columns.term.Term`
    """

    kind = 'presliding'
    title = 'friction of the drives that rises over a distance after reversals (pre-sliding)'
    dissipates = True

    def __init__(
        self, drives: Sequence[str], kinds: Sequence[str], stiffnesses: Sequence[float],
        begin: Sequence[float] | None = None, pooled: bool = True, note: str = '',
    ) -> None:  # fmt: skip
        self.drives, self.kinds, self.stiffnesses = tuple(drives), tuple(kinds), tuple(stiffnesses)
        self._begin = self.stiffnesses if begin is None else tuple(begin)
        self.pooled, self.note = pooled, note
        owners = self.kinds if pooled else self.drives
        names = list(dict.fromkeys(owners))
        self.shape_names = tuple(f'{name}.presliding_stiffness' for name in names)
        #: (A,) which of them is whose
        self.places: NDArray[np.intp] = np.array([names.index(owner) for owner in owners], dtype=np.intp)

    @classmethod
    def of(cls, machine: Machine, distances: Array, levels: Array | None = None) -> Presliding:
        """Begin with distances (A,) of the drives, m or rad, at levels (A,) of their friction, N or N m.

        Levels that are not given, or not positive, are Coulomb friction of the machine file, or 1.
        """
        stated = np.array([joint.friction.coulomb for joint in machine.actuated_joints])
        levels = stated if levels is None else np.where(levels > 0.0, levels, stated)
        stiffnesses = np.where(levels > 0.0, levels, 1.0) / np.maximum(distances, SHORTEST)
        return cls(machine.actuated_joint_names, drive_kinds(machine), stiffnesses.tolist())

    def columns(self, samples: JointSamples) -> Array:
        """Return none."""
        return np.zeros((len(samples.positions), 0))

    @property
    def shape(self) -> Array:
        """Stiffnesses (Q,) N/m or N m/rad."""
        return self._means(self.stiffnesses)

    @property
    def shape_limits(self) -> Array:
        """Least and largest stiffnesses (Q, 2)."""
        return np.outer(self._means(self._begin), REACH)

    def _means(self, values: Sequence[float]) -> Array:
        logarithms = np.log(np.array(values))
        return np.exp([np.mean(logarithms[self.places == place]) for place in range(len(self.shape_names))])

    def with_shape(self, shape: Array) -> Presliding:
        """Other stiffnesses (Q,)."""
        return Presliding(self.drives, self.kinds, shape[self.places].tolist(), self._begin, self.pooled, self.note)

    @property
    def can_be_pooled(self) -> bool:
        """Whether there are drives of the same kind, which may share the stiffness or have each their own."""
        return len(set(self.kinds)) < len(self.drives)

    def pooling(self, pooled: bool, note: str = '') -> Presliding:
        """The same contacts with stiffnesses of kinds of drives, or of single ones."""
        return Presliding(self.drives, self.kinds, self.stiffnesses, self._begin, pooled, note)

    def shared_name(self, name: str) -> str:
        """Name of the stiffness that a drive shares, by that of its own."""
        drive, _, parameter = name.rpartition('.')
        return f'{self.kinds[self.drives.index(drive)]}.{parameter}'

    def deflected(self, samples: JointSamples, period: float) -> JointSamples:
        """Samples with levels, whose contacts are deflected; ``period`` s from sample to sample."""
        return replace(samples, deflections=self._deflections(samples, period)[0])

    def force_slopes(self, samples: JointSamples, period: float, terms: Forces) -> Callable[[slice], Array]:
        """Changes (n, A) of each drive's own friction by its stiffness, of a part of the samples."""
        changes = self._deflections(samples, period)[1]
        return lambda part: changes[part] * _sliding(samples[part], terms)

    def of_owners(self, values: Array) -> Array:
        """Sums (..., Q) over the drives that share a stiffness of values (..., A) of the drives."""
        return values @ (self.places[:, None] == np.arange(len(self.shape_names)))

    def _deflections(self, samples: JointSamples, period: float) -> tuple[Array, Array]:
        if samples.levels is None:
            raise ValueError('pre-sliding needs the levels of friction: see at_levels')
        found = np.empty((2, *samples.lively.shape))
        lively, directions, levels = (
            np.ascontiguousarray(one) for one in (samples.lively, samples.directions, samples.levels)
        )
        deflect(lively, directions, period, levels, np.array(self.stiffnesses), found[0], found[1])
        return found[0], found[1]


def at_levels(samples: JointSamples, terms: Forces) -> JointSamples:
    """Samples with the levels of the drives' friction by all terms of a model."""
    return replace(samples, levels=np.maximum(_sliding(samples, terms), 0.0))


def _sliding(samples: JointSamples, terms: Forces) -> Array:
    """Friction (N, A) of each drive per unit of its deflection: that of sliding."""
    drives, found = np.arange(samples.lively.shape[1]), np.zeros_like(samples.lively)
    for term, values in terms:
        if term.dissipates:
            own = (term.column_places[:, None] == drives) * values[:, None]
            found = found + term.by_deflection(samples) @ own
    return found


def presliding_of(terms: Sequence[Term]) -> Presliding | None:
    """The term of this kind, if there is one."""
    return next((term for term in terms if isinstance(term, Presliding)), None)
