"""Friction that grows with the drive's force, where that force is not known: part of it may be the sensor's offset.

What a motion tells is the sum of the force that a drive passes on and of a constant offset of its effort: most offsets
look like bodies. The fit takes the sum for the load. If the offset is the sensor's, or Coulomb friction that differs by
direction, then the load is smaller by it, and the friction by its coefficient times that: as long as the force has one
sign, this is Coulomb friction. Offsets are of the size of Coulomb friction; the deviations allow for one of that size,
or for the estimated one where it is smaller.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from pkm_description.arrays import Array

from pkm_identification.columns.joint_samples import JointSamples
from pkm_identification.columns.joint_terms import LOAD_FRICTION, OFFSET
from pkm_identification.fitting.model_fit import ModelFit
from pkm_identification.fitting.pooled_spread import moved_by
from pkm_identification.prepared_data import PreparedData


def with_unknown_loads(data: PreparedData, fit: ModelFit) -> ModelFit:
    """The fit with deviations that allow for offsets which the drives do not pass on; see the module."""
    if not {LOAD_FRICTION.kind, OFFSET.kind} <= fit.model.kinds:
        return fit
    kinds = {term.kind: values for term, values in fit.model.with_parameters(fit.parameters)}
    rows = data.joint_rows(lambda part: _columns(fit.samples[part]), np.arange(fit.model.machine.actuated_count))
    count, known = len(fit.base), np.isfinite(fit.shape.std)
    changes = moved_by(data, fit, rows) * (kinds[LOAD_FRICTION.kind] * _sizes(fit))
    covariance = fit.estimate.covariance + changes[:count] @ changes[:count].T
    std = fit.shape.std.copy()
    std[known] = np.hypot(std[known], np.linalg.norm(changes[count:], axis=1))
    return replace(fit, estimate=replace(fit.estimate, covariance=covariance), shape=replace(fit.shape, std=std))


def _columns(samples: JointSamples) -> Array:
    """Friction (N, A) per unit of coefficient and offset."""
    return np.sign(samples.passed_on) * samples.signs


def _sizes(fit: ModelFit) -> Array:
    """Offsets (A,) N or N m that are possible."""
    base = list(fit.base.names)
    fitted = dict(zip(fit.model.all_names, fit.parameters.tolist(), strict=True))
    possible = []
    for joint in fit.model.machine.actuated_joints:
        size, name = (
            abs(fitted.get(f'{joint.name}.coulomb', joint.friction.coulomb)),
            f'{joint.name}.{OFFSET.parameter}',
        )
        if name in base:  # by itself, not in a sum with bodies
            place = base.index(name)
            size = min(size, float(np.hypot(fit.estimate.parameters[place], fit.estimate.std[place])))
        possible.append(size)
    return np.array(possible)
