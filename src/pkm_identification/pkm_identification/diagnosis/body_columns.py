"""Forces of bodies that are unlike those of the machine file, as far as a diagnosis trusts these."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pkm_description.arrays import Array
from pkm_description.machine import Machine, PlatformMotion

from pkm_identification.blocks import OfPart, joined, kept, normal_matrix
from pkm_identification.columns.joint_terms import DRIVE_INERTIA, OneFactor
from pkm_identification.columns.observation import ObservationModel
from pkm_identification.judgement.physical import nominal_covariance

#: relative standard deviation of the nominal bodies' parameters that a diagnosis allows for
TRUST = 0.5
#: the same of rotors that the machine file has, and inertia of unknown rotors, of what the drive moves
ROTOR_TRUST, UNKNOWN_ROTORS = 0.05, 0.3


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
        values = model.all_parameters(machine)
        structure = kept(lambda part: model.structure(motion[part]), len(motion))
        known = joined(lambda part: structure(part) @ values + model.rotors(motion[part]), len(motion))
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
    covariance = nominal_covariance(model.all_names, values, TRUST, TRUST)
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
