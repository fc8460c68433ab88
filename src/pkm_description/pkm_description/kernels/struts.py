"""Lengths of struts between base and platform joints, and their Jacobian (Miletovic et al. 2017, Eq. 1)."""

from __future__ import annotations

import math

from pkm_description.arrays import Array
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.model import ModelData
from pkm_description.kernels.vectors import Vector, cross, dot, minus, plus, turned, vector


@kernel
def strut(model: ModelData, position: Array, rotation: Array, sample: int, leg: int) -> tuple[Vector, Vector]:
    """Vector from base to platform joint, and from the platform's origin to the platform joint, base axes."""
    lever = turned(rotation, sample, vector(model.closure_other_point, model.closure_start[leg]))
    return minus(plus(vector(position, sample), lever), vector(model.translation, model.joint_start[leg])), lever


@kernel
def strut_lengths(model: ModelData, position: Array, rotation: Array, lengths: Array) -> None:
    """Lengths (N, L) m at poses (N, 3) m, (N, 3, 3)."""
    for sample in range(len(position)):
        for leg in range(lengths.shape[1]):
            along, _ = strut(model, position, rotation, sample, leg)
            lengths[sample, leg] = math.sqrt(dot(along, along))


@kernel
def strut_jacobians(model: ModelData, position: Array, rotation: Array, jacobian: Array) -> None:
    """Rates of the lengths per twist (N, L, 6): rows ``[n_i, (R p_i) x n_i]`` with the struts' unit vectors n_i."""
    for sample in range(len(position)):
        for leg in range(jacobian.shape[1]):
            along, lever = strut(model, position, rotation, sample, leg)
            length = math.sqrt(dot(along, along))
            direction = along[0] / length, along[1] / length, along[2] / length
            moment = cross(lever, direction)
            for i in range(3):
                jacobian[sample, leg, i] = direction[i]
                jacobian[sample, leg, 3 + i] = moment[i]
