"""Forward kinematics: platform pose and joint positions of any machine from its drive positions."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from pkm_description.arrays import Array, packed
from pkm_description.errors import AssemblyModeError, ConvergenceError, KinematicsError, ShapeError, SingularPoseError
from pkm_description.kernels.forward_kinematics.continuation import (
    CONDITION,
    CONVERGED,
    DETERMINANT,
    FREE_TWIST,
    ITERATIONS,
    ON_BRANCH,
    REPORT_COLUMNS,
    RESIDUAL,
    WORST_LEG,
)
from pkm_description.kernels.forward_kinematics.forward_samples import condition_numbers, solve_samples
from pkm_description.kernels.forward_kinematics.newton import struts_alone
from pkm_description.kinematics.arguments import drives, poses, require_drives, require_machine, require_platform
from pkm_description.kinematics.joint_motion import joint_positions
from pkm_description.machine import Machine, Pose


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
    joint_positions: Array

    def __len__(self) -> int:
        return len(self.position)

    @classmethod
    def of_report(
        cls, machine: Machine, joints: Array, position: Array, rotation: Array, report: Array, max_condition: float
    ) -> ForwardKinematicsResult:
        """Result of the kernels: configurations, and a report (N, R) on each."""
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
        return self.converged & self.right_assembly_mode & ~self.singular

    def require(self) -> ForwardKinematicsResult:
        """Return the result itself if every configuration can be trusted.

        Raises
        ------
        SingularPoseError, ConvergenceError, AssemblyModeError
            Naming the first sample concerned, and the number that decides.
        """
        checks: list[tuple[NDArray[np.bool_], type[KinematicsError]]] = [
            (self.singular, SingularPoseError),
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
        if error is SingularPoseError:
            free = self.free_twist[sample]
            return (
                f'condition number {self.condition[sample]:.3g} of the drives\' Jacobian exceeds '
                f'{self.max_condition:g}: the drives do not determine the platform here'
                + (f', they do not hold {_spelled(free)}' if np.isfinite(free).all() else '')
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


Start = ForwardKinematicsResult | Pose

#: base joints nearer to their common plane than this fraction of their spread are taken for coplanar
COPLANAR = 1e-6

#: a branch that every configuration lies on
ANY_BRANCH = np.zeros(5)


def forward_kinematics(
    machine: Machine,
    drive_positions: Array,
    initial: Start | None = None,
    tolerance: float = 1e-12,
    max_iterations: int = 30,
    max_condition: float = 1e4,
    verify_branch: bool = False,
) -> ForwardKinematicsResult:
    """Platform poses and all joint positions of given drive positions, each sample by itself.

    Newton iterations on all passive joints and the platform at once (of driven struts by their lengths, Miletovic et
    al. 2017, Eq. 5), with steps of limited length. The result says which configurations can be trusted;
    :meth:`ForwardKinematicsResult.require` raises where one cannot.

    Drive positions have several configurations. The one wanted lies on the home branch: the machine gets there from
    home without passing a singular pose. Every one returned is tested for what tells that branch: the sign of the
    determinant of all closing equations (where there are as many as unknowns), the side on which each leg is bent,
    and, of machines of struts alone, the side of the base joints' plane (where they have one). Samples in doubt,
    because one of these fails, or the iteration has wandered, or (from home only) has not converged, are *followed*
    while the drives go from the start to where they are wanted on a straight line. A sample reached in this way gets
    the configuration found; of the others one stays good only if, of machines of struts alone, a straight path of
    poses from home to it is regular. All else is marked.

    With ``verify_branch=True`` all samples are treated like that, so a configuration marked as right can be reached
    from home (or ``initial``) without a singular pose, as far as steps of finite length tell. No setting can promise
    that a second one of the same drive positions cannot be reached as well: some machines have such poses far out, see
    :func:`pkm_description.kinematics.assembly_modes`. The one returned is then that to which the straight line of the
    drives leads, where it can be followed.

    Redundant drives are met in the sense of least squares; the residual then says how far their positions contradict
    each other, and ``tolerance`` how far they may.

    Parameters
    ----------
    drive_positions : (N, A) or (A,) m, rad, of the driven joints, leg by leg; a single set gives a result of one sample
    initial : pose or configuration(s) to start from, one or N; default home
    tolerance : m, on the largest gap of a leg
    max_iterations : Newton steps from the start
    max_condition : see :meth:`ForwardKinematicsResult.require`
    verify_branch : follow every sample, not only those in doubt; several times slower

    Raises
    ------
    KinematicsError
        An open chain, or a machine with fewer drives than degrees of freedom.
    ShapeError
        Drive positions of another shape.
    """
    positions = checked_drives(machine, drive_positions)
    return solve_from(
        machine, positions, starts(machine, initial, len(positions)), home_branch(machine), tolerance, max_iterations,
        max_condition, initial is None, verify_branch,
    )  # fmt: skip


def solve_from(
    machine: Machine, positions: Array, start: tuple[Array, Array, Array], branch: Array, tolerance: float,
    max_iterations: int, max_condition: float, from_home: bool, verify_branch: bool = False,
) -> ForwardKinematicsResult:  # fmt: skip
    """As :func:`forward_kinematics`, from arrays of starts (N, J), (N, 3), (N, 3, 3), which get the result."""
    report = np.empty((len(positions), REPORT_COLUMNS))
    solve_samples(
        machine.compiled_model, machine.scratch[1], positions, *start, max_iterations, tolerance, max_condition, branch,
        from_home, verify_branch, report,
    )  # fmt: skip
    return ForwardKinematicsResult.of_report(machine, *start, report, max_condition)


def checked_drives(machine: Machine, drive_positions: Array) -> Array:
    """Drive positions (N, A) of a machine whose drives determine its configuration."""
    require_machine(machine)
    require_platform(machine, 'chain_pose')
    require_drives(machine)
    return packed(drives(machine, drive_positions)[0])


def starts(machine: Machine, initial: Start | None, count: int) -> tuple[Array, Array, Array]:
    """Fresh arrays (N, J), (N, 3), (N, 3, 3) of the configurations from which N samples start."""
    model = machine.model
    if initial is None:
        configuration = model.home_joints[None], model.home_position[None], model.home_rotation[None]
    elif isinstance(initial, ForwardKinematicsResult):
        configuration = initial.joint_positions, initial.position, initial.rotation_base_platform
    else:
        position, rotation, _ = poses(initial.position, initial.rotation_base_platform)
        # of struts the pose is enough, be it one to which the joint angles are undefined
        alone = struts_alone(machine.compiled_model)
        joints = model.home_joints[None] if alone else joint_positions(machine, position, rotation)
        joints = np.broadcast_to(joints, (len(position), len(model.kind)))
        configuration = joints, position, rotation
    if len(configuration[1]) not in (1, count):
        raise ShapeError('initial', f'one start or {count}, as many as samples', configuration[1].shape)
    joints, position, rotation = (
        np.array(np.broadcast_to(one, (count, *one.shape[1:])), order='C') for one in configuration
    )
    return joints, position, rotation


_HOME_BRANCHES: WeakKeyDictionary[Machine, Array] = WeakKeyDictionary()


def home_branch(machine: Machine) -> Array:
    """Branch (5,) of the machine's home configuration, worked out once; see ``kernels.assembly.on_branch``."""
    if machine not in _HOME_BRANCHES:
        _HOME_BRANCHES[machine] = branch_of(machine, *starts(machine, None, 1))
    return _HOME_BRANCHES[machine]


def branch_of(machine: Machine, joints: Array, position: Array, rotation: Array) -> Array:
    """Branch (5,) of any configuration (1, J), (1, 3), (1, 3, 3)."""
    model, report = machine.model, np.empty((1, REPORT_COLUMNS))
    drives = joints[:, model.drive_joint]
    solve_samples(
        machine.compiled_model, machine.scratch[1], drives, joints.copy(), position.copy(), rotation.copy(), 0, 0.0,
        np.inf, ANY_BRANCH, False, False, report,
    )  # fmt: skip
    sign = report[0, DETERMINANT]
    normal, level = np.zeros(3), 0.0
    if struts_alone(machine.compiled_model):
        points = model.translation[model.joint_start[:-1]]
        center = points.mean(axis=0)
        _, spread, axes = np.linalg.svd(points - center)
        if spread[-1] <= COPLANAR * spread[0]:
            normal = axes[-1] * np.sign((position[0] - center) @ axes[-1])
            level = float(center @ normal)
    return np.array([sign, *normal, level])
