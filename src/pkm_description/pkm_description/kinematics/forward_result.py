"""What forward kinematics returns: poses, and what there is to say about their reliability."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pkm_description.errors import AssemblyModeError, ConvergenceError, KinematicsError, SingularPoseError

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ForwardKinematicsResult:
    """Poses of N sets of leg lengths, each with what there is to say about its reliability.

    Attributes
    ----------
    position, rotation_base_platform : (N, 3) m, (N, 3, 3); the last iterate where not converged
    converged : (N,), largest length residual within the tolerance
    iterations : (N,), Newton steps taken
    residual : (N,) m, largest length residual
    worst_leg : (N,), leg of that residual
    condition : (N,), condition number of the length Jacobian in m and rad
    right_assembly_mode : (N,), the length Jacobian's determinant has the sign it has at home and the platform
        lies on the home side of the base joints' plane. Both are necessary for being on the home branch; a
        path from home that keeps away from singular poses keeps them.
    max_condition : condition number from which :meth:`require` refuses a pose
    """

    position: Array
    rotation_base_platform: Array
    converged: NDArray[np.bool_]
    iterations: NDArray[np.intp]
    residual: Array
    worst_leg: NDArray[np.intp]
    condition: Array
    right_assembly_mode: NDArray[np.bool_]
    max_condition: float

    def require(self) -> ForwardKinematicsResult:
        """Return the result itself if every pose can be trusted.

        Raises
        ------
        SingularPoseError, ConvergenceError, AssemblyModeError
            Naming the first sample concerned, and the number that decides.
        """
        singular = np.isfinite(self.residual) & ~(self.condition <= self.max_condition)
        checks: list[tuple[NDArray[np.bool_], type[KinematicsError]]] = [
            (singular, SingularPoseError),
            (~self.converged, ConvergenceError),
            (~self.right_assembly_mode, AssemblyModeError),
        ]
        for bad, error in checks:
            if np.any(bad):
                sample = int(np.argmax(bad))
                raise error(f'sample {sample}: {self._complaint(error, sample)}')
        return self

    def _complaint(self, error: type[Exception], sample: int) -> str:
        if error is SingularPoseError:
            return (
                f'condition number {self.condition[sample]:.3g} of the length Jacobian exceeds '
                f'{self.max_condition:g}: the legs do not determine the pose here'
            )
        if error is ConvergenceError:
            return (
                f'no pose found after {self.iterations[sample]} iterations: '
                f'leg {self.worst_leg[sample] + 1} misses its length by {self.residual[sample]:.3g} m; '
                'check the lengths or start nearer to the pose'
            )
        return (
            f'the pose found, position {np.array2string(self.position[sample], precision=4)} m, '
            'lies on another assembly mode than home; start nearer to the pose'
        )
