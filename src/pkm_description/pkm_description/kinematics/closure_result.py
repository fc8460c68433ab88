"""What the general closure solver returns: configurations of the whole machine, and how far they can be trusted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pkm_description.arrays import Array
from pkm_description.errors import AssemblyModeError, ConvergenceError, KinematicsError, SingularPoseError


@dataclass(frozen=True)
class ClosureResult:
    """Closed configurations of N sets of drive positions.

    Attributes
    ----------
    joint_positions : (N, L, J) rad or m, passive joints too
    position, rotation_base_platform : (N, 3) m, (N, 3, 3); the last iterate where not converged
    converged : (N,), largest gap of a leg within the tolerance
    iterations : (N,), Newton steps taken
    residual : (N,) m, largest gap of a leg
    worst_leg : (N,), leg with that gap
    condition : (N,), condition number of the drives' and constraints' Jacobian, see ``scaled_condition``
    right_assembly_mode : (N,), the determinant of the closure's Jacobian has the sign that it has at home, and so have
        all legs' own determinants (elbows). Both are necessary for a configuration that can be reached from home
        without passing a singular one.
    max_condition : condition number from which :meth:`require` refuses a configuration
    leg_names : for messages
    """

    joint_positions: Array
    position: Array
    rotation_base_platform: Array
    converged: NDArray[np.bool_]
    iterations: NDArray[np.intp]
    residual: Array
    worst_leg: NDArray[np.intp]
    condition: Array
    right_assembly_mode: NDArray[np.bool_]
    max_condition: float
    leg_names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.position)

    @property
    def accepted(self) -> NDArray[np.bool_]:
        """(N,), converged, well conditioned and on the right assembly mode."""
        return self.converged & (self.condition <= self.max_condition) & self.right_assembly_mode

    def require(self) -> ClosureResult:
        """Return the result itself if every configuration can be trusted.

        Raises
        ------
        SingularPoseError, ConvergenceError, AssemblyModeError
            Naming the first sample concerned, and the number that decides.
        """
        if self.accepted.all():
            return self
        sample = int(np.argmin(self.accepted))
        error: type[KinematicsError]
        if self.converged[sample] and not self.condition[sample] <= self.max_condition:
            error, reason = SingularPoseError, (
                f'singular configuration, condition number {self.condition[sample]:.3g} exceeds '
                f'{self.max_condition:g}: the drives do not determine the platform here'
            )  # fmt: skip
        elif not self.converged[sample]:
            error, reason = ConvergenceError, (
                f'no closed configuration found after {self.iterations[sample]} iterations: '
                f'{self.leg_names[self.worst_leg[sample]]} misses its platform joint by {self.residual[sample]:.3g} m; '
                'check the drive positions or start nearer to the configuration'
            )  # fmt: skip
        else:
            error, reason = AssemblyModeError, (
                f'the configuration found, platform at {np.array2string(self.position[sample], precision=4)} m, lies '
                'on another assembly mode than home; start nearer to the configuration'
            )  # fmt: skip
        raise error(f'sample {sample}: {reason}')
