"""Reliability of the poses that Newton iterations found: residual, condition number, assembly mode."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pkm_description.arrays import Array
from pkm_description.kinematics.forward_result import ForwardKinematicsResult
from pkm_description.kinematics.hexapod.assembly_mode import Branch
from pkm_description.kinematics.hexapod.pose_newton import NewtonRun
from pkm_description.kinematics.leg_lengths import length_jacobian
from pkm_description.machine import Machine

#: condition number from which it is computed from singular values
NEAR_SINGULAR = 1e4


def judged(
    machine: Machine, run: NewtonRun, branch: Branch, tolerance: float, max_condition: float
) -> ForwardKinematicsResult:
    """Result of a run of N samples with their condition numbers, and whether they may lie on ``branch``."""
    jacobian = length_jacobian(machine, run.position, run.rotation)
    usable = np.asarray(np.isfinite(jacobian).all(axis=(1, 2)))
    condition = np.full(len(jacobian), np.inf)
    condition[usable] = _condition_numbers(jacobian[usable])
    return ForwardKinematicsResult(
        machine=machine,
        position=run.position,
        rotation_base_platform=run.rotation,
        converged=np.asarray(run.residual <= tolerance),
        iterations=run.iterations,
        residual=run.residual,
        worst_leg=run.worst_leg,
        condition=condition,
        right_assembly_mode=branch.contains(run.position, np.where(usable[:, None, None], jacobian, 0.0)),
        max_condition=max_condition,
        free_twist=_free_twists(jacobian, usable & ~(condition <= max_condition)),
        mode_lost=np.zeros(len(jacobian), dtype=bool),
    )


def _condition_numbers(jacobian: Array) -> Array:
    """Ratio of the largest to the smallest singular value (N,) of matrices (N, 6, 6)."""
    # eigenvalues of J J^T take half the time of singular values; their square leaves enough digits far from singular
    # poses, nearer to them the singular values are worth it
    eigenvalues = np.linalg.eigvalsh(jacobian @ np.swapaxes(jacobian, 1, 2))
    near = ~(eigenvalues[:, 0] > eigenvalues[:, -1] / NEAR_SINGULAR**2)
    condition = np.full(len(jacobian), np.inf)
    condition[~near] = np.sqrt(eigenvalues[~near, -1] / eigenvalues[~near, 0])
    if near.any():
        singular_values = np.linalg.svd(jacobian[near], compute_uv=False)
        with np.errstate(divide='ignore'):
            condition[near] = singular_values[:, 0] / singular_values[:, -1]
    return condition


def _free_twists(jacobian: Array, singular: NDArray[np.bool_]) -> Array:
    """Last right singular vectors (N, 6) of the length Jacobians (N, 6, 6) of ``singular`` samples, else NaN."""
    twists = np.full(jacobian.shape[:2], np.nan)
    if singular.any():  # a second decomposition, because vectors take three times as long and few poses need them
        twists[singular] = np.linalg.svd(jacobian[singular])[2][:, -1]
    return twists
