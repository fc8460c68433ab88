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
from pkm_identification.columns.joint_samples import JointSamples
from pkm_identification.columns.term import Term

#: factors on the start within which a distance is searched
REACH = 1e-2, 1e2
#: m or rad, least start: of drives that do not move
SHORTEST = 1e-10


class Presliding(Term):
    """The way after a reversal in which friction of the drives goes from one direction to the other (Dahl 1968).

    A contact that turns is deflected like a spring before it slides. Until then its friction is the part of that of
    sliding by which it is deflected, ``dy/d|x| = (direction - y) / distance``. All friction of the drives goes with it,
    so there are no columns. Drives of the same kind share the distance.

    Parameters
    ----------
    kinds : of each drive
    distances : m or rad, of each kind
    begin : distances about which they are searched; default: ``distances``
    """

    kind = 'presliding'
    title = 'friction of the drives that rises over a distance after reversals (pre-sliding)'
    dissipates = True

    def __init__(self, kinds: Sequence[str], distances: Sequence[float], begin: Sequence[float] | None = None) -> None:
        self.kinds, self.distances = tuple(kinds), tuple(distances)
        self._begin = self.distances if begin is None else tuple(begin)
        names = list(dict.fromkeys(kinds))
        self.shape_names = tuple(f'{name}.presliding_distance' for name in names)
        #: (A,) which of them is whose
        self.places: NDArray[np.intp] = np.array([names.index(kind) for kind in kinds], dtype=np.intp)

    @classmethod
    def of(cls, machine: Machine, distances: Array) -> Presliding:
        """Begin with distances (A,) of the drives; kinds take the mean of theirs."""
        kinds, distances = np.array(drive_kinds(machine)), np.maximum(distances, SHORTEST)
        return cls(kinds.tolist(), [float(distances[kinds == kind].mean()) for kind in dict.fromkeys(kinds.tolist())])

    def columns(self, samples: JointSamples) -> Array:
        """Return none."""
        return np.zeros((len(samples.positions), 0))

    @property
    def shape(self) -> Array:
        """Distances (Q,) m or rad."""
        return np.array(self.distances)

    @property
    def shape_limits(self) -> Array:
        """Least and largest distances (Q, 2)."""
        return np.outer(self._begin, REACH)

    def with_shape(self, shape: Array) -> Presliding:
        """Other distances (Q,) m or rad."""
        return Presliding(self.kinds, shape.tolist(), self._begin)

    def deflected(self, samples: JointSamples, period: float) -> JointSamples:
        """Samples whose contacts are deflected; ``period`` s from sample to sample."""
        return replace(samples, deflections=self._deflections(samples, period)[0])

    def force_slopes(
        self, samples: JointSamples, period: float, terms: Sequence[tuple[Term, Array]]
    ) -> Callable[[slice], Array]:
        """Changes (n, A) of each drive's own friction by its distance, of a part of the samples.

        Parameters
        ----------
        terms : with their linear parameters
        """
        changes = self._deflections(samples, period)[1]
        drives = np.arange(len(self.kinds))
        rubbing = [
            (term, (term.column_places[:, None] == drives) * values[:, None])
            for term, values in terms
            if term.dissipates
        ]

        def forces(part: slice) -> Array:
            now = samples[part]
            return changes[part] * sum((term.by_deflection(now) @ own for term, own in rubbing), np.zeros(()))

        return forces

    def of_kinds(self, values: Array) -> Array:
        """Sums (..., Q) over the drives of each kind of values (..., A) of the drives."""
        return values @ (self.places[:, None] == np.arange(len(self.shape_names)))

    def _deflections(self, samples: JointSamples, period: float) -> tuple[Array, Array]:
        found = np.empty((2, *samples.lively.shape))
        lively, directions = np.ascontiguousarray(samples.lively), np.ascontiguousarray(samples.directions)
        deflect(lively, directions, period, self.shape[self.places], found[0], found[1])
        return found[0], found[1]


def presliding_of(terms: Sequence[Term]) -> Presliding | None:
    """The term of this kind, if there is one."""
    return next((term for term in terms if isinstance(term, Presliding)), None)
