"""Result of forward kinematics: poses, joint positions, convergence, assembly mode and condition number."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkm_description.arrays import Array, packed
from pkm_description.errors import AssemblyModeError, ConvergenceError, KinematicsError, SingularPoseError
from pkm_description.kernels.continuation import (
    CONDITION,
    CONVERGED,
    FREE_TWIST,
    ITERATIONS,
    ON_BRANCH,
    RESIDUAL,
    WORST_LEG,
)
from pkm_description.kernels.forward_samples import condition_numbers
from pkm_description.machine import Machine


@dataclass(frozen=True)
class ForwardKinematicsResult:
    """Configurations of N sets of drive positions, each with what there is to say about its reliability.

    Attributes
    ----------
    machine : whose configurations they are
    position, rotation_base_platform : (N, 3) m, (N, 3, 3); the last iterate where not converged
    converged : (N,), largest gap of a leg within the tolerance
    iterations : (N,), Newton steps taken, those of a continuation included
    residual : (N,) m, largest gap of a leg: how far its tip misses the platform joint
    worst_leg : (N,), leg of that residual
    known_condition : (N,), :attr:`condition`, or NaN where all that is known is that it is within ``max_condition``
    right_assembly_mode : (N,), False where the configuration does not lie on the home branch, or where that is in doubt
        and could not be verified; see :func:`pkm_description.kinematics.forward_kinematics` for what is tested
    max_condition : condition number from which :meth:`require` refuses a configuration
    free_twist : (N, 6) m/s and rad/s, the unit twist [velocity, angular velocity] in base axes that the drives resist
        least, of poses with a condition number beyond ``max_condition``; NaN elsewhere
    mode_lost : (N,), True from the sample on before which a sequence passed a singular pose: the drives no longer tell
        which of the modes that meet there the platform has taken
    joint_positions : (N, J) rad or m, of all joints in the order of ``machine.joint_names``; the angles of a strut NaN
        where it lies along its first universal axis
    """

    machine: Machine
    position: Array
    rotation_base_platform: Array
    converged: NDArray[np.bool_]
    iterations: NDArray[np.intp]
    residual: Array
    worst_leg: NDArray[np.intp]
    known_condition: Array
    right_assembly_mode: NDArray[np.bool_]
    max_condition: float
    free_twist: Array
    mode_lost: NDArray[np.bool_]
    joint_positions: Array

    def __len__(self) -> int:
        return len(self.position)

    @classmethod
    def of_report(
        cls, machine: Machine, joints: Array, position: Array, rotation: Array, report: Array, max_condition: float,
        lost: int | None = None,
    ) -> ForwardKinematicsResult:  # fmt: skip
        """Result of the kernels: configurations, and a report (N, R) on each; ``lost``: see ``mode_lost``."""
        count = len(report)
        return cls(
            machine,
            position,
            rotation,
            report[:, CONVERGED] == 1.0,
            report[:, ITERATIONS].astype(np.intp),
            report[:, RESIDUAL],
            report[:, WORST_LEG].astype(np.intp),
            report[:, CONDITION].copy(),
            report[:, ON_BRANCH] == 1.0,
            max_condition,
            report[:, FREE_TWIST : FREE_TWIST + 6],
            np.arange(count) >= (count if lost is None else lost),
            joints,
        )

    @property
    def condition(self) -> Array:
        """Condition number (N,) of the drives' and constraints' Jacobian (Joshi & Tsai 2002), computed when asked for.

        Turns are measured in platform radii, of hexapods in m and rad; infinite where a leg is stretched or folded, or
        no configuration was found.
        """
        if np.isnan(self.known_condition).any():
            condition_numbers(
                self.machine.compiled_model, self.machine.scratch[1], packed(self.joint_positions),
                packed(self.position), packed(self.rotation_base_platform), self.known_condition,
            )  # fmt: skip
        return self.known_condition

    @property
    def singular(self) -> NDArray[np.bool_]:
        """Configurations (N,) refused for their condition number."""
        return np.asarray(np.isfinite(self.residual) & (self.known_condition > self.max_condition))

    @property
    def trusted(self) -> NDArray[np.bool_]:
        """Samples (N,) that :meth:`require` lets pass."""
        return self.converged & self.right_assembly_mode & ~self.singular & ~self.mode_lost

    def require(self) -> ForwardKinematicsResult:
        """Return the result itself if every configuration can be trusted.

        Raises
        ------
        SingularPoseError, ConvergenceError, AssemblyModeError
            Naming the first sample concerned, and the number that decides.
        """
        checks: list[tuple[NDArray[np.bool_], type[KinematicsError]]] = [
            (self.singular | self.mode_lost, SingularPoseError),
            (~self.converged, ConvergenceError),
            (~self.right_assembly_mode, AssemblyModeError),
        ]
        for bad, error in checks:
            if np.any(bad):
                sample = int(np.argmax(bad))
                raise error(f'sample {sample}: {self._complaint(error, sample)}')
        return self

    def rows(self, samples: NDArray[np.intp]) -> ForwardKinematicsResult:
        """Result of some of the samples, by index."""
        chosen: dict[str, Any] = {
            field.name: value[samples]
            for field in fields(self)
            if isinstance(value := getattr(self, field.name), np.ndarray)
        }
        return replace(self, **chosen)

    def _complaint(self, error: type[Exception], sample: int) -> str:
        if error is SingularPoseError and self.singular[sample]:
            free = self.free_twist[sample]
            return (
                f'condition number {self.condition[sample]:.3g} of the drives\' Jacobian exceeds '
                f'{self.max_condition:g}: the drives do not determine the platform here'
                + (f', they do not hold {_spelled(free)}' if np.isfinite(free).all() else '')
            )
        if error is SingularPoseError:
            return (
                'the path passes a singular pose here (condition number of the last pose before '
                f'{self.condition[max(sample - 1, 0)]:.3g}): the drives no longer tell the assembly mode; '
                'start again from a known pose'
            )
        if error is ConvergenceError:
            return (
                f'no pose found after {self.iterations[sample]} iterations: '
                f'{self.machine.legs[self.worst_leg[sample]].name} misses its platform joint by '
                f'{self.residual[sample]:.3g} m; check the drive positions or start nearer to the pose'
            )
        return (
            f'the pose found, position {np.array2string(self.position[sample], precision=4)} m, '
            'lies on another assembly mode than home or cannot be told from one; start nearer to the pose'
        )


def _spelled(twist: Array) -> str:
    """Spell a twist (6,) for an error message, without the parts that do not count."""
    twist = twist / np.abs(twist).max()
    parts = [
        f'{value:+.2f} {"rad/s about" if axis > 2 else "m/s along"} {"xyz"[axis % 3]}'
        for axis, value in enumerate(twist)
        if not abs(value) < 0.01
    ]
    return 'the motion ' + ', '.join(parts)
