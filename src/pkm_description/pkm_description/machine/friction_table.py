"""Friction of all joints as arrays, for the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pkm_description.machine.parts import Joint


def friction_table(joints: Sequence[Joint]) -> dict[str, Any]:
    """Fields ``friction_...`` of :class:`~pkm_description.kernels.model.ModelData` of J joints."""
    laws = [joint.friction.law for joint in joints]
    linear = np.zeros((len(laws), 4))
    for row, law in zip(linear, laws, strict=True):
        values = law.linear_parameters()
        row[: len(values)] = values
    loaded = any(law.needs_load for law in laws)
    passive_rub = any(row.any() for row, joint in zip(linear, joints, strict=True) if not joint.actuated)
    return {
        'friction_law': np.array([law.number for law in laws]),
        'friction_linear': linear,
        'friction_shape': np.array([law.shape_parameters() for law in laws]),
        'friction_sign': np.array([law.sign.number for law in laws]),
        'friction_width': np.array([law.sign.width for law in laws], dtype=float),
        'friction_loads': np.array([(2 if passive_rub else 1) if loaded else 0]),
    }
