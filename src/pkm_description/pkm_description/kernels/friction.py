"""Friction laws of single joints, each a function of velocity, normal force and parameters.

A law is linear in some of its parameters: what stands here are the columns that these multiply. The classes of
``friction_laws`` name, check and describe the parameters, and call :func:`law_columns`.
"""

from __future__ import annotations

import math

from pkm_description.arrays import Array
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.model import ModelData, ScratchData

#: columns of the linear parameters, unused ones zero
Columns = tuple[float, float, float, float]

EXACT, TANH, ZONE = 0, 1, 2

#: in place of a smoothing: see :func:`friction_of_joints`
HELD = -1.0

VISCOUS_COULOMB = 0
ASYMMETRIC_COULOMB = 1
ASYMMETRIC = 2
STATIC_COULOMB = 3
DEAD_BAND = 4
ARCTANGENT = 5
POWER = 6
ASYMMETRIC_POWER = 7
STRIBECK = 8
LOAD_DEPENDENT_STRIBECK = 9
ASYMMETRIC_STRIBECK = 10

#: smallest normal speed: the begin of motion
ONSET = 2.2250738585072014e-308


@kernel
def sign_of(velocity: float, kind: int, width: float) -> float:
    """Sign of a velocity, exact or smooth; zero at exactly zero velocity."""
    if kind == TANH:
        return math.tanh(velocity / width)
    if kind == ZONE:
        return max(-1.0, min(1.0, velocity / width))
    if velocity > 0.0:
        return 1.0
    if velocity < 0.0:
        return -1.0
    return 0.0 * velocity  # zero, or NaN


@kernel
def law_columns(law: int, velocity: float, load: float, sign: float, shape: Array, row: int) -> Columns:
    """Columns of the linear parameters of a law; their sum with the parameters is the force against the motion.

    Parameters
    ----------
    law : its number
    velocity : m/s or rad/s
    load : N, >= 0, normal force in the joint
    sign : of the velocity, as :func:`sign_of` gives it
    shape : (J, 4) parameters in which the law is not linear, of which ``row`` counts
    """
    a, b, c, d = shape[row, 0], shape[row, 1], shape[row, 2], shape[row, 3]
    speed = abs(velocity)
    if law == VISCOUS_COULOMB:
        return velocity, sign, 0.0, 0.0
    if law == ASYMMETRIC_COULOMB:
        return velocity, max(sign, 0.0), min(sign, 0.0), 0.0
    if law == ASYMMETRIC:
        return max(velocity, 0.0), min(velocity, 0.0), max(sign, 0.0), min(sign, 0.0)
    if law == STATIC_COULOMB:
        if speed <= max(a, ONSET):
            return velocity, 0.0, sign, 0.0
        return velocity, sign, 0.0, 0.0
    if law == DEAD_BAND:
        # as printed (b = 0) the zone leaves the viscous term out
        viscous = velocity if speed > a or b == 1.0 else 0.0
        return viscous, max(-1.0, min(1.0, velocity / a)), 0.0, 0.0
    if law == ARCTANGENT:
        return velocity, sign, math.atan(a * velocity), 0.0
    if law == POWER:
        return sign * math.pow(speed, a), sign, 0.0, 0.0
    if law == ASYMMETRIC_POWER:
        return sign * math.pow(speed, a), max(sign, 0.0), min(sign, 0.0), 0.0
    fading = math.exp(-math.pow(speed / a, b))
    if law == STRIBECK:
        return velocity, sign * (1.0 - fading), sign * fading, 0.0
    if law == ASYMMETRIC_STRIBECK:
        return velocity, sign * (1.0 - fading), max(sign, 0.0) * fading, min(sign, 0.0) * fading
    # load-dependent Stribeck: c additional load, d viscous count, negative where the additional load fades too
    at_rest = fading if d < 0.0 else (1.0 if speed <= ONSET else 0.0)
    additional = at_rest * c
    return abs(d) * velocity, sign * ((1.0 - fading) * load + c - additional), sign * (fading * load + additional), 0.0


@kernel
def fill_columns(
    law: int, velocity: Array, load: Array, kind: int, width: float, shape: Array, columns: Array
) -> None:
    """Columns (N, P) of the linear parameters of one law at velocities and loads (N,)."""
    for n in range(len(velocity)):
        sign = sign_of(velocity[n], kind, width)
        values = law_columns(law, velocity[n], load[n], sign, shape, 0)
        for i in range(columns.shape[1]):
            columns[n, i] = values[i]


@kernel
def _weighted(linear: Array, joint: int, columns: Columns) -> float:
    """Sum of columns with a joint's linear parameters."""
    total: float = (
        linear[joint, 0] * columns[0]
        + linear[joint, 1] * columns[1]
        + linear[joint, 2] * columns[2]
        + linear[joint, 3] * columns[3]
    )
    return total


@kernel
def friction_of_joints(model: ModelData, scratch: ScratchData, smoothing: float) -> None:
    """``scratch.friction`` of all joints at ``scratch.joint_rates`` and ``scratch.loads``.

    ``smoothing`` > 0 is the velocity of a tanh in place of the laws' own signs; with :data:`HELD` exact signs stay what
    they were the last time.
    """
    laws, linear, shape = model.friction_law, model.friction_linear, model.friction_shape
    kinds, widths = model.friction_sign, model.friction_width
    rates, loads, friction, signs = scratch.joint_rates, scratch.loads, scratch.friction, scratch.signs
    for joint in range(len(laws)):
        if smoothing > 0.0:
            signs[joint] = sign_of(rates[joint], TANH, smoothing)
        elif smoothing == 0.0 or kinds[joint] != EXACT:
            signs[joint] = sign_of(rates[joint], kinds[joint], widths[joint])
        columns = law_columns(laws[joint], rates[joint], loads[joint], signs[joint], shape, joint)
        friction[joint] = _weighted(linear, joint, columns) + model.friction_offset[joint]


@kernel
def friction_torques(
    model: ModelData, scratch: ScratchData, rates: Array, loads: Array, smoothing: float, result: Array
) -> None:
    """Friction (N, J) of joint rates and loads (N, J)."""
    for sample in range(len(rates)):
        for joint in range(len(model.kind)):
            scratch.joint_rates[joint] = rates[sample, joint]
            scratch.loads[joint] = abs(loads[sample, joint])
        friction_of_joints(model, scratch, smoothing)
        for joint in range(len(model.kind)):
            result[sample, joint] = scratch.friction[joint]


@kernel
def deflect(
    velocities: Array, directions: Array, period: float, levels: Array, stiffnesses: Array, deflections: Array,
    slopes: Array,
) -> None:  # fmt: skip
    """Deflections of contacts that travel, as parts of those at which they slide.

    Bristles of a stiffness slide when they hold the level of friction, so the distance to there is ``level /
    stiffness``. Over the way x a deflection y goes to the direction of the motion, ``dy/d|x| = (direction - y) /
    distance`` (Dahl's model where the level is constant; the model of Canudas de Wit et al. without micro-damping). The
    first sample slides.

    Parameters
    ----------
    velocities : (N, A) m/s or rad/s
    directions : (N, A) from -1 to 1
    period : s, from sample to sample
    levels : (N, A) N or N m, friction of sliding; where it is not positive, contacts slide at once
    stiffnesses : (A,) N/m or N m/rad
    deflections, slopes : (N, A) results, and their derivatives by the stiffnesses
    """
    for joint in range(len(stiffnesses)):
        deflection, slope, stiffness = directions[0, joint], 0.0, stiffnesses[joint]
        deflections[0, joint], slopes[0, joint] = deflection, slope
        for sample in range(1, len(velocities)):
            way = 0.5 * period * (abs(velocities[sample - 1, joint]) + abs(velocities[sample, joint]))
            level, apart = levels[sample, joint], deflection - directions[sample, joint]
            left = math.exp(-stiffness * way / level) if level > 0.0 else 0.0
            deflection = directions[sample, joint] + left * apart
            slope = left * (slope - apart * way / level) if left > 0.0 else 0.0
            deflections[sample, joint], slopes[sample, joint] = deflection, slope
