"""What the friction of a drive may be like, for a diagnosis that knows none of its laws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from pkm_description.arrays import Array
from pkm_description.machine import Machine

from pkm_identification.blocks import OfPart, joined, kept
from pkm_identification.columns.friction_term import FrictionTerm
from pkm_identification.columns.joint_samples import JointSamples
from pkm_identification.columns.joint_terms import LOAD_FRICTION, OneFactor
from pkm_identification.columns.term import Term

#: speeds at which Stribeck friction fades, of a drive's root mean square
FADING = (0.15, 0.4, 1.0, 2.5)


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
