"""Motion of platform and joints per rate of the drives, and drive forces of a force on the platform.

The twists that legs and plane admit have an orthonormal basis; on it the drives' Jacobian is square for a machine with
one drive per degree of freedom, and taller for a redundant one.
"""

from __future__ import annotations

import math

from pkm_description.arrays import Array
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.model import ModelData, ScratchData
from pkm_description.kernels.status import CONSTRAINTS_SINGULAR, DRIVES_SINGULAR, OK

#: size of a constraint, relative to its row, below which it repeats the others
DEPENDENT = 1e-9


@kernel
def admitted_twists(model: ModelData, scratch: ScratchData) -> int:
    """Orthonormal basis of the twists with ``constraints @ twist = 0`` into the columns of ``scratch.admitted``.

    Lengths are measured in platform radii, so that turns and shifts count alike. Gram-Schmidt's orthogonalisation, twice,
    of the constraints and then of the unit twists.

    Returns
    -------
    Number of columns, the degrees of freedom of the platform here.
    """
    count = len(scratch.constraints)
    radius = model.radius[0]
    basis = scratch.square  # rows: constraints first, then admitted twists, in units of the radius
    found = 0
    for row in range(count):
        for k in range(6):
            scratch.vector[k] = scratch.constraints[row, k] / (1.0 if k < 3 else radius)
        if _add_row(basis, found, scratch.vector):
            found += 1
    held = found
    # of the unit twists, the one that is longest outside of what is there already: no small differences
    while found < 6:
        best, longest = 0, -1.0
        for unit in range(6):
            left = 1.0
            for i in range(found):
                left -= basis[i, unit] * basis[i, unit]
            if left > longest + 1e-6:
                best, longest = unit, left
        for k in range(6):
            scratch.vector[k] = 1.0 if k == best else 0.0
        if not _add_row(basis, found, scratch.vector):
            return CONSTRAINTS_SINGULAR  # NaN
        for k in range(6):
            scratch.admitted[k, found - held] = basis[found, k] / (1.0 if k < 3 else radius)
        found += 1
    return 6 - held


@kernel
def _add_row(basis: Array, found: int, row: Array) -> bool:
    """Add a row (6,), orthonormal to the rows that are there; False where nothing is left of it."""
    before = 0.0
    for k in range(6):
        before += row[k] * row[k]
    if not before > 0.0:
        return False
    for _ in range(2):
        for i in range(found):
            along = 0.0
            for k in range(6):
                along += basis[i, k] * row[k]
            for k in range(6):
                row[k] -= along * basis[i, k]
    left = 0.0
    for k in range(6):
        left += row[k] * row[k]
    if not left > DEPENDENT * DEPENDENT * before:
        return False
    scale = 1.0 / math.sqrt(left)
    for k in range(6):
        basis[found, k] = scale * row[k]
    return True
