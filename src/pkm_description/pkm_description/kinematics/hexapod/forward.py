"""Forward kinematics of hexapods from leg lengths, by Newton iterations on SO(3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pkm_description.arrays import Array
from pkm_description.errors import KinematicsError
from pkm_description.kinematics.arguments import columns, require_machine
from pkm_description.kinematics.forward_result import ForwardKinematicsResult
from pkm_description.kinematics.hexapod.assembly_mode import home_branch, regular_from_home
from pkm_description.kinematics.hexapod.continuation import follow_lengths
from pkm_description.kinematics.hexapod.pose_judgement import judged
from pkm_description.kinematics.hexapod.pose_newton import newton_batch, newton_one
from pkm_description.machine import Machine, Pose

#: more Newton steps than this raise doubt about the branch: the iteration has wandered
DOUBTFUL_ITERATIONS = 12


def forward_from_lengths(
    machine: Machine,
    lengths: Array,
    initial: Pose | None = None,
    tolerance: float = 1e-12,
    max_iterations: int = 20,
    max_condition: float = 1e4,
    verify_branch: bool = False,
) -> ForwardKinematicsResult:
    """Solve all samples at once by Newton iterations from one start (Miletovic et al. 2017, Eq. 5).

    The attitude is updated by rotation-vector increments in base axes, ``R <- exp(dtheta) R``; long steps are
    shortened.

    Leg lengths have up to 40 poses. The one wanted lies on the home branch: the platform gets there from home
    without passing a singular pose. Every pose returned is tested for two properties of that branch: the length
    Jacobian's determinant has the sign of home, and the platform lies on the home side of the base joints' plane
    (where they have one). Samples in doubt, because one of these fails, or the iteration has wandered, or (from home
    only) has not converged, are *followed* while the lengths go from those of the start to the given ones on a
    straight line. A sample reached in this way gets the pose found; of the others a pose stays good only if a
    straight path of poses from home to it is regular. All else is marked.

    With ``verify_branch=True`` all samples are treated like that, so a pose marked as right can be reached from home
    (or ``initial``) without a singular pose, as far as steps of finite length tell. No setting can promise that a
    second pose of the same lengths cannot be reached as well, because lengths do not say it: some machines have such
    poses far out, see :func:`pkm_description.kinematics.assembly_modes`. The pose returned is then the one to which
    the straight line of lengths leads, where it can be followed.

    Parameters
    ----------
    machine : six struts on universal joints (``is_strut_hexapod``), whose drives are the struts' lengths
    lengths : (N, 6) m
    initial : start for all samples (or one per sample: position (N, 3), rotation (N, 3, 3)); default home
    tolerance : m, on the largest length residual of a sample
    max_iterations : Newton steps from the start
    max_condition : see :meth:`ForwardKinematicsResult.require`
    verify_branch : follow every sample, not only those in doubt; several times slower

    Raises
    ------
    KinematicsError
        Another machine; :func:`pkm_description.kinematics.forward_kinematics` takes the drive positions of all.
    """
    lengths = checked_lengths(machine, lengths)
    start = initial or machine.home
    position, rotation = start.position, start.rotation_base_platform
    if len(lengths) == 1:
        position, rotation = position.reshape(3), rotation.reshape(3, 3)
        run = newton_one(machine, lengths[0], position, rotation, tolerance, max_iterations)
    else:
        position = np.broadcast_to(position, (len(lengths), 3))
        rotation = np.broadcast_to(rotation, (len(lengths), 3, 3))
        run = newton_batch(machine, lengths, position, rotation, tolerance, max_iterations)
    result = judged(machine, run, home_branch(machine), tolerance, max_condition)
    doubt = result.iterations > DOUBTFUL_ITERATIONS
    if initial is None:
        doubt |= ~(result.converged & result.right_assembly_mode)
    else:
        # whoever gives a start needs the answer in time: no second search where there may be no pose at all
        doubt &= result.converged
    samples = np.flatnonzero(doubt | verify_branch)
    if not len(samples):
        return result
    position = np.broadcast_to(position, (len(lengths), 3))[samples]
    rotation = np.broadcast_to(rotation, (len(lengths), 3, 3))[samples]
    return _followed(machine, lengths, position, rotation, tolerance, result, samples)


def checked_lengths(machine: Machine, lengths: Array) -> Array:
    """Lengths as an array (N, 6); raises KinematicsError for other machines, ShapeError for other shapes."""
    require_machine(machine)
    if not machine.is_strut_hexapod:
        raise KinematicsError(
            f'{machine.name}: lengths of six struts determine a pose; this machine has {machine.leg_count} legs of '
            f'{machine.joint_kinds}: forward_kinematics takes the positions of its drives'
        )
    return columns('lengths', lengths, 6, 'leg')


def _followed(
    machine: Machine,
    lengths: Array,
    position: Array,
    rotation: Array,
    tolerance: float,
    result: ForwardKinematicsResult,
    samples: NDArray[np.intp],
) -> ForwardKinematicsResult:
    """Put the poses reached by following the lengths in the place of ``samples``, or say that they are in doubt."""
    followed = follow_lengths(machine, lengths[samples], position, rotation)
    reached = samples[followed.reached]
    # the end of the line is accurate to a part of the platform radius; a few steps more give the tolerance
    ends = followed.position[followed.reached], followed.rotation[followed.reached]
    run = newton_batch(machine, lengths[reached], *ends, tolerance, 5)
    run.iterations[:] += followed.iterations[followed.reached]
    found = judged(machine, run, home_branch(machine), tolerance, result.max_condition)
    result = result.with_samples(reached, found)
    result.iterations[samples[~followed.reached]] += followed.iterations[~followed.reached]
    kept = samples[~followed.reached & result.converged[samples]]
    result.right_assembly_mode[kept] &= regular_from_home(
        machine, result.position[kept], result.rotation_base_platform[kept]
    )
    return result
