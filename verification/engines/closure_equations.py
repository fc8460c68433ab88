"""Equations of closures from frames at both sides: which directions coincide, which stay perpendicular.

Vectors in base axes. A turn is held by unit vectors u of the leg's body and v of the other one with ``u . v = 0``,
whose rate is ``(w_tip - w_anchor) . (u x v)``.
"""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array
from pkm_description.machine import Closure

Pairs = tuple[tuple[int, int], ...]

#: axes (of the leg's body, of the other body) that stay perpendicular
_PERPENDICULAR: dict[str, Pairs] = {
    'ball': (), 'universal': ((0, 1),), 'pin': ((0, 2), (1, 2)), 'fixed': ((0, 1), (1, 2), (2, 0)),
}  # fmt: skip
#: in a plane
_PERPENDICULAR_IN_PLANE: dict[str, Pairs] = {'pin': (), 'fixed': ((0, 1),)}


def position_rows(planar: bool) -> int:
    """How many coordinates of the closing point coincide."""
    return 2 if planar else 3


def perpendicular_axes(closure: Closure, planar: bool) -> Pairs:
    """Numbers of the axes of both frames that stay perpendicular."""
    return (_PERPENDICULAR_IN_PLANE if planar else _PERPENDICULAR)[closure.kind]


def closure_rows(pairs: Pairs, planar: bool, tip: Array, anchor: Array, difference: Array) -> Array:
    """Rows of a closure from the frames' axes (3, 3) and the difference (6, ...) of their velocities or Jacobians."""
    turns = [np.cross(tip[:, first], anchor[:, second]) @ difference[3:] for first, second in pairs]
    turning = np.array(turns).reshape(len(pairs), *difference.shape[1:])
    return np.concatenate([difference[: position_rows(planar)], turning])


def turning_drift(pairs: Pairs, tip: Array, anchor: Array, tip_spin: Array, anchor_spin: Array) -> Array:
    """Second derivatives of the perpendicular axes' products that the spins (3,) alone make."""
    result = []
    for first, second in pairs:
        u, v = tip[:, first], anchor[:, second]
        du, dv = np.cross(tip_spin, u), np.cross(anchor_spin, v)
        result.append(np.cross(tip_spin, du) @ v + 2.0 * du @ dv + u @ np.cross(anchor_spin, dv))
    return np.array(result)


def closure_wrench(
    pairs: Pairs, planar: bool, tip: Array, anchor: Array, multipliers: Array
) -> tuple[Array, Array]:
    """Force and moment (3,), (3,) on the leg's body at the closing point, of a closure's multipliers."""
    size = position_rows(planar)
    force, moment = np.zeros(3), np.zeros(3)
    force[:size] = multipliers[:size]
    for (first, second), one in zip(pairs, multipliers[size:], strict=True):
        moment += one * np.cross(tip[:, first], anchor[:, second])
    return force, moment


def turning_gap(pairs: Pairs, tip: Array, anchor: Array) -> float:
    """Largest cosine of axes that should be perpendicular."""
    return max((abs(float(tip[:, first] @ anchor[:, second])) for first, second in pairs), default=0.0)
