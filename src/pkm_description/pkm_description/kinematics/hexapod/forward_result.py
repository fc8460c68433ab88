"""What forward kinematics returns: poses, and what there is to say about their reliability."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkm_description.arrays import Array
from pkm_description.errors import AssemblyModeError, ConvergenceError, KinematicsError, SingularPoseError


@dataclass(frozen=True)
class ForwardKinematicsResult:
    """Poses of N sets of leg lengths, each with what there is to say about its reliability.

    Attributes
    ----------
    position, rotation_base_platform : (N, 3) m, (N, 3, 3); the last iterate where not converged
    converged : (N,), largest length residual within the tolerance
    iterations : (N,), Newton steps taken, those of a continuation included
    residual : (N,) m, largest length residual
    worst_leg : (N,), leg of that residual
    condition : (N,), condition number of the length Jacobian in m and rad
    right_assembly_mode : (N,), False where the pose does not lie on the home branch, or where that is in doubt and
        could not be verified; see :func:`pkm_description.kinematics.forward_kinematics` for what is tested
    max_condition : condition number from which :meth:`require` refuses a pose
    free_twist : (N, 6) m/s and rad/s, the unit twist [velocity, angular velocity] in base axes that the legs resist
        least, of poses with a condition number beyond ``max_condition``; NaN elsewhere
    mode_lost : (N,), True from the sample on before which a sequence passed a singular pose: the lengths no longer
        tell which of the modes that meet there the platform has taken
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
    free_twist: Array
    mode_lost: NDArray[np.bool_]

    @property
    def singular(self) -> NDArray[np.bool_]:
        """Poses (N,) refused for their condition number."""
        return np.asarray(np.isfinite(self.residual) & ~(self.condition <= self.max_condition))

    @property
    def trusted(self) -> NDArray[np.bool_]:
        """Samples (N,) that :meth:`require` lets pass."""
        return self.converged & self.right_assembly_mode & ~self.singular & ~self.mode_lost

    def require(self) -> ForwardKinematicsResult:
        """Return the result itself if every pose can be trusted.

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

    def with_samples(self, samples: NDArray[np.intp], other: ForwardKinematicsResult) -> ForwardKinematicsResult:
        """Copy in which ``other`` stands in the place of ``samples``."""
        changed: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                changed[field.name] = value.copy()
                changed[field.name][samples] = getattr(other, field.name)
        return replace(self, **changed)

    def _complaint(self, error: type[Exception], sample: int) -> str:
        if error is SingularPoseError and self.singular[sample]:
            return (
                f'condition number {self.condition[sample]:.3g} of the length Jacobian exceeds '
                f'{self.max_condition:g}: the legs do not determine the pose here, '
                f'they do not hold {_spelled(self.free_twist[sample])}'
            )
        if error is SingularPoseError:
            return (
                'the path passes a singular pose here (condition number of the last pose before '
                f'{self.condition[max(sample - 1, 0)]:.3g}): the lengths no longer tell the assembly mode; '
                'start again from a known pose'
            )
        if error is ConvergenceError:
            return (
                f'no pose found after {self.iterations[sample]} iterations: '
                f'leg {self.worst_leg[sample] + 1} misses its length by {self.residual[sample]:.3g} m; '
                'check the lengths or start nearer to the pose'
            )
        return (
            f'the pose found, position {np.array2string(self.position[sample], precision=4)} m, '
            'lies on another assembly mode than home or cannot be told from one; start nearer to the pose'
        )


def _spelled(twist: Array) -> str:
    """Spell a twist (6,) for an error message, without the parts that do not count."""
    twist = twist / np.abs(twist).max() if np.isfinite(twist).all() else twist
    parts = [
        f'{value:+.2f} {"rad/s about" if axis > 2 else "m/s along"} {"xyz"[axis % 3]}'
        for axis, value in enumerate(twist)
        if not abs(value) < 0.01
    ]
    return 'the motion ' + ', '.join(parts)
