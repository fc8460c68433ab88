"""Noise of the IMU's samples in the filter, against sums over the samples; and covariances that are carried along."""

from __future__ import annotations

import numpy as np
import pytest
from pkm_estimation.filters import INTEGRATORS
from pkm_estimation.kernels.carried import carry
from pkm_estimation.models import InertialProcess
from pkm_estimation.models.inertial_process import InertialStep, rotation_of

INTERVAL, JITTER = 0.01, 2e-4
RANDOM = np.random.default_rng(8)
STATE = np.concatenate([[0.1, 0.2, 0.3, 0.5, -0.8, 0.4, 0.2, -0.3, 0.15], 0.01 * RANDOM.normal(size=6)])
ROOT = RANDOM.normal(size=(6, 6)) * np.array([1.0, 1.0, 1.0, 0.2, 0.2, 0.2])[:, None]
NOISE = ROOT @ ROOT.T
SAMPLES = RANDOM.normal(size=(7, 6))


def process_of(is_loud: bool, jitter: float) -> InertialProcess:
    process = InertialProcess(np.array([0.0, 0.0, -9.8]), INTEGRATORS['rk3'])
    process.set_noise(NOISE)
    process.set_loudness(1.0, 1e-6 if is_loud else 1e6)
    process.set_stamp_jitter(jitter, 0.0)
    return process


def effects(process: InertialProcess) -> tuple[np.ndarray, np.ndarray]:
    """Rates of the position's second derivative, and of velocity and attitude, by errors of the input."""
    force = np.zeros((9, 6))
    force[:3, :3] = rotation_of(STATE[6:9])
    rates = np.zeros((9, 6))
    rates[3:] = process.input_matrix(STATE)
    return force, rates


@pytest.mark.parametrize('jitter', [0.0, JITTER])
def test_noise_of_a_sample_counts_once_in_all_steps_that_it_moves(jitter: float) -> None:
    """Five steps at one state: the covariance is the sum over the samples of what each moved in all of them."""
    process = process_of(True, jitter)
    step, covariance, carried = InertialStep(process), np.zeros((15, 15)), np.zeros((15, 18))
    force, rates = effects(process)
    moved, spread = np.zeros((7, 9, 6)), np.tile(NOISE, (7, 1, 1))
    for k in range(5):
        process.take_next(SAMPLES[k], SAMPLES[k + 1], INTERVAL)
        step.over(0.0, INTERVAL).propagate(STATE[None].copy())
        step.add_noise(STATE, covariance, carried)
        slope = jitter / INTERVAL * (SAMPLES[k + 1] - SAMPLES[k])
        # a late stamp moves the sample along the slope of its interval; the samples before the first one, too
        for sample in (k + 1,) if k else (0, 1):
            spread[sample] += np.outer(slope, slope)
        for age, (pulse, moment) in enumerate(zip(process.data.pulses, process.data.moments, strict=True)):
            if k + 1 - age >= 0:
                moved[k + 1 - age] += INTERVAL**2 * moment * force + INTERVAL * pulse * rates
    expected = np.einsum('sij,sjk,slk->il', moved, spread, moved)
    size = np.sqrt(np.diag(expected))
    assert (size > 0.0).all()
    np.testing.assert_allclose(covariance[:9, :9] / size / size[:, None], expected / size / size[:, None], atol=1e-9)
    assert not covariance[9:].any() and not covariance[:, 9:].any()


def test_noise_that_is_small_is_added_step_by_step() -> None:
    """Of the samples, of their stamps, and of a polynomial over a gap; none in what no input moves."""
    process, variance = process_of(False, JITTER), np.linspace(1.0, 2.0, 6)
    process.take_next(SAMPLES[0], SAMPLES[1], INTERVAL)
    process.data.has_gap[0], process.data.gap_variance[:] = 1, variance
    covariance, carried = np.zeros((15, 15)), np.zeros((15, 18))
    InertialStep(process).over(0.0, 0.5 * INTERVAL).add_noise(STATE, covariance, carried)
    slope = JITTER / INTERVAL * (SAMPLES[1] - SAMPLES[0])
    rates = effects(process)[1][3:]
    expected = np.zeros((15, 15))
    expected[3:9, 3:9] = rates @ (NOISE + np.outer(slope, slope) + np.diag(variance)) @ rates.T
    np.testing.assert_allclose(covariance, 0.5 * INTERVAL**2 * expected, atol=1e-12)
    assert not carried.any()


@pytest.mark.parametrize('first', [0, 6])
def test_what_is_carried_goes_through_a_step_with_the_states(first: int) -> None:
    """``F C`` by sigma points of a linear step, of the columns from the first one on."""
    size, moving, half = 8, 6, 0.35
    root = np.tril(RANDOM.normal(size=(size, size))) + 3.0 * np.eye(size)
    motion = np.vstack([RANDOM.normal(size=(moving, size)), np.eye(size)[moving:]])
    away = (motion @ root).T / (2.0 * half)
    points = np.vstack([np.zeros(size), away, -away])
    carried = RANDOM.normal(size=(size, 12))
    carried[:, :first] = 0.0
    expected = motion @ carried
    carry(root, points, half, moving, first, carried, np.zeros((size, 12)), np.zeros((size, size)))
    assert carried == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(('name', 'moment'), [('euler', 0.0), ('heun', 0.5), ('rk3', 0.5), ('rk4', 0.5)])
def test_a_constant_input_moves_the_position_by_half_of_its_square_of_time(name: str, moment: float) -> None:
    """By all samples together, where an integrator sees the slope of the velocity at all."""
    process = InertialProcess(np.array([0.0, 0.0, -9.8]), INTEGRATORS[name])
    for k in range(3):
        process.take_next(SAMPLES[k], SAMPLES[k + 1], INTERVAL)
        InertialStep(process).over(0.0, INTERVAL).propagate(STATE[None].copy())
        assert process.data.pulses.sum() == pytest.approx(1.0)
        assert process.data.moments.sum() == pytest.approx(moment)
