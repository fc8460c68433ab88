"""Friction that grows with the drive's force, where that force is not known: part of it may be the sensor's offset.

What a motion tells is the sum of the force that a drive passes on and of a constant offset of its effort: most offsets
look like bodies. The fit takes the sum for the load. If the offset is the sensor's, or Coulomb friction that differs by
direction, then the load is smaller by it, and the friction by its coefficient times that: as long as the force has one
sign, this is Coulomb friction. Offsets are of the size of Coulomb friction; the deviations allow for one of that size,
or for the estimated one where it is smaller.
"""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array

from pkm_identification.columns.joint_samples import JointSamples
from pkm_identification.columns.joint_terms import LOAD_FRICTION, OFFSET
from pkm_identification.fitting.allowance import allowing_for
from pkm_identification.fitting.model_fit import ModelFit
from pkm_identification.fitting.weighed_fit import moved_by
from pkm_identification.prepared_data import PreparedData


def with_unknown_loads(data: PreparedData, fit: ModelFit) -> ModelFit:
    """The fit with deviations that allow for offsets which the drives do not pass on; see the module."""
    if not {LOAD_FRICTION.kind, OFFSET.kind} <= fit.model.kinds:
        return fit
    coefficients = next(
        values for term, values in fit.model.with_parameters(fit.parameters) if term.kind == LOAD_FRICTION.kind
    )
    rows = data.joint_rows(lambda part: _columns(fit.samples[part]), np.arange(fit.model.machine.actuated_count))
    moved = moved_by(rows, fit.fitted_columns, fit.noise, data.row_weights)
    return allowing_for(fit, moved * (coefficients * _sizes(fit)))


def _columns(samples: JointSamples) -> Array:
    """Friction (N, A) per unit of coefficient and offset."""
    return np.sign(samples.passed_on) * samples.signs


def _sizes(fit: ModelFit) -> Array:
    """Offsets (A,) N or N m that are possible."""
    base = list(fit.base.names)
    fitted = dict(zip(fit.model.all_names, fit.parameters.tolist(), strict=True))
    possible = []
    for joint in fit.model.machine.actuated_joints:
        size = abs(fitted.get(f'{joint.name}.coulomb', joint.friction.coulomb))
        name = f'{joint.name}.{OFFSET.parameter}'
        if name in base:  # by itself, not in a sum with bodies
            place = base.index(name)
            size = min(size, float(np.hypot(fit.estimate.parameters[place], fit.estimate.std[place])))
        possible.append(size)
    return np.array(possible)
