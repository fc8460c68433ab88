"""S3-01 to S3-11: geometry, lengths, attitudes, and the conventional baseline."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import AssemblyModeError, ConvergenceError, SingularPoseError
from pkm_description.kinematics import (
    PoseSolver,
    drive_positions,
    forward_kinematics,
    leg_lengths,
    length_jacobian,
)
from pkm_description.kinematics.rotation import (
    matrix_from_quaternion,
    matrix_from_rpy,
    quaternion_from_matrix,
    rotation_exp,
    rpy_from_matrix,
)
from pkm_description.kinematics.workspace import position_violations, random_states, single_axis_limits
from pkm_description.machine import Machine, Pose
from pkm_description.motion.profiles import RollPitchSines, mp1_profile
from pkm_description.skeleton.kinds import hexapod_layout
from pkm_estimation.baseline import ButterworthDifferentiator, KinematicEstimator
from pkm_estimation.sensors import SensorConditions
from scipy.signal import lfilter
from scipy.spatial.transform import Rotation

from verification.check import Check, at_most, equal, near, near_each, refused, relative_error
from verification.mechanics.neighbours import smooth_derivative
from verification.miletovic_2017 import data as paper
from verification.miletovic_2017.data import D
from verification.miletovic_2017.pipeline_run import Laboratory, simulated
from verification.miletovic_2017.scenario import (
    DEFAULT,
    INTERVAL,
    RATE,
    Scenario,
    machine_named,
    profile_named,
)

#: S3-10: damping, time constant s, b0, a1, a2 at 100 Hz
COEFFICIENTS = (
    (2.0**0.5, 0.04, 2.62076112, -1.65107950, 0.70349473),
    (2.0, 0.04, 2.46913580, -1.55555556, 0.60493827),
    (2.0**0.5, 1.0 / (50.0 * np.pi), 45.23073994, -0.28094574, 0.18556054),
)


def geometry(lab: Laboratory) -> Iterator[Check]:
    """S3-01 to S3-09."""
    yield from simona_checks(machine_named('srs'), lab.quick)


def differentiator(lab: Laboratory) -> Iterator[Check]:
    """S3-10."""
    for damping, time_constant, b0, a1, a2 in COEFFICIENTS:
        numerator, denominator = ButterworthDifferentiator(time_constant, damping).coefficients(RATE)
        found = np.concatenate([numerator, denominator[1:]])
        what = f'B2 coefficients, damping {damping:.3g}, tau_d {1e3 * time_constant:.4g} ms, 100 Hz'
        yield near_each('S3-10', what, (b0, 0.0, -b0, a1, a2), found, 1e-6)
    # fine steps: the filter of Eq. 28 itself, not its 100 Hz version
    for omega, what in ((25.0, 'gain of the low-pass at 1/tau_d'), (0.5, 'lag at low frequency')):
        differentiate, step = ButterworthDifferentiator(), 1e-3
        times = np.arange(0.0, 4.0 * np.pi / omega + 1.0, step)
        rates = np.array([differentiate(np.array(np.sin(omega * t)), step) for t in times]) / omega
        settled = times > times[-1] - 2.0 * np.pi / omega
        basis = np.stack([np.cos(omega * times), np.sin(omega * times)], axis=1)[settled]
        cosine, sine = np.linalg.lstsq(basis, rates[settled], rcond=None)[0]
        if omega == 25.0:
            yield near('S3-10', what, 2.0**-0.5, float(np.hypot(cosine, sine)), 1e-3)
        else:
            lag = float(np.arctan2(sine, cosine)) / omega
            yield near('S3-10', what, 2.0**0.5 * 0.04, lag, 1e-4, 's')


def jacobian_velocity(lab: Laboratory) -> Iterator[Check]:
    """S3-11: both baselines differentiate with the same filter, one the position, one the leg lengths.

    What they differ by is what the filter does to axes and legs that turn, and nothing else: it is computed here from
    the true motion by SciPy.
    """
    motion = profile_named('srs', 'mp1')(np.arange(12.0, 14.0 if lab.quick else 22.0, INTERVAL))
    machine = machine_named('srs')
    scenario = Scenario('srs', begin=12.0, duration=float(motion.time[-1] - 12.0), conditions=SensorConditions(False))
    positions = simulated(scenario).drive_positions
    rotation = motion.rotation_base_platform
    jacobian = length_jacobian(machine, motion.position, rotation)
    for time_constant, what in ((0.04, 'tau_d 40 ms'), (0.005, 'tau_d 5 ms')):
        estimator = KinematicEstimator(machine, np.eye(6), time_constant)
        estimates = [estimator.estimate(sample, INTERVAL) for sample in positions]
        section = ButterworthDifferentiator(time_constant).coefficients(RATE)
        # both filters begin at rest
        by_position, by_lengths = (
            lfilter(*section, values - values[0], axis=0) for values in (motion.position, positions)
        )
        twist = np.linalg.solve(jacobian, by_lengths[:, :, None])[:, :3, 0]
        to_platform = rotation.transpose(0, 2, 1)
        expected = np.squeeze(to_platform @ (twist - by_position)[:, :, None], axis=2)
        rows = slice(60, None)
        velocity, through = (
            np.array([getattr(one, name) for one in estimates])[rows] for name in ('velocity', 'jacobian_velocity')
        )
        rms = 1e3 * np.sqrt(np.mean(np.square(through - velocity)))
        unexplained = through - velocity - expected[rows]
        name = f'Jacobian less B2 velocity on MP1, {what}, {rms:.3g} mm/s rms: less the difference of the filters'
        yield at_most('S3-11', name, 1e-9, unexplained, 'm/s')


def never_above(lab: Laboratory) -> Iterator[Check]:
    """S3-08 again, along whole runs of the estimator."""
    for motion in ('mp1', 'mp2'):
        run = lab.pipelines([Scenario('srs', motion, lab.duration, config=replace(DEFAULT, baseline=True))])[0]
        for name, positions in (('filter', run.result.motion.position), ('baseline', run.result.baseline.position)):
            count = np.count_nonzero(positions[:, 2] <= 0.0)
            yield at_most('S3-08', f'{motion}, {name}: estimates on the mirrored branch of {len(positions)}', 0, count)


def simona_checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """Checks of SIMONA's machine file and kinematics."""
    yield from geometry_checks(machine)
    yield from length_checks(machine)
    yield from limit_checks(machine)
    yield from attitude_checks(100 if quick else 10_000)
    yield from jacobian_checks(machine, 20 if quick else 200)
    yield from path_checks(machine, 3.0 if quick else 30.0)
    yield from refusal_checks(machine)


def geometry_checks(machine: Machine) -> Iterator[Check]:
    """S3-01: joints from radii and pair distances, and from the table in a file."""
    base, platform = hexapod_layout(paper.BASE_RADIUS, paper.PLATFORM_RADIUS, paper.BASE_PAIR, paper.PLATFORM_PAIR)
    for source, points in (
        ('radii and pair distances', (base, platform)),
        ('the machine file', (machine.base_points, machine.platform_points)),
    ):
        difference = np.stack([points[0] - paper.BASE_POINTS @ D, points[1] - paper.PLATFORM_POINTS @ D])
        yield at_most('S3-01', f'joints worked out from Table 1, from {source}', 1e-9, difference, 'm')
    yield near('S3-01', 'neutral height', -2.3888, -float(machine.home.position[2]), 5e-5, 'm')


def length_checks(machine: Machine) -> Iterator[Check]:
    """S3-02: lengths of the check state and at the printed poses."""
    scalar = float(np.sqrt(1.0 - paper.QUATERNION_VECTOR @ paper.QUATERNION_VECTOR))
    yield near('S3-02', 'scalar of the check quaternion', paper.QUATERNION_SCALAR, scalar, 1e-13)
    rotation = matrix_from_quaternion(np.append(paper.QUATERNION_VECTOR, scalar))
    yield at_most('S3-02', 'T_ba of the check state', 1e-9, rotation - paper.ROTATION)
    lengths = _lengths(machine, paper.POSITION, rotation)
    yield near_each('S3-02', 'lengths h(x*), m', paper.LENGTHS, lengths, 1e-9)
    # the state then belongs to the IMU; the platform stands behind it
    lengths = _lengths(machine, paper.POSITION - rotation @ paper.IMU_POSITION, rotation)
    yield near_each('S3-02', 'lengths h(x*) of a state at the IMU, m', paper.LENGTHS_FROM_IMU, lengths, 1e-9)
    worst = []
    for pose, expected in paper.PRINTED_POSES:
        lengths = _lengths(machine, np.array(pose[:3]), matrix_from_rpy(np.radians(pose[3:])))
        worst.append(np.abs(lengths - expected).max())
    yield at_most('S3-02', 'lengths at the eight poses of Tables 2 and 3 (rounded to 1 cm)', 0.01, worst, 'm')


def limit_checks(machine: Machine) -> Iterator[Check]:
    """S3-03 and S3-05: excursions along single axes, and the check of strokes."""
    found = single_axis_limits(machine, margin=0.05)
    for axis, (name, lower, upper) in enumerate(paper.MOTION_LIMITS):
        room = found[axis] if axis < 3 else np.degrees(found[axis])
        # y, z and the rotations about them change their signs between z down and z up
        lower_found, upper_found = sorted(room * D[axis % 3, axis % 3])
        tolerance, unit = (0.002, 'm') if axis < 3 else (0.05, 'deg')
        yield near_each(
            'S3-03', f'{name}, stroke 2.13 to 3.28 m', (lower, upper), (lower_found, upper_found), tolerance, unit
        )
    stroke = [
        machine.lengths_at_zero + bound[machine.drive_columns]
        for bound in (machine.position_lower, machine.position_upper)
    ]
    yield at_most('S3-05', 'shortest leg', 1e-12, stroke[0] - paper.SHORTEST, 'm')
    yield at_most('S3-05', 'longest leg', 1e-12, stroke[1] - paper.LONGEST, 'm')
    motion = random_states(machine, 500, seed=71, turn=0.5, move=0.35)
    lengths = leg_lengths(machine, motion.position, motion.rotation_base_platform)
    outside = (lengths < paper.SHORTEST) | (lengths > paper.LONGEST)
    expected = sorted((int(sample), f'leg{leg + 1}') for sample, leg in np.argwhere(outside))
    named = sorted((one.sample, one.leg) for one in position_violations(machine, motion) if one.unit == 'm')
    yield equal('S3-05', 'legs reported outside in 500 poses', len(expected), len(named))
    yield equal('S3-05', 'pose and leg of each report are right', True, len(expected) > 100 and expected == named)


def attitude_checks(count: int) -> Iterator[Check]:
    """S3-04: quaternion, matrix and z-y-x angles without ambiguous signs."""
    rotations = Rotation.random(count, random_state=72)
    matrices = rotations.as_matrix()
    quaternions = quaternion_from_matrix(matrices)
    own = rotations.as_quat(canonical=True)
    yield at_most('S3-04', 'matrix -> quaternion with e0 >= 0 (scipy)', 1e-12, quaternions - own)
    yield at_most('S3-04', 'quaternion -> matrix (scipy)', 1e-12, matrix_from_quaternion(own) - matrices)
    angles = rpy_from_matrix(matrices)
    yield at_most('S3-04', 'matrix -> z-y-x angles -> matrix', 1e-12, matrix_from_rpy(angles) - matrices)
    turned = Rotation.from_euler('ZYX', angles[:, ::-1]).as_matrix()
    yield at_most('S3-04', 'z-y-x angles -> matrix (scipy)', 1e-12, turned - matrices)
    made = matrix_from_rpy(angles)
    yield at_most('S3-04', 'matrices orthogonal', 1e-12, made @ np.swapaxes(made, 1, 2) - np.eye(3))


def jacobian_checks(machine: Machine, count: int) -> Iterator[Check]:
    """S3-06: analytic Jacobian, condition and determinant at neutral."""
    motion = random_states(machine, count, seed=73)
    pose = motion.position, motion.rotation_base_platform
    columns = []
    for unit in np.eye(6):

        def moved(step: float, unit: Array = unit) -> Array:
            return leg_lengths(machine, pose[0] + step * unit[:3], rotation_exp(step * unit[3:]) @ pose[1])

        columns.append(smooth_derivative(moved, 1e-3))
    error = relative_error(length_jacobian(machine, *pose), np.stack(columns, axis=-1))
    yield at_most('S3-06', 'length Jacobian against finite differences, relative', 1e-7, error)
    home = machine.home
    jacobian = length_jacobian(machine, home.position[None], home.rotation_base_platform[None])[0]
    yield near('S3-06', 'condition number at neutral', 3.27, float(np.linalg.cond(jacobian)), 0.005)
    yield near('S3-06', 'determinant at neutral, size', 12.8, abs(float(np.linalg.det(jacobian))), 0.05)


def path_checks(machine: Machine, duration: float) -> Iterator[Check]:
    """S3-07 and S3-08: forward kinematics along MP1 and a surrogate of MP2, always on the same branch."""
    profile = mp1_profile(machine, duration=30.0 + duration)
    motion = profile.evaluate(np.arange(10.0, 10.0 + duration, 0.01))
    time = np.arange(5.0, 5.0 + duration, 0.01)
    sines = RollPitchSines(machine.home, duration=15.0 + duration).evaluate(time)
    surrogate = sines.position, sines.rotation_base_platform
    for name, pose in (('MP1', (motion.position, motion.rotation_base_platform)), ('MP2 surrogate', surrogate)):
        lengths = leg_lengths(machine, *pose)
        begins = np.zeros(len(lengths), dtype=bool)
        rough, exact = (
            PoseSolver(machine, tolerance, 30).series(lengths - machine.lengths_at_zero, begins)
            for tolerance in (1e-9, 1e-12)
        )
        iterations = rough.found.iterations[1:]  # the first sample starts from home
        yield at_most('S3-07', f'{name}, {len(lengths)} samples, warm start: iterations at 1e-9', 4, iterations)
        left = leg_lengths(machine, exact.found.position, exact.found.rotation) - lengths
        yield at_most('S3-07', f'{name}: residual without noise', 1e-12, left, 'm')
        yield at_most('S3-07', f'{name}: error of the position', 1e-11, exact.found.position - pose[0], 'm')
        # z down is negative where z up is positive
        below = int(np.count_nonzero(exact.found.position[:, 2] <= 0.0))
        yield equal('S3-08', f'{name}: poses on the mirrored branch', 0, below)
        yield equal('S3-08', f'{name}: poses flagged', 0, len(exact.errors))
    home = machine.home
    drives = drive_positions(machine, home.position[None], home.rotation_base_platform[None])
    mirrored = Pose(home.position * np.array([1.0, 1.0, -1.0]), home.rotation_base_platform)
    what = 'start below the base: the mirrored pose is refused'
    yield _unsolved('S3-08', what, AssemblyModeError, machine, drives, mirrored)


def refusal_checks(machine: Machine) -> Iterator[Check]:
    """S3-09: unsolvable and singular cases are refused."""
    home = machine.home
    at_home = drive_positions(machine, home.position[None], home.rotation_base_platform[None])
    far = at_home.copy()
    far[0, 3] += 3.0 * (far[0, 3] + machine.lengths_at_zero[3])
    yield _unsolved('S3-09', 'lengths that no pose has', ConvergenceError, machine, far)
    motion = random_states(machine, 1, seed=74)
    drives = drive_positions(machine, motion.position, motion.rotation_base_platform)
    what = 'two iterations where more are needed'
    yield _unsolved('S3-09', what, ConvergenceError, machine, drives, home, max_iterations=2)
    what = 'condition number above the threshold (3.27 at home, 3 allowed)'
    yield _unsolved('S3-09', what, SingularPoseError, machine, at_home, home, max_condition=3.0)
    start = Pose(home.position, rotation_exp(np.array([0.0, 0.0, 0.5 * np.pi])))
    drives = drive_positions(machine, start.position[None], start.rotation_base_platform[None])
    what = 'pose turned by 90 degrees about the vertical (singular)'
    yield _unsolved('S3-09', what, SingularPoseError, machine, drives, start)


def _lengths(machine: Machine, position: Array, rotation: Array) -> Array:
    """Leg lengths (6,) of one pose in the paper's axes."""
    return leg_lengths(machine, (D @ position)[None], (D @ rotation @ D)[None])[0]


def _unsolved(id: str, what: str, error: type[Exception], machine: Machine, *given: Any, **settings: Any) -> Check:
    """Forward kinematics of drive positions, from a start if one is given, which must refuse what it finds."""
    return refused(id, what, error, lambda: forward_kinematics(machine, *given, **settings).require())
