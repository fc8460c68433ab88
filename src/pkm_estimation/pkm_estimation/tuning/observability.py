"""Observability of leg offsets, IMU delay, position and mounting: the filter's covariance along a motion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kinematics import drive_jacobian
from pkm_description.kinematics.rotation import cross, quaternion_from_matrix
from pkm_description.machine import Machine, PlatformMotion

from pkm_estimation.filtering.parts import measurement_model
from pkm_estimation.filtering.start import start_std
from pkm_estimation.filters import INTEGRATORS
from pkm_estimation.models import (
    ATTITUDE,
    POSITION,
    STATE_SIZE,
    VELOCITY,
    EstimatorGeometry,
    InertialProcess,
)
from pkm_estimation.models.extra_states import EXTRA_STATES, ImuFrame, StateLayout, extra_state_units
from pkm_estimation.sensors.conditions import imu_truth
from pkm_estimation.stream import EstimatorConfig

_POSES = ('a shift along x', 'a shift along y', 'another height', 'a tilt about x', 'a tilt about y', 'a turn about z')
_COMMON = 'common offset of all drives'
#: length of a named direction's part in the unseen space from which the name says it
_NAMED = 0.95
#: length of its part in what no other name has said yet from which it is worth saying
_NEW = 0.2
#: components of a direction that are worth a word
_WORTH = 0.2
#: deviation after the motion over deviation before it: below the first a direction is seen, above the second it is not
SEEN, UNSEEN = 0.1, 0.5
#: start deviations of the pose (m, quaternion vector part): broad, so that only measurements tell it
_BROAD = 1.0, 0.1
#: step of the difference quotients; all quantities are of the order of one
_STEP = 1e-5


@dataclass(frozen=True)
class Observability:
    """Constants of M parameters before and after a motion.

    Attributes
    ----------
    names : of the parameters, such as ``leg_offsets leg1``, ``imu_position x``
    units : of the parameters
    groups : rows of each group of parameters
    prior : (M,) standard deviations before, in each parameter's unit
    covariance : (M, M) after the motion, in the parameters' units
    pose_patterns : (6, A) offsets of the drives, unit vectors, that look like a change of pose: along x, y, z, about
        x, y, z of the platform; in the middle of the motion. ``None`` where offsets are no parameters, or legs forbid
        the platform some of these
    noise_factors : on the variances of IMU and legs in the machine file that were assumed
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    groups: dict[str, slice]
    prior: Array
    covariance: Array
    pose_patterns: Array | None
    noise_factors: tuple[float, float]

    @property
    def std(self) -> Array:
        """Standard deviations (M,) after the motion."""
        std: Array = np.sqrt(self.covariance.diagonal())
        return std

    def directions(self) -> tuple[Array, Array]:
        """Principal directions, best seen first.

        Returns
        -------
        ratio : (M,) deviation after over deviation before
        vectors : (M, M) in rows, orthonormal, in units of the prior deviations
        """
        scaled = self.covariance / np.outer(self.prior, self.prior)
        values, vectors = np.linalg.eigh(0.5 * (scaled + scaled.T))
        return np.sqrt(np.maximum(values, 0.0)), vectors.T

    def information(self) -> Array:
        """Singular values (M,) of the information that the motion brought, in units of the prior's; largest first."""
        ratio, _ = self.directions()
        gained: Array = np.maximum(0.0, 1.0 / np.maximum(ratio, 1e-15) ** 2 - 1.0)
        return gained


def observability(
    machine: Machine,
    motion: PlatformMotion,
    estimate: tuple[str, ...] = tuple(EXTRA_STATES),
    config: EstimatorConfig | None = None,
) -> Observability:
    """Linearise the filter along a motion and see what it would know about the constants at the end, for any machine.

    Process and measurement model are those of the estimator, linearised by difference quotients at the true states;
    the start pose is unknown. So the covariance is the inverse of the information that all measurements of the
    motion have, with the noise of IMU and legs as in the machine file.

    Parameters
    ----------
    motion : N samples; one measurement of IMU and legs at each
    estimate : names of the extra states
    config : deviations at the start, factors on noise
    """
    config = config or EstimatorConfig()
    geometry = EstimatorGeometry.from_machine(machine)
    layout = StateLayout.of(STATE_SIZE, machine.actuated_count, estimate)
    chart = motion.rotation_base_platform[0]
    gravity = chart.T @ machine.gravity
    process = InertialProcess(gravity, INTEGRATORS[config.integrator], layout.imu_rotation)
    legs = measurement_model(geometry, layout, machine)
    legs.set_chart(chart)
    factors = config.noise_inflation * config.q_scale, config.noise_inflation * config.r_scale
    process.set_noise(factors[0] * ImuFrame(machine.imu).noise_covariance)
    constraints = np.full(legs.constraint_count, config.constraint_std**2)
    noise = np.diag(np.concatenate([factors[1] * machine.leg_sensors.position_noise**2, constraints]))
    states = _true_states(motion, geometry, chart, layout.size)
    inputs = np.hstack(imu_truth(motion, machine.gravity, machine.imu.position, np.eye(3)))
    prior = start_std(config, layout, *_BROAD)
    covariance = np.diag(prior**2)
    step = _STEP * np.eye(layout.size)
    offsets = np.vstack([step, -step])
    intervals = np.diff(motion.time)
    for k, state in enumerate(states):  # a recursion: each covariance comes from the one before
        if k:
            moved = process.propagate(states[k - 1] + offsets, inputs[k - 1], inputs[k], intervals[k - 1])
            slope = _slope(moved)
            root = process.noise_factor(states[k - 1], intervals[k - 1])
            covariance = slope @ covariance @ slope.T + root @ root.T
        legs.follow(inputs[k], inputs[k], 1.0)
        slope = _slope(legs.observe(state + offsets))
        gain = np.linalg.solve(slope @ covariance @ slope.T + noise, slope @ covariance).T
        kept = np.eye(layout.size) - gain @ slope
        covariance = kept @ covariance @ kept.T + gain @ noise @ gain.T
    extra = slice(STATE_SIZE, layout.size)
    groups = {name: slice(rows.start - STATE_SIZE, rows.stop - STATE_SIZE) for name, rows in layout.groups.items()}
    free = layout.leg_offsets is not None and not legs.constraint_count
    patterns = _pose_patterns(machine, motion) if free else None
    names, units = _names(machine, groups), extra_state_units(machine.position_units)
    in_units = tuple(units[name.split()[0]] for name in names)
    return Observability(names, in_units, groups, prior[extra], covariance[extra, extra], patterns, factors)


def _true_states(motion: PlatformMotion, geometry: EstimatorGeometry, chart: Array, size: int) -> Array:
    """States (N, n) with all constants zero, positions and attitudes in the axes of the chart."""
    rotation = motion.rotation_base_platform
    arm = rotation @ geometry.imu_position
    velocity = motion.linear_velocity + cross(motion.angular_velocity, arm)
    quaternion = quaternion_from_matrix(chart.T @ rotation)
    states = np.zeros((len(motion), size))
    states[:, POSITION] = (motion.position + arm) @ chart
    states[:, VELOCITY] = np.squeeze(velocity[:, None] @ rotation, axis=1)
    states[:, ATTITUDE] = np.where(quaternion[:, 3:] < 0.0, -1.0, 1.0) * quaternion[:, :3]
    return states


def _slope(values: Array) -> Array:
    """Derivative (m, n) from values (2 n, m) at steps forward and back."""
    forward, back = np.split(values, 2)
    slope: Array = (forward - back).T / (2.0 * _STEP)
    return slope


def _pose_patterns(machine: Machine, motion: PlatformMotion) -> Array:
    """Unit vectors (6, A) of what drives measure of small changes of the pose, platform axes, mid-motion."""
    middle = len(motion) // 2
    rotation = motion.rotation_base_platform[middle]
    jacobian = drive_jacobian(machine, motion.position[middle], rotation)
    patterns = (jacobian @ np.kron(np.eye(2), rotation)).T
    scaled: Array = patterns / np.linalg.norm(patterns, axis=1, keepdims=True)
    return scaled


def _names(machine: Machine, groups: dict[str, slice]) -> tuple[str, ...]:
    names: list[str] = []
    for group in groups:
        if group == 'leg_offsets':
            names += [f'{group} {drive}' for drive in machine.drive_labels]
        elif group == 'imu_delay':
            names.append(group)
        else:
            names += [f'{group} {axis}' for axis in 'xyz']
    return tuple(names)


def observability_report(found: Observability) -> list[str]:
    """Report as lines of text: all constants and named combinations, then the unobservable directions."""
    lines = [f'{"constant":44s} {"before":>9s} {"after":>9s}']
    std = found.std
    for name, unit, before, after in zip(found.names, found.units, found.prior, std, strict=True):
        lines.append(f'{name:44s} {before:9.2g} {after:9.2g} {unit:4s} {_verdict(after / before)}')
    for name, direction in named_combinations(found).items():
        before, after = float(np.linalg.norm(direction * found.prior)), _std_along(found, direction)
        lines.append(f'{name:44s} {before:9.2g} {after:9.2g} {found.units[0]:4s} {_verdict(after / before)}')
    information = found.information()
    told = ' '.join(f'{value:.2g}' for value in information)
    lines.append(f'singular values of the information gained (in units of what was known before): {told}')
    q, r = found.noise_factors
    factors = '' if q == r == 1.0 else f' (variances times {q:.4g} for the IMU, {r:.4g} for the legs)'
    lines.append(f'(with noise as in the machine file{factors}; geometry and scale factors taken as exact)')
    unseen = unseen_directions(found)
    if not unseen:
        lines.append('every combination of these constants is seen')
    else:
        lines.append(f'not seen ({len(unseen)} of {len(found.names)} directions):')
        lines += [f'  {text}' for text in unseen]
    return lines


def named_combinations(found: Observability) -> dict[str, Array]:
    """Combinations (M,) of leg offsets with a meaning, unit vectors in the parameters' units."""
    rows = found.groups.get('leg_offsets')
    if rows is None:
        return {}
    count = rows.stop - rows.start
    patterns = {_COMMON: np.full(count, count**-0.5)}
    if found.pose_patterns is not None:
        named = zip(_POSES, found.pose_patterns, strict=True)
        patterns |= {f'offsets that look like {pose}': row for pose, row in named}
    combinations = {}
    for name, pattern in patterns.items():
        combinations[name] = np.zeros(len(found.names))
        combinations[name][rows] = pattern
    return combinations


def unseen_directions(found: Observability) -> list[str]:
    """One line for each direction that the motion does not show, as a named combination where one lies in it."""
    ratio, vectors = found.directions()
    space = vectors[ratio > UNSEEN]
    names = {name: _scaled(direction / found.prior) for name, direction in named_combinations(found).items()}
    names |= dict(zip(found.names, np.eye(len(found.names)), strict=True))
    texts, left = [], space
    for name, direction in names.items():
        if np.linalg.norm(space @ direction) < _NAMED:
            continue  # the motion shows a part of it
        rest = left @ direction
        if len(left) == 0 or np.linalg.norm(rest) < _NEW:
            continue  # said already, in other words
        texts.append(name + (_looks_like(found, direction * found.prior) if name == _COMMON else ''))
        # what is left, at right angles to it
        along = _scaled(rest)
        left = np.linalg.svd(left - np.outer(along, along @ left), full_matrices=False)[2][: len(left) - 1]
    # what has no name, by its components in physical units
    return texts + [_spelled(found, direction) for direction in left]


def _looks_like(found: Observability, direction: Array) -> str:
    """Which change of the pose a direction of leg offsets cannot be told from."""
    if found.pose_patterns is None:
        return ''
    likeness = np.abs(found.pose_patterns @ _scaled(direction[found.groups['leg_offsets']]))
    best = int(np.argmax(likeness))
    return f' (~ {_POSES[best]})' if likeness[best] > _NAMED else ''


def _spelled(found: Observability, direction: Array) -> str:
    largest = np.abs(direction).max()
    order = np.argsort(-np.abs(direction))
    sign = np.sign(direction[order[0]])
    physical = sign * direction * found.prior
    words = [
        f'{physical[row]:+.2g} {found.units[row]} {found.names[row]}'
        for row in order
        if abs(direction[row]) > _WORTH * largest
    ]
    return ' with '.join(words)


def _verdict(ratio: float) -> str:
    return 'seen' if ratio < SEEN else 'NOT SEEN' if ratio > UNSEEN else 'weakly seen'


def _std_along(found: Observability, direction: Array) -> float:
    return float(np.sqrt(direction @ found.covariance @ direction))


def _scaled(vector: Array) -> Array:
    scaled: Array = vector / np.linalg.norm(vector)
    return scaled
