"""Formulas of smoothing against linear problems that are solved at once, and against finite differences."""

import numpy as np
import pytest
from pkm_description.loading import load_machine
from pkm_estimation.filtering.backward_pass import Gaussian, Passage, corrected
from pkm_estimation.filtering.platform_filter import PlatformFilter
from pkm_estimation.filtering.step_record import Estimated, Started, StepRecord
from pkm_estimation.filters import CovarianceError
from pkm_estimation.models import EstimatorGeometry
from pkm_estimation.offline.smoothing import Smoother
from scipy.linalg import block_diag

from pkm_estimation import EstimatorConfig

SRS = load_machine('srs')
STEPS, SIZE = 25, 3


class Linear:
    """``x' = F x + a n_k + b n_k+1 + w``, ``y = H x + v``: the error n of a sample acts in two neighbouring steps."""

    def __init__(self, seed):
        random = np.random.default_rng(seed)
        self.slopes = [np.eye(SIZE) + 0.2 * random.normal(size=(SIZE, SIZE)) for _ in range(STEPS)]
        self.effects = random.normal(size=(STEPS, 2, SIZE))
        self.seen = random.normal(size=(STEPS + 1, 2, SIZE))
        self.values = 3.0 * random.normal(size=(STEPS + 1, 2))
        # some instants have no measurement
        self.missing = random.random(STEPS + 1) < 0.3
        self.prior, self.sample, self.noise, self.measured = 4.0, 2.0, 0.01, 0.25

    def solved_at_once(self):
        """Means and covariances of all states given all measurements, by least squares in all causes."""
        causes = SIZE + STEPS + 1 + SIZE * STEPS
        maps = [np.eye(SIZE, causes)]
        for k in range(STEPS):
            following = self.slopes[k] @ maps[-1]
            following[:, SIZE + k] += self.effects[k, 0]
            following[:, SIZE + k + 1] += self.effects[k, 1]
            first = SIZE + STEPS + 1 + SIZE * k
            following[:, first : first + SIZE] += np.eye(SIZE)
            maps.append(following)
        deviations = np.sqrt(
            np.r_[np.full(SIZE, self.prior), np.full(STEPS + 1, self.sample), np.full(SIZE * STEPS, self.noise)]
        )
        used = np.flatnonzero(~self.missing)
        rows = np.vstack([np.eye(causes) / deviations, *(self.seen[k] @ maps[k] / self.measured**0.5 for k in used)])
        values = np.concatenate([np.zeros(causes), *(self.values[k] / self.measured**0.5 for k in used)])
        # QR, not the normal equations: their numbers would be squared
        q, r = np.linalg.qr(rows)
        mean, root = np.linalg.solve(r, q.T @ values), np.linalg.inv(r)
        return [(m @ mean, m @ root @ (m @ root).T) for m in maps]

    def record(self):
        """What the filter does that considers the errors of samples, and does not estimate them."""
        state, covariance, carried = np.zeros(SIZE), self.prior * np.eye(SIZE), np.zeros((SIZE, 1))
        entries = [Started()]

        def now():
            both = np.block([[covariance, carried], [carried.T, np.array([[self.sample]])]])
            return Gaussian(np.r_[state, 0.0], both)

        for k in range(STEPS + 1):
            if not self.missing[k]:
                gain = covariance @ self.seen[k].T
                spread = self.seen[k] @ gain + self.measured * np.eye(2)
                gain = gain @ np.linalg.inv(spread)
                state = state + gain @ (self.values[k] - self.seen[k] @ state)
                kept = np.eye(SIZE) - gain @ self.seen[k]
                covariance, carried = kept @ covariance, kept @ carried
            begin = now()
            entries.append(Estimated(begin, (), np.zeros(0), np.zeros((SIZE, 0))))
            if k == STEPS:
                break
            slope = np.zeros((SIZE + 1, SIZE + 1))
            slope[:SIZE, :SIZE], slope[:SIZE, SIZE] = self.slopes[k], self.effects[k, 0]
            fresh = np.r_[self.effects[k, 1], 1.0]
            both = slope @ begin.covariance @ slope.T + self.sample * np.outer(fresh, fresh)
            both[:SIZE, :SIZE] += self.noise * np.eye(SIZE)
            state, covariance, carried = self.slopes[k] @ state, both[:SIZE, :SIZE], both[:SIZE, SIZE:]
            entries.append(Passage(begin, now(), slope))
        return entries


@pytest.mark.parametrize('seed', range(5))
def test_a_linear_problem_has_the_solution_of_all_measurements_at_once(seed):
    problem = Linear(seed)
    estimates = Smoother(SIZE).smooth(problem.record(), lambda number: True)
    for (_, smooth), (mean, covariance) in zip(estimates, problem.solved_at_once(), strict=True):
        np.testing.assert_allclose(smooth.mean[:SIZE], mean, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(smooth.covariance[:SIZE, :SIZE], covariance, rtol=1e-9, atol=1e-9)


def test_what_came_of_no_usable_estimate_is_not_smoothed():
    """The last ten estimates are of a filter that was lost: they say nothing about those before."""
    problem = Linear(0)
    problem.missing[-10:] = True
    expected = problem.solved_at_once()
    problem = Linear(0)
    estimates = Smoother(SIZE).smooth(problem.record(), lambda number: number <= STEPS - 10)
    assert [smooth is None for _, smooth in estimates] == [k > STEPS - 10 for k in range(STEPS + 1)]
    for (_, smooth), (mean, _) in list(zip(estimates, expected, strict=True))[: STEPS - 9]:
        np.testing.assert_allclose(smooth.mean[:SIZE], mean, rtol=1e-9, atol=1e-9)


def test_a_correction_is_taken_over_by_what_it_did_to_the_state():
    """The filter's corrections by two measurements, one after the other, correct state and another cause at once."""
    random = np.random.default_rng(1)
    root, other = random.normal(size=(4, 4)), random.normal(size=(2, 4))
    before = Gaussian(random.normal(size=4), root @ root.T)
    seen, value = random.normal(size=(2, 4)), random.normal(size=2)
    after = before
    for row, number in zip(seen, value, strict=True):
        after = kalman(after, row[None], number[None])
    both = np.block([[before.covariance, root @ other.T], [other @ root.T, other @ other.T + np.eye(2)]])
    own = Gaussian(np.r_[before.mean + 0.3, 0.1, -0.2], both)
    ours = corrected(own, before, after, 4)
    expected = kalman(own, np.hstack([seen, np.zeros((2, 2))]), value)
    np.testing.assert_allclose(ours.mean, expected.mean, atol=1e-10)
    np.testing.assert_allclose(ours.covariance, expected.covariance, atol=1e-10)


def kalman(estimate, seen, value):
    gain = estimate.covariance @ seen.T @ np.linalg.inv(seen @ estimate.covariance @ seen.T + np.eye(len(seen)))
    mean = estimate.mean + gain @ (value - seen @ estimate.mean)
    return Gaussian(mean, estimate.covariance - gain @ seen @ estimate.covariance)


def test_a_covariance_that_was_raised_is_raised_as_much():
    random = np.random.default_rng(2)
    root = random.normal(size=(4, 4))
    before, shift = Gaussian(np.zeros(4), root @ root.T), random.normal(size=4)
    more = random.normal(size=(4, 4))
    after = Gaussian(shift, before.covariance + more @ more.T)
    own = Gaussian(np.ones(4), 0.5 * before.covariance)
    ours = corrected(own, before, after, 4)
    np.testing.assert_allclose(ours.mean, 1.0 + shift, atol=1e-12)
    np.testing.assert_allclose(ours.covariance, own.covariance + more @ more.T, atol=1e-10)


# -- record of the platform's filter ---------------------------------------------------------------------------------


def make_filter(kind):
    imu = block_diag(1e-4 * np.eye(3), 1e-6 * np.eye(3))
    config = EstimatorConfig(filter=kind, imu_stamp_jitter=0.0)  # so that the covariance can be set by hand
    filter_ = PlatformFilter(EstimatorGeometry.from_machine(SRS), imu, 1e-10 * np.eye(6), config, SRS)
    filter_.start_at(SRS.home)
    return filter_


STAMPS = np.arange(6) * 10_000_000
SAMPLES = np.array([9.81 * np.array([0, 0, 1, 0, 0, 0]) + np.sin(k + np.arange(6.0)) for k in range(6)])
STATE = np.concatenate([np.zeros(3), [0.3, -0.2, 0.1], [-0.06, -0.05, 0.06], np.zeros(6)])


def go(filter_, state, samples):
    """Through two intervals and half of the third, from the state at the third sample; the last moves the chart."""
    filter_.ukf.state[:] = state
    filter_.ukf.state[:3] += filter_.chart.T @ (SRS.home.position + SRS.home.rotation_base_platform @ SRS.imu.position)
    filter_.ukf.covariance[:] = 1e-8 * np.eye(15)
    for last, part in ((2, 1.0), (3, 1.0), (4, 0.5)):
        around = slice(last + 1, last - 3, -1) if last > 2 else slice(last + 1, None, -1)
        filter_.predict_between(STAMPS[around].tolist(), samples[around], 0.0, 0.01 * part)
    return filter_


@pytest.mark.parametrize('kind', ['manifold', 'ekf', 'iekf'])
def test_slopes_of_a_passage_against_finite_differences(kind):
    filter_ = make_filter(kind)
    chart = filter_.chart
    filter_.record = record = StepRecord()
    # errors of the samples before are carried along, as in a filter that runs
    filter_.predict_between(STAMPS[1::-1].tolist(), SAMPLES[1::-1], 0.0, 0.01)
    filter_.predict_between(STAMPS[2::-1].tolist(), SAMPLES[2::-1], 0.0, 0.01)
    record.take()
    go(filter_, STATE, SAMPLES)
    (passage,) = record.take()
    count = len(passage.begin.mean) - 15
    assert count in (12, 18)
    end, final = passage.end.mean[:15], filter_.chart
    if kind == 'manifold':
        assert not np.array_equal(final, chart)

    def moved(state, samples):
        other = go(make_filter(kind), state, samples)
        result = other.ukf.state.copy()
        if kind == 'manifold':  # seen from the chart of the record
            result[:3] = final.T @ other.chart @ result[:3]
            turn = final.T @ other.rotation
            result[6:9] = 0.5 * np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
            result[6:9] /= np.sqrt(1.0 + np.trace(turn))
        return result

    np.testing.assert_allclose(moved(STATE, SAMPLES), end, atol=1e-8)
    step = 1e-5
    for k in range(15):
        change = step * np.eye(15)[k]
        slope = (moved(STATE + change, SAMPLES) - moved(STATE - change, SAMPLES)) / (2.0 * step)
        np.testing.assert_allclose(passage.slope[:15, k], slope, atol=2e-5, err_msg=f'state {k}')
    # of the samples at the beginning and before. The filter counts the fourth sample's part (1 / 24) with the third's,
    # and leaves out what a turn does with gravity within the same step: h^2 g / 2
    for sample, column in ((2, 15), (1, 21)):
        for k in range(6):
            change = np.zeros_like(SAMPLES)
            change[sample, k] = 1e-3
            slope = (moved(STATE, SAMPLES + change) - moved(STATE, SAMPLES - change)) / 2e-3
            np.testing.assert_allclose(passage.slope[:9, column + k], slope[:9], atol=6e-4, err_msg=f'{sample}, {k}')
        assert np.abs(passage.slope[:9, column : column + 6]).max() > 1.5e-3


def test_a_step_that_fails_is_no_passage():
    filter_ = make_filter('manifold')
    filter_.record = record = StepRecord()
    filter_.covariance[3, 3] = -1.0
    with pytest.raises(CovarianceError):
        filter_.predict_between(STAMPS[1::-1].tolist(), SAMPLES[1::-1], 0.0, 0.01)
    assert record.take() == []
    filter_.covariance[:] = 1e-8 * np.eye(15)
    filter_.predict_between(STAMPS[2::-1].tolist(), SAMPLES[2::-1], 0.0, 0.01)
    assert len(record.take()) == 1
