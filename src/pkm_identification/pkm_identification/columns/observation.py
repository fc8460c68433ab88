"""The observation matrix: actuator forces as a linear function of bodies and friction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics import (
    friction_parameter_names,
    friction_parameters,
    friction_regressor,
    rigid_body_parameter_names,
    rigid_body_parameters,
    rigid_body_regressor,
)
from pkm_description.dynamics.parameter_reduction.reduction import BaseParameters, reduce_parameters
from pkm_description.dynamics.rotors import rotor_parameters, rotor_regressor
from pkm_description.errors import ConfigurationError
from pkm_description.kinematics import joint_motion, joint_rates
from pkm_description.kinematics.random_states import random_states
from pkm_description.machine import Machine, PlatformMotion

#: samples per block: bounds the memory of the per-body intermediate results
BLOCK = 4000


@dataclass(frozen=True)
class Reversals:
    """What decides the sign of Coulomb friction.

    When a joint reverses, friction jumps, so does the acceleration, and the velocity has a kink. A low-pass
    rounds the kink and
    shifts the zero crossing by milliseconds, always to the same side. So signs come from a livelier motion: velocities
    bear a higher cut-off frequency than accelerations. Each sample's sign is averaged over its interval, for a reversal
    falls between samples. No smoothing beyond that: with the kink it would shift the reversal again.

    Attributes
    ----------
    motion : smoothed with a higher cut-off frequency, same samples
    sample_period : s
    """

    motion: PlatformMotion
    sample_period: float


class ObservationModel:
    """Regressor of a machine for a chosen set of parameters.

    Parameters
    ----------
    machine : geometry, and nominal values of parameters that are held fixed
    identical_legs, friction, fixed : see :class:`pkm_identification.configuration.IdentificationConfig`

    Attributes
    ----------
    names : free parameters, bodies first
    body_count : how many of them are inertial
    fixed_names : parameters held at their nominal values
    """

    def __init__(
        self, machine: Machine, identical_legs: bool = True, friction: str = 'actuated', fixed: Sequence[str] = ()
    ) -> None:
        self.machine = machine
        self.identical_legs = identical_legs
        self.friction = friction
        self._joints: Literal['actuated', 'all'] = 'all' if friction == 'all' else 'actuated'
        bodies = list(rigid_body_parameter_names(machine, identical_legs=identical_legs))
        joints = [] if friction == 'none' else list(friction_parameter_names(machine, joints=self._joints))
        self.all_names: tuple[str, ...] = (*bodies, *joints)
        held = np.array([any(fnmatchcase(name, pattern) for pattern in fixed) for name in self.all_names])
        unused = [pattern for pattern in fixed if not any(fnmatchcase(name, pattern) for name in self.all_names)]
        if unused:
            raise ConfigurationError(
                f'fixed: no parameter matches {", ".join(unused)}; names look like {bodies[0]}, {bodies[10]}'
            )
        self.free = np.flatnonzero(~held)
        self.held = np.flatnonzero(held)
        self.names = tuple(self.all_names[index] for index in self.free)
        self.fixed_names = tuple(self.all_names[index] for index in self.held)
        self.body_count = int(np.sum(self.free < len(bodies)))

    def all_parameters(self, machine: Machine) -> Array:
        """All parameters of a machine, free and held, in the order of :attr:`all_names`."""
        bodies = rigid_body_parameters(machine, identical_legs=self.identical_legs)
        if self.friction == 'none':
            return bodies
        return np.concatenate([bodies, friction_parameters(machine, joints=self._joints)])

    def parameters(self, machine: Machine) -> Array:
        """Free parameters (P,) of a machine, in the order of :attr:`names`."""
        return self.all_parameters(machine)[self.free]

    def regressor(self, motion: PlatformMotion, reversals: Reversals | None = None) -> tuple[Array, Array]:
        """Observation matrix (N, A, P) of the free parameters and known forces (N, A) of the held ones and the rotors.

        Without ``reversals`` Coulomb columns hold the sign of the motion's own joint velocities, sample by sample.
        """
        regressor = np.empty((len(motion), self.machine.actuated_count, len(self.free)))
        known = np.empty(regressor.shape[:2])
        for part, matrix, forces in self.parts(motion, reversals):
            regressor[part], known[part] = matrix, forces
        return regressor, known

    def parts(
        self, motion: PlatformMotion, reversals: Reversals | None = None
    ) -> Iterator[tuple[slice, Array, Array]]:
        """Samples, observation matrix and known forces as of :meth:`regressor`, part by part.

        Long recordings do not fit into memory as one matrix; their normal equations do.
        """
        held = self.all_parameters(self.machine)[self.held]
        for start in range(0, len(motion), BLOCK):
            part = slice(start, min(start + BLOCK, len(motion)))
            everything = self._block(motion[part], reversals, part)
            known = everything[..., self.held] @ held
            if self.machine.rotor_inertia.any():
                known += self._rotor_forces(motion[part])
            yield part, everything[..., self.free], known

    def _rotor_forces(self, motion: PlatformMotion) -> Array:
        """Forces (N, A) of rotors and screws, which are not identified but taken from the machine file."""
        return rotor_regressor(self.machine, joint_motion(self.machine, motion)) @ rotor_parameters(self.machine)

    def _block(self, motion: PlatformMotion, reversals: Reversals | None, part: slice) -> Array:
        bodies = rigid_body_regressor(self.machine, motion, identical_legs=self.identical_legs)
        if self.friction == 'none':
            return bodies
        friction = friction_regressor(self.machine, joint_motion(self.machine, motion), joints=self._joints)
        if reversals is not None:
            lively = joint_motion(self.machine, reversals.motion[part])
            signs = friction_regressor(self.machine, lively, joints=self._joints)
            # the velocity is linear over half a period either way, so its sign is constant except where it is small
            change = 0.5 * reversals.sample_period * np.abs(lively.accelerations)
            share = np.abs(lively.velocities) / np.maximum(change, 1e-300)
            share = np.minimum(share, 1.0)
            place = {name: index for index, name in enumerate(self.machine.joint_names)}
            for column, name in enumerate(friction_parameter_names(self.machine, joints=self._joints)):
                joint, _, parameter = name.rpartition('.')
                # these columns jump with the sign
                if parameter.startswith(('coulomb', 'static')):
                    friction[..., column] = signs[..., column] * share[:, place[joint], None]
        return np.concatenate([bodies, friction], axis=-1)

    def drive_velocities(self, motion: PlatformMotion) -> Array:
        """Velocities (N, A) of the driven joints, m/s or rad/s."""
        pose = motion.position, motion.rotation_base_platform
        _, velocities = joint_rates(self.machine, *pose, motion.linear_velocity, motion.angular_velocity)
        return velocities[:, self.machine.drive_columns]

    def base_parameters(self, tolerance: float = 1e-8, samples: int = 150, seed: int = 0) -> BaseParameters:
        """Reduce to base parameters over random states all over the workspace.

        A property of the machine, not of a recording.
        """
        matrix, _ = self.regressor(random_states(self.machine, samples, seed))
        return reduce_parameters(matrix.reshape(-1, len(self.names)), self.names, tolerance, absence=1e-12)
