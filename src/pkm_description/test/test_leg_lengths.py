"""Leg lengths and their Jacobian against the paper's numbers and finite differences."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hand_built_machines import simona_z_down
from pkm_description.kinematics import leg_lengths, length_jacobian
from pkm_description.kinematics.rotation import matrix_from_quaternion, matrix_from_rpy, rotation_exp
from pkm_description.machine import Machine
from scipy.optimize import brentq

# Miletovic et al. 2017, Eq. 1 at a check state (S3-02), z-down frame
POSITION = np.array([0.1, -0.2, -2.4])
QUATERNION_VECTOR = np.array([0.03, -0.04, 0.05])
ROTATION = np.array(
    [
        [0.9918, -0.102149687, -0.076799749],
        [0.097349687, 0.9932, -0.063849812],
        [0.082799749, 0.055849812, 0.995],
    ]
)
LENGTHS = np.array([2.605980145, 2.630850836, 2.742285239, 2.607813087, 3.028066551, 2.736326055])


#: lever arm of the inertial sensor, and the lengths where the check state is the sensor's
SENSOR = np.array([-0.305, 0.0, -0.0105])
LENGTHS_OF_SENSOR_STATE = np.array(
    [2.676249918, 2.673360468, 2.575541406, 2.681956869, 3.097775986, 2.604091396]
)
#: paper frame (z down) to base frame (z up)
Z_DOWN_TO_Z_UP = np.diag([1.0, -1.0, -1.0])


@dataclasses.dataclass(frozen=True)
class Simona:
    """SIMONA with the map from the paper's frame to the frame that its geometry is given in."""

    machine: Machine
    from_paper: np.ndarray

    def lengths(self, position: np.ndarray, rotation: np.ndarray) -> np.ndarray:
        """Leg lengths (N, 6) of poses given in the paper's frame."""
        turn = self.from_paper
        return leg_lengths(self.machine, position @ turn.T, turn @ rotation @ turn.T)


@pytest.fixture(scope='module', params=['paper_frame', 'machine_file'])
def simona(request: pytest.FixtureRequest) -> Simona:
    if request.param == 'paper_frame':
        return Simona(simona_z_down(), np.eye(3))
    from pkm_description.loading import load_machine

    return Simona(load_machine('srs'), Z_DOWN_TO_Z_UP)


def check_rotation() -> np.ndarray:
    scalar = np.sqrt(1.0 - QUATERNION_VECTOR @ QUATERNION_VECTOR)
    return matrix_from_quaternion(np.append(QUATERNION_VECTOR, scalar))


def test_rotation_of_the_check_state() -> None:
    np.testing.assert_allclose(check_rotation(), ROTATION, atol=1e-9)


def test_lengths_of_the_check_state(simona: Simona) -> None:
    rotation = check_rotation()
    np.testing.assert_allclose(simona.lengths(POSITION[None], rotation[None])[0], LENGTHS, atol=1e-9)
    platform = POSITION - rotation @ SENSOR
    lengths = simona.lengths(platform[None], rotation[None])[0]
    np.testing.assert_allclose(lengths, LENGTHS_OF_SENSOR_STATE, atol=1e-9)


def test_neutral_height(simona: Simona) -> None:
    home = simona.machine.home
    assert abs(home.position[2]) == pytest.approx(2.388772, abs=1e-6)
    lengths = leg_lengths(simona.machine, home.position[None], home.rotation_base_platform[None])
    np.testing.assert_allclose(lengths, 2.705, atol=1e-12)


@pytest.mark.parametrize(
    ('position', 'rpy', 'expected'),
    [
        ([-0.07, -0.49, -2.39], [-4.76, -4.75, 0.19], [2.390, 2.833, 2.955, 2.714, 2.880, 2.711]),
        ([0.49, -0.07, -2.39], [2.71, 2.70, 0.06], [2.883, 2.929, 2.423, 2.767, 2.921, 2.545]),
        ([0.00, -0.02, -2.41], [3.86, -1.59, -0.23], [2.679, 2.690, 2.656, 2.660, 2.830, 2.828]),
        ([0.00, 0.01, -2.38], [-3.57, -0.64, -0.82], [2.670, 2.693, 2.773, 2.792, 2.618, 2.637]),
    ],
)
def test_lengths_at_printed_poses(
    simona: Simona, position: list[float], rpy: list[float], expected: list[float]
) -> None:
    """Poses of tables 2 and 3 (rounded to 1 cm and 0.01 deg) in roll, pitch, yaw of the z-y-x convention."""
    lengths = simona.lengths(np.array([position]), matrix_from_rpy(np.radians(rpy))[None])[0]
    np.testing.assert_allclose(lengths, expected, atol=0.01)


@pytest.mark.parametrize(
    ('axis', 'lower', 'upper'),
    [
        (0, -0.981, 1.259),
        (1, -1.031, 1.031),
        (2, -0.636, 0.678),
        (3, -25.9, 25.9),
        (4, -23.7, 24.3),
        (5, -41.6, 41.6),
    ],
)
def test_published_motion_limits(simona: Simona, axis: int, lower: float, upper: float) -> None:
    """Single-axis excursions with 50 mm of buffer at both ends of the stroke (2.13 m to 3.28 m)."""

    def room(excursion: float) -> float:
        move = np.zeros(6)
        move[axis] = np.radians(excursion) if axis >= 3 else excursion
        lengths = simona.lengths(np.array([[0.0, 0.0, -2.388772]]) + move[:3], rotation_exp(move[3:])[None])
        return float(np.minimum(lengths - 2.13, 3.28 - lengths).min())

    tolerance = 0.05 if axis >= 3 else 0.002
    for limit in (lower, upper):
        assert brentq(room, 0.0, 1.2 * limit) == pytest.approx(limit, abs=tolerance)


def test_jacobian_is_the_derivative(simona: Simona) -> None:
    random = np.random.default_rng(1)
    machine = simona.machine
    position = machine.home.position + random.uniform(-0.3, 0.3, size=(20, 3))
    rotation = rotation_exp(random.uniform(-0.3, 0.3, size=(20, 3)))
    analytic = length_jacobian(machine, position, rotation)
    step = 1e-5
    for column in range(6):
        move = np.zeros(6)
        move[column] = step
        plus = leg_lengths(machine, position + move[:3], rotation_exp(move[3:]) @ rotation)
        minus = leg_lengths(machine, position - move[:3], rotation_exp(-move[3:]) @ rotation)
        np.testing.assert_allclose(
            (plus - minus) / (2 * step), analytic[..., column], atol=1e-7 * np.abs(analytic).max()
        )


def test_condition_at_neutral(simona: Simona) -> None:
    home = simona.machine.home
    jacobian = length_jacobian(simona.machine, home.position[None], home.rotation_base_platform[None])[0]
    assert np.linalg.cond(jacobian) == pytest.approx(3.27, abs=0.005)
    assert abs(np.linalg.det(jacobian)) == pytest.approx(12.8, abs=0.05)
