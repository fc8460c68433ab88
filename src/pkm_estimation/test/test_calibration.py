"""Calibration: constants that are hidden are found within what is claimed, and bad data are named."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from pkm_description.errors import KinematicsError
from pkm_description.kinematics import forward_kinematics
from pkm_description.kinematics.rotation import matrix_from_rpy, quaternion_from_matrix
from pkm_description.machine import Machine, Tolerances
from pkm_description.machine.tolerances import Calibrated
from pkm_estimation.calibration.constants import Constants
from pkm_estimation.calibration.data import write_static_poses
from pkm_estimation.calibration.instruments import Inclination
from pkm_estimation.calibration.motion import Motion, of_motion
from pkm_estimation.calibration.plan import (
    PoseErrors,
    built_machine,
    designed_poses,
    drives_in_reach,
    measured_targets,
    targets_around,
)
from pkm_estimation.calibration.problem import mean_square, solve
from pkm_estimation.calibration.static_poses import LegRows, StaticPoses
from pkm_estimation.filtering.constant_columns import ConstantScore
from pkm_estimation.nodes.calibrate import EXIT_CODES, main
from pkm_estimation.offline.estimate import recorded

from pkm_description import load_machine, profile
from pkm_estimation import EstimatorConfig, measure

_TOLERANCE, _NOISE = 3e-4, 15e-6


def _machine(name: str) -> Machine:
    return replace(load_machine(name), tolerances=Tolerances(_TOLERANCE, _TOLERANCE))


def _problem(name: str, seed: int, poses: int = 30, outliers: float = 0.0):
    """Constants, what they are, and static poses of a machine that was built with them."""
    machine, random = _machine(name), np.random.default_rng(seed)
    constants = Constants(machine)
    true = random.normal(size=len(constants))
    built = constants.machine_at(true)
    drives = drives_in_reach(built, poses, random, 0.6)
    drives, points = measured_targets(built, drives, targets_around(machine, 3), _NOISE, random, outliers)
    noise = np.broadcast_to(machine.leg_sensors.position_noise, drives.shape[1:])
    return constants, true, StaticPoses(constants, drives, noise, [points])


def _normalised_square(solution, true) -> float:
    """Square of the error by its covariance, over the number of constants: 1 if what is claimed is true."""
    error = solution.values[: len(true)] - true
    covariance = solution.covariance[: len(true), : len(true)]
    return float(error @ np.linalg.solve(covariance, error)) / len(true)


DEAR = [pytest.param(name, marks=pytest.mark.campaign) for name in ('delta', 'valencia_3rps')]


@pytest.mark.parametrize('name', ['srs', 'hexaglide_6pus', 'octopod_8ups', *DEAR])
def test_hidden_geometry_is_found_by_targets_as_well_as_claimed(name: str) -> None:
    """Struts, rods on arms and on rails, legs that hold the platform, more drives than freedoms."""
    squares, ratios = [], []
    for seed in range(3):
        constants, true, static = _problem(name, seed)
        solution = solve(constants, [static])
        squares.append(_normalised_square(solution, true))
        assert solution.has_converged and 0.6 < solution.squares / solution.count < 1.4
        found = constants.machine_at(true)
        poses = forward_kinematics(found, static.drives, tolerance=0.05 if found.is_redundant else 1e-4)
        errors = PoseErrors(found, poses.position, poses.rotation_base_platform)
        left = errors.size(solution.values - true)[0]
        ratios.append(left / errors.deviation(solution.covariance)[0])
        assert left < 0.4 * errors.size(true)[0]
    # of three times 21 to 66 numbers
    assert 0.6 < np.mean(squares) < 1.6
    assert np.sqrt(np.mean(np.square(ratios))) < 1.6


def test_a_pose_out_of_reach_begins_at_the_nearest_one() -> None:
    """Where most are out of reach, the machine is another one."""
    static = _problem('srs', 1)[2]
    impossible = np.array([10.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    nearest = np.argmin(np.linalg.norm(static.drives[1:] - impossible, axis=1))
    drives = static.drives.copy()
    drives[0] = impossible
    moved = StaticPoses(static.constants, drives, static.noise, static.instruments)
    moved.start(static.constants.machine)
    assert np.array_equal(moved.poses[0][0], moved.poses[0][1 + nearest])
    assert len(np.unique(moved.poses[0], axis=0)) == len(drives) - 1
    drives[:20] = impossible
    with pytest.raises(KinematicsError, match='sample 0'):
        StaticPoses(static.constants, drives, static.noise, static.instruments).start(static.constants.machine)


def test_gross_outliers_are_left_out() -> None:
    """Five percent of the points are off by a hundred times their noise."""
    constants, true, static = _problem('srs', 1, outliers=0.05)
    clean = _problem('srs', 1)[2]
    distance = np.linalg.norm(static.instruments[0].measured - clean.instruments[0].measured, axis=2)
    solution = solve(constants, [static])
    assert 3 < np.count_nonzero(distance > 20.0 * _NOISE) < 12
    assert np.array_equal(static.weights[0] == 0.0, distance > 20.0 * _NOISE)
    assert _normalised_square(solution, true) < 1.6


def _of_own_sensors(name: str, seed: int, inclined: bool):
    """Constants, what they are, static poses that no instrument measures, and where they are."""
    constants, true, static = _problem(name, seed, poses=60)
    found = forward_kinematics(constants.machine_at(true), static.drives, **({} if inclined else {'tolerance': 0.05}))
    poses = found.position, found.rotation_base_platform
    static.instruments = []
    if inclined:
        machine, random = constants.machine, np.random.default_rng(seed)
        mounting, none = matrix_from_rpy(0.01 * random.normal(size=3)), np.zeros(3)
        force = 2e-3 * random.normal(size=(60, 3)) + 0.1 * random.normal(size=3)
        force -= np.einsum('nji,j->ni', poses[1] @ mounting, machine.gravity)
        static.instruments = [Inclination.of(force, 2e-3, machine.gravity, np.eye(3), none)]
    return constants, true, static, poses


@pytest.mark.parametrize(('name', 'inclined'), [('srs', True), ('hexaglide_6pus', True), ('octopod_8ups', False)])
def test_sensors_of_the_machine_alone_tell_a_part_and_claim_no_more(name: str, inclined: bool) -> None:
    """Which way is up, by an IMU at rest whose mounting and bias are unknown; drives that contradict each other."""
    squares, ratios = [], []
    for seed in range(4):
        constants, true, static, poses = _of_own_sensors(name, seed, inclined)
        solution = solve(constants, [static])
        assert solution.has_converged
        squares.append(_normalised_square(solution, true))
        errors = PoseErrors(constants.machine_at(true), *poses)
        claimed = errors.deviation(solution.covariance)[0]
        ratios.append(errors.size(solution.values - true)[0] / claimed)
        # an inclination tells little of srs that is off by 0.3 mm, contradictions of eight drives tell much
        assert claimed < (0.97 if inclined else 0.3) * errors.deviation(np.eye(len(true)))[0]
        assert solution.determined < len(true) - 12  # frames at least stay unknown
    assert 0.7 < np.mean(squares) < 1.4
    assert np.sqrt(np.mean(np.square(ratios))) < 1.6


@pytest.mark.parametrize(('name', 'seed'), [('delta', 0), ('hexaglide_6pus', 2)])
def test_what_poses_say_of_constants_is_the_same_whatever_was_tried_before(name: str, seed: int) -> None:
    """Poses near a singularity, which a whole step misses; an IMU whose bias is found while the poses stand still."""
    _, true, static, _ = _of_own_sensors(name, seed, True)
    first = static.score(np.zeros(len(true)))
    static.score(0.5 * true)
    assert static.score(np.zeros(len(true))).squares[0] == pytest.approx(first.squares[0], rel=0.01)


def test_slopes_of_the_legs_are_differences() -> None:
    """By pose and constants, away from home, of a machine whose legs hold the platform."""
    constants, true, static = _problem('delta', 0, poses=2)
    static.start(constants.machine)
    machine = constants.machine_at(0.1 * true)
    values, _, by_constants = LegRows(machine).at(*static.poses)
    step = 1e-3 * np.random.default_rng(1).normal(size=len(true))
    after = LegRows(constants.machine_at(0.1 * true + step)).at(*static.poses)[0]
    assert after - values == pytest.approx(by_constants @ step, abs=2e-9)


def test_an_imu_in_motion_calibrates_the_geometry() -> None:
    """No instrument: 42 constants of palida off by 0.3 mm, an IMU with unknown mounting, place and delay."""
    machine, random = _machine('palida'), np.random.default_rng(2)
    alone = Constants(machine)
    true = random.normal(size=len(alone))
    built = alone.machine_at(true)
    motion = profile('drives', built, duration=20.0, rate=100.0)
    data = recorded(machine, measure(built, motion, seed=2))
    constants, config = of_motion(machine, data, EstimatorConfig())
    measurement = Motion(constants, data, config)
    before = measurement.score(np.zeros(len(constants))).squares
    solution = solve(constants, [measurement])
    assert before[0] / before[1] > 3.0
    assert 0.9 < solution.squares / solution.count < 1.1
    assert _normalised_square(solution, true) < 1.6
    poses = forward_kinematics(built, drives_in_reach(built, 20, random, 0.5))
    errors = PoseErrors(built, poses.position, poses.rotation_base_platform)
    size = len(true)
    left = errors.size(solution.values[:size] - true)[0]
    assert left < 0.15 * errors.size(true)[0]
    assert left < 1.6 * errors.deviation(solution.covariance[:size, :size])[0]
    assert any('centre' in told for told in solution.not_determined())


@pytest.mark.parametrize('walks', [True, False])
def test_biases_that_walk_are_seen(walks: bool) -> None:
    """A file that says they stand still: what they do would be taken for geometry."""
    machine, random = _machine('srs'), np.random.default_rng(3)
    measured = measure(machine, profile('drives', machine, duration=12.0, rate=100.0), seed=3)
    forces, rates = (np.cumsum(0.1 * walks * random.normal(size=(len(measured.stamps), 3)), axis=0) for _ in range(2))
    forces, rates = measured.specific_force + 1e-3 * forces, measured.angular_rate + 6e-5 * rates
    data = recorded(machine, replace(measured, specific_force=forces, angular_rate=rates))
    constants, config = Constants(machine), of_motion(machine, data, EstimatorConfig())[1]
    measurement, right = Motion(constants, data, config), np.zeros(len(constants))
    found = measurement.with_walks(right)
    if not walks:
        assert found is measurement
        return
    assert mean_square(constants, measurement, right)[0] > 2.0
    assert mean_square(constants, found, right)[0] == pytest.approx(1.0, abs=0.2)
    assert 0.5 < found.config.accelerometer_bias_walk / 1e-3 < 2.0


class _ThreeNumbers:
    """Constants of which the last one cannot be negative."""

    applied, positive = np.zeros(3, dtype=bool), np.array([False, False, True])
    precision = np.eye(3)

    def __len__(self) -> int:
        return 3


@pytest.mark.parametrize('last', [-2.0, 2.0])
def test_what_cannot_be_negative_is_zero_where_it_would_be(last: float) -> None:
    """And the others are as without it: noise of an IMU, sharpened, is no low-pass."""
    random = np.random.default_rng(0)
    slopes = random.normal(size=(50, 3))
    measured = slopes @ [1.0, -2.0, last] + 0.1 * random.normal(size=50)
    seen = ConstantScore(slopes.T @ measured, slopes.T @ slopes, np.array([measured @ measured, 50.0]))
    measurement = SimpleNamespace(score=lambda values: seen, leaves_out=lambda: False)
    solution = solve(_ThreeNumbers(), [measurement])
    count = 2 if last < 0.0 else 3
    information = seen.information[:count, :count]
    assert solution.has_converged and solution.values[count:] == pytest.approx(0.0, abs=1e-12)
    assert solution.values[:count] == pytest.approx(np.linalg.solve(information + np.eye(count), seen.score[:count]))
    noise = max(1.0, solution.squares / solution.count)  # what is taken for zero is not explained
    assert solution.covariance[:count, :count] == pytest.approx(np.linalg.inv(information / noise + np.eye(count)))
    assert solution.covariance[2, 2] > 0.0


def test_noise_larger_than_stated_is_in_the_deviations() -> None:
    random = np.random.default_rng(1)
    slopes = random.normal(size=(400, 3))
    measured = slopes @ [1.0, -2.0, 3.0] + 2.0 * random.normal(size=400)
    seen = ConstantScore(slopes.T @ measured, slopes.T @ slopes, np.array([measured @ measured, 400.0]))
    solution = solve(_ThreeNumbers(), [SimpleNamespace(score=lambda values: seen, leaves_out=lambda: False)])
    noise = solution.squares / solution.count
    assert 3.0 < noise < 5.0
    expected = np.linalg.inv(seen.information / noise + np.eye(3))
    np.testing.assert_allclose(solution.covariance, expected, rtol=1e-9)


def test_a_second_calibration_goes_on_where_the_first_one_ended() -> None:
    """Two halves of what was measured, one after the other, say the same as both at once."""
    machine, random = _machine('srs'), np.random.default_rng(2)
    constants = Constants(machine)
    count = len(constants)
    slopes = [3.0 * random.normal(size=(30, count)) for _ in range(2)]
    halves = [slope @ random.normal(size=count) + random.normal(size=30) for slope in slopes]

    def measurement(slope: np.ndarray, measured: np.ndarray) -> SimpleNamespace:
        def score(values: np.ndarray) -> ConstantScore:
            rest = measured - slope @ values
            return ConstantScore(slope.T @ rest, slope.T @ slope, np.array([rest @ rest, 1e9]))

        return SimpleNamespace(score=score, leaves_out=lambda: False)

    first = solve(constants, [measurement(slopes[0], halves[0])])
    both = solve(constants, [measurement(*half) for half in zip(slopes, halves, strict=True)])
    root = constants.std[:, None] * np.linalg.cholesky(first.covariance)
    tolerances = replace(machine.tolerances, calibrated=Calibrated(tuple(constants.names), root))
    second = solve(
        Constants(replace(machine, tolerances=tolerances)),
        [measurement(slopes[1], halves[1] - slopes[1] @ first.values)],
    )
    np.testing.assert_allclose(first.values + second.values, both.values, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(second.covariance, both.covariance, rtol=1e-6, atol=1e-9)


def test_designed_poses_leave_less_than_random_ones() -> None:
    """Of the same number."""
    drives, solution, (designed, randomly) = designed_poses(_machine('srs'), 10, 3, _NOISE, np.random.default_rng(0))
    assert drives.shape == (10, 6) and designed < 0.8 * randomly
    assert 0 < solution.determined < len(solution.values)


# -- the program -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope='module')
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with points of srs, and of what was measured."""
    folder = tmp_path_factory.mktemp('simulated')
    assert main(['--simulate', '12', *_OPTIONS, '-o', str(folder)]) == 0
    return folder


_OPTIONS = ['--machine', 'srs', '--tolerance', str(_TOLERANCE), '--noise', str(_NOISE), '--seed', '4']


@pytest.mark.parametrize('name', ['srs', 'tricept'])
def test_the_overlay_is_the_machine_that_was_found(name: str, tmp_path: Path) -> None:
    """It loads, says how exact it is now, and puts the platform nearer to where the hidden machine puts it."""
    options = ['--machine', name, *_OPTIONS[2:]]
    assert main(['--simulate', '24', *options, '-o', str(tmp_path)]) == 0
    assert main([str(tmp_path / 'points.csv'), *options, '-o', str(tmp_path / 'out')]) == 0
    found, true = (load_machine(name, tmp_path / file) for file in ('out/calibration.yaml', 'truth.yaml'))
    assert any('calibrate' in told for told in found.provenance.values())
    result = json.loads((tmp_path / 'out/result.json').read_text())
    assert len(result['values']) == len(result['std']) == len(result['constants'])
    # legs of both machines, at the poses of one: nearer than those of the file
    drives = drives_in_reach(true, 10, np.random.default_rng(0), 0.5)
    poses = forward_kinematics(true, drives, tolerance=1e-6)
    machine = _machine(name)
    errors = PoseErrors(machine, poses.position, poses.rotation_base_platform)
    constants = Constants(machine)
    values = np.array(result['values']) / constants.std
    hidden = np.random.default_rng(4).normal(size=len(constants))
    assert errors.size(values - hidden)[0] < 0.3 * errors.size(hidden)[0]
    # what it says is left is all that was found, together
    left, units = Constants(found).prior, np.array(result['std']) / constants.std
    np.testing.assert_allclose(left.diagonal(), units**2, rtol=1e-4)
    assert errors.deviation(left)[0] < 0.3 * errors.deviation(np.diag(units**2))[0]
    # an overlay is never replaced
    assert main([str(tmp_path / 'points.csv'), *options, '-o', str(tmp_path / 'out')]) == EXIT_CODES['error']


def _changed(folder: Path, tmp_path: Path, change) -> list[str]:
    """Arguments for the data of a folder with a changed table; ``change`` gets names and numbers."""
    with (folder / 'points.csv').open() as file:
        names, *rows = list(csv.reader(file))
    names, table = change(names, np.array(rows, dtype=float))
    path = tmp_path / 'changed.csv'
    np.savetxt(path, table, fmt='%.9g', delimiter=',', header=','.join(names), comments='')
    return [str(path), *_OPTIONS, '-o', str(tmp_path / 'out')]


def _with_points(factor):
    return lambda names, table: (names, np.concatenate([table[:, :6], table[:, 6:] * factor], axis=1))


def _slipped(names, table):
    table[8:, 6:9] += 3e-3
    return names, table


@pytest.mark.parametrize(
    ('change', 'told'),
    [
        (_with_points(1e3), 'millimetres'),
        (_with_points(np.tile([1.0, 1.0, -1.0], 3)), 'left-handed'),
        (lambda names, table: ([names[1], names[0], *names[2:]], table), 'another order'),
        (lambda names, table: (names, table[:3]), 'too few poses'),
        (lambda names, table: (names, np.tile(table[:1], (10, 1))), 'never moved'),
        (lambda names, table: (names[1:], table[:, 1:]), 'is missing'),
        (lambda names, table: (names[:6], table[:, :6]), 'nothing but drives'),
        (_slipped, 'slipped'),
    ],
    ids=['millimetres', 'left-handed', 'order', 'few', 'still', 'drive', 'drives alone', 'slipped'],
)
def test_bad_data_are_named_and_nothing_is_written(
    change, told: str, simulated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each in one sentence."""
    assert main(_changed(simulated, tmp_path, change)) == EXIT_CODES['error']
    assert told in capsys.readouterr().err.splitlines()[-1]
    assert not (tmp_path / 'out').exists()


def test_poses_of_a_camera_and_transposed_rotations(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Position and attitude of a tag; a file with the inverse rotations is found out."""
    machine, random = _machine('srs'), np.random.default_rng(0)
    built = built_machine(machine, random)
    drives = drives_in_reach(built, 40, random)
    found = forward_kinematics(built, drives)
    frame, tag = matrix_from_rpy(np.array([0.3, -2.0, 0.7])), matrix_from_rpy(np.array([1.0, 0.2, -0.4]))
    position = (found.position + found.rotation_base_platform @ [0.2, 0.1, 0.3]) @ frame.T + [1.0, 2.0, 3.0]
    rotation = frame @ found.rotation_base_platform @ tag
    position = position + 1e-5 * random.normal(size=position.shape)
    names = [*machine.actuated_joint_names, 'x', 'y', 'z', 'qx', 'qy', 'qz', 'qw']
    options = ['--machine', 'srs', '--tolerance', '3e-4', '--noise', '1e-5', '--noise-rotation', '1e-5', '-o']
    for number, (turned, count) in enumerate(((rotation, 40), (rotation.transpose(0, 2, 1), 12))):
        path = tmp_path / f'tags{number}.csv'
        table = np.hstack([drives, position, quaternion_from_matrix(turned)])[:count]
        np.savetxt(path, table, fmt='%.12g', delimiter=',', header=','.join(names), comments='')
        assert main([str(path), *options, str(tmp_path / f'out{number}')]) == number
    assert 'transposed' in capsys.readouterr().err


def test_a_machine_as_its_file_says_gets_no_overlay(tmp_path: Path) -> None:
    """Nothing to find: held-out poses are no better explained, or hardly, and no large constant is told."""
    machine, random = _machine('srs'), np.random.default_rng(0)
    drives = drives_in_reach(machine, 24, random)
    drives, points = measured_targets(machine, drives, targets_around(machine, 3), _NOISE, random)
    write_static_poses(tmp_path / 'points.csv', machine, drives, points)
    code = main([str(tmp_path / 'points.csv'), *_OPTIONS, '-o', str(tmp_path / 'out')])
    assert (tmp_path / 'out/calibration.yaml').exists() == (code == 0)
    result = json.loads((tmp_path / 'out/result.json').read_text())
    sigmas = np.abs(np.array(result['values'])) / np.array(result['std'])
    assert sigmas.max() < 4.0
