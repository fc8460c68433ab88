"""Constraints that legs and plane put on the platform: their forces, and an acceleration that meets them.

Constraints of an overconstrained machine depend on each other (a planar four-bar between pins in space). On an
orthonormal basis of what they forbid together, ``constraints = L basis``, both tasks are one QR of L.
"""

from __future__ import annotations

from pkm_description.arrays import Array
from pkm_description.kernels.drive_map import add_row
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.linalg import (
    reflect,
    reflect_back,
    reflect_columns,
    substitute_back,
    substitute_transposed,
)
from pkm_description.kernels.model import ModelData, ScratchData


@kernel
def factor_constraints(model: ModelData, scratch: ScratchData) -> int:
    """Basis and QR of ``scratch.constraints``; lengths in platform radii, so that turns and shifts count alike.

    Returns
    -------
    Number of independent constraints.
    """
    count, radius = len(scratch.constraints), model.radius[0]
    if count == 0:
        return 0
    basis, factor, row_of = scratch.constraint_basis, scratch.constraint_factor, scratch.vector
    found = 0
    for row in range(count):
        for k in range(6):
            row_of[k] = scratch.constraints[row, k] / (1.0 if k < 3 else radius)
        if found < 6 and add_row(basis, found, row_of):
            found += 1
    for row in range(count):
        for i in range(found):
            total = 0.0
            for k in range(6):
                total += scratch.constraints[row, k] / (1.0 if k < 3 else radius) * basis[i, k]
            factor[row, i] = total
    reflect_columns(factor, scratch.constraint_reflections, count, 0, found, found)
    return found


@kernel
def meet_constraints(model: ModelData, scratch: ScratchData, found: int) -> None:
    """``scratch.held``: the smallest acceleration (6,) with ``constraints @ held = constraint_bias``."""
    count, radius = len(scratch.constraints), model.radius[0]
    right = scratch.vector
    for row in range(count):
        right[row] = scratch.constraint_bias[row]
    if found:
        reflect(scratch.constraint_factor, scratch.constraint_reflections, count, found, right)
        substitute_back(scratch.constraint_factor, found, right)
    for k in range(6):
        total = 0.0
        for i in range(found):
            total += scratch.constraint_basis[i, k] * right[i]
        scratch.held[k] = total / (1.0 if k < 3 else radius)


@kernel
def forces_of_constraints(model: ModelData, scratch: ScratchData, found: int, force: Array) -> None:
    """``scratch.constraint_forces`` with ``constraints^T forces = force`` (6,); of dependent ones the smallest."""
    count, radius = len(scratch.constraints), model.radius[0]
    if count == 0:
        return
    right = scratch.constraint_forces
    for i in range(count):
        right[i] = 0.0
    for i in range(found):
        total = 0.0
        for k in range(6):
            total += scratch.constraint_basis[i, k] * force[k] / (1.0 if k < 3 else radius)
        right[i] = total
    substitute_transposed(scratch.constraint_factor, found, right)
    reflect_back(scratch.constraint_factor, scratch.constraint_reflections, count, found, right)
