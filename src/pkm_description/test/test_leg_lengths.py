"""Leg lengths and their Jacobian against the paper's numbers and finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from hand_built_machines import simona_z_down
from pkm_description.kinematics import leg_lengths, length_jacobian
from pkm_description.kinematics.rotation import matrix_from_quaternion, rotation_exp
from pkm_description.mechanism import Mechanism

# Miletovic et al. 2017, check state of the specification, section 8 (z-down frame)
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


@pytest.fixture(scope='module')
def simona() -> Mechanism:
    return Mechanism(simona_z_down())


def check_rotation() -> np.ndarray:
    scalar = np.sqrt(1.0 - QUATERNION_VECTOR @ QUATERNION_VECTOR)
    return matrix_from_quaternion(np.append(QUATERNION_VECTOR, scalar))


def test_rotation_of_the_check_state() -> None:
    np.testing.assert_allclose(check_rotation(), ROTATION, atol=1e-9)


def test_lengths_of_the_check_state(simona: Mechanism) -> None:
    lengths = leg_lengths(simona, POSITION[None], check_rotation()[None])
    np.testing.assert_allclose(lengths[0], LENGTHS, atol=1e-9)


def test_neutral_height(simona: Mechanism) -> None:
    home = simona.machine.home
    assert home.position[2] == pytest.approx(-2.388772, abs=1e-6)
    np.testing.assert_allclose(leg_lengths(simona, home.position[None], np.eye(3)[None]), 2.705, atol=1e-12)


def test_jacobian_is_the_derivative(simona: Mechanism) -> None:
    random = np.random.default_rng(1)
    position = simona.machine.home.position + random.uniform(-0.3, 0.3, size=(20, 3))
    rotation = rotation_exp(random.uniform(-0.3, 0.3, size=(20, 3)))
    analytic = length_jacobian(simona, position, rotation)
    step = 1e-5
    for column in range(6):
        move = np.zeros(6)
        move[column] = step
        plus = leg_lengths(simona, position + move[:3], rotation_exp(move[3:]) @ rotation)
        minus = leg_lengths(simona, position - move[:3], rotation_exp(-move[3:]) @ rotation)
        np.testing.assert_allclose(
            (plus - minus) / (2 * step), analytic[..., column], atol=1e-7 * np.abs(analytic).max()
        )


def test_condition_at_neutral(simona: Mechanism) -> None:
    home = simona.machine.home
    jacobian = length_jacobian(simona, home.position[None], home.rotation_base_platform[None])[0]
    assert np.linalg.cond(jacobian) == pytest.approx(3.27, abs=0.005)
    assert np.linalg.det(jacobian) == pytest.approx(-12.8, abs=0.05)
