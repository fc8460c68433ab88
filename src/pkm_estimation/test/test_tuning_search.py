"""What the tuning makes of innovations: statistics, noise, whether settings are used; times of a recording.

The estimator is replaced by scalar filters whose likelihood is known: a random walk that is measured.
"""

from __future__ import annotations

from math import log
from types import SimpleNamespace

import numpy as np
import pytest
from pkm_description.loading import load_machine
from pkm_estimation.bags import Imu, JointStates, RecordedData
from pkm_estimation.calibration.sensors import _reason
from pkm_estimation.stream import EstimatorConfig
from pkm_estimation.tuning import noise
from pkm_estimation.tuning.noise import InnovationStatistics, noise_figures
from pkm_estimation.tuning.streams import SensorStreams, TuningError

SRS = load_machine('srs')
SECOND = 10**9


def result_of(innovation, std, interval=0.05, starts=(0,)):
    """Result of a run whose innovations (N, A) have these standard deviations."""
    stamps = SECOND + np.rint(1e9 * interval * np.arange(len(innovation))).astype(np.int64)
    started = np.isin(np.arange(len(stamps)), starts)
    return SimpleNamespace(
        motion=SimpleNamespace(stamps=stamps), started=started, innovation=innovation,
        innovation_std=np.broadcast_to(std, innovation.shape),
    )  # fmt: skip


# -- statistics --------------------------------------------------------------------------------------------------------


def test_statistics_are_those_of_what_is_normalised():
    """Neighbours that correlate by 0.6, three times as large as claimed, one leg missing now and then."""
    random, rows = np.random.default_rng(0), [coloured(0.6, 20000, seed) for seed in range(4)]
    std = np.array([1e-5, 2e-5, 1e-3, 0.1])
    innovation = 3.0 * std * np.array(rows).T
    innovation[random.random(innovation.shape) < 0.02] = np.nan
    found = InnovationStatistics.of(result_of(innovation, std))
    assert found.ratio == pytest.approx(9.0, rel=0.05)
    assert found.in_band == pytest.approx(0.495, abs=0.01)  # of a normal distribution within two thirds
    assert found.autocorrelation == pytest.approx(0.6 * 0.98, abs=0.02)  # pairs that are there
    assert found.objective == pytest.approx(np.mean(np.log(std**2)) + 9.0, rel=0.05)


def coloured(correlation, count, seed):
    """White noise (N,) of variance one whose neighbours correlate."""
    white, values = np.random.default_rng(seed).normal(size=count), np.empty(count)
    values[0] = white[0]
    for k in range(1, count):
        values[k] = correlation * values[k - 1] + (1.0 - correlation**2) ** 0.5 * white[k]
    return values


def test_the_seconds_after_a_start_do_not_count():
    """Five seconds of wrong innovations after each of two starts leave a mean square of exactly one."""
    innovation = np.ones((500, 6))
    for start in (0, 250):
        innovation[start : start + 100] = 50.0
    found = InnovationStatistics.of(result_of(innovation, 1.0, starts=(0, 250)))
    assert (found.ratio, found.in_band, found.objective) == (1.0, 1.0, 1.0)
    assert InnovationStatistics.of(result_of(innovation, 1.0)).ratio > 1.0  # no second start
    late = result_of(np.where(np.arange(500)[:, None] < 300, 9.0, 1.0), 1.0)
    later = InnovationStatistics.of(late, after=16 * SECOND)
    assert later.ratio == 1.0


@pytest.mark.parametrize(('count', 'enough'), [(199, False), (200, True)])
def test_a_hundred_innovations_are_needed(count, enough):
    """After the first hundred, which are those of five seconds."""
    result = result_of(np.ones((count, 6)), 1.0)
    if enough:
        assert InnovationStatistics.of(result).ratio == 1.0
    else:
        with pytest.raises(TuningError, match='99 innovations in 199 estimates'):
            InnovationStatistics.of(result)


@pytest.mark.parametrize(('seen', 'enough'), [(0.55, True), (0.45, False)])
def test_half_of_the_estimates_need_innovations(seen, enough):
    innovation = np.ones((1100, 6))
    innovation[np.arange(1100) % 100 >= 100 * seen] = np.nan
    if enough:
        assert InnovationStatistics.of(result_of(innovation, 1.0)).ratio == 1.0
    else:
        with pytest.raises(TuningError, match='restarts too often'):
            InnovationStatistics.of(result_of(innovation, 1.0))


# -- factors on noise --------------------------------------------------------------------------------------------------

#: variances that the scalar filter assumes where both factors are 1, and how many times larger they are in truth
STEP, READING, TRUE_Q, TRUE_R = 1e-4, 1e-2, 30.0, 4.0
COUNT = 601


def walks(colour=0.0):
    """Six random walks (N, 6) as measured, whose readings err independently or not."""
    random = np.random.default_rng(1)
    truth = np.cumsum((TRUE_Q * STEP) ** 0.5 * random.normal(size=(COUNT, 6)), axis=0)
    errors = np.array([coloured(colour, COUNT, seed) for seed in range(6)]).T
    return truth + (TRUE_R * READING) ** 0.5 * errors


def filtered(readings, q, r):
    """Innovations (N, 6) of the scalar filter and their standard deviations."""
    state, variance, innovation, std = readings[0].copy(), r * READING, np.zeros(readings.shape), np.ones(len(readings))
    for k in range(1, len(readings)):
        variance += q * STEP
        spread = variance + r * READING
        innovation[k], std[k] = readings[k] - state, spread**0.5
        state = state + variance / spread * innovation[k]
        variance *= 1.0 - variance / spread
    return innovation, std[:, None]


def objective(readings, q, r):
    innovation, std = (values[100:] for values in filtered(readings, q, r))
    return float(np.mean(np.log(std**2) + (innovation / std) ** 2))


@pytest.fixture
def scalar(monkeypatch):
    """A recording of the walks; the estimator is the scalar filter."""
    readings, tried = {'now': walks()}, []

    def run(machine, data, config):
        tried.append(config)
        return InnovationStatistics.of(result_of(*filtered(readings['now'], config.q_scale, config.r_scale)))

    monkeypatch.setattr(noise, 'innovations_of', run)
    stamps = SECOND + 50_000_000 * np.arange(COUNT)
    none = np.zeros((COUNT, 6))
    legs = JointStates(stamps, stamps, SRS.actuated_joint_names, none, none, none)
    return SimpleNamespace(readings=readings, tried=tried, data=RecordedData('bag', {}, joint_states=legs))


@pytest.mark.parametrize('start', [1.0, 1000.0, 1e-3])
def test_both_factors_are_the_likeliest_ones(scalar, start):
    """No other pair of factors nearby is likelier; and they are those that were put in, wherever the search begins."""
    found = noise_figures(SRS, scalar.data, EstimatorConfig(q_scale=start))
    q, r, readings = found.config.q_scale, found.config.r_scale, scalar.readings['now']
    assert not found.r_kept and q == pytest.approx(TRUE_Q, rel=0.3) and r == pytest.approx(TRUE_R, rel=0.1)
    best = objective(readings, q, r)
    for factor in (0.7, 0.85, 1.15, 1.4):
        for other in (factor * q, r), (q, factor * r), (factor * q, factor * r), (factor * q, r / factor):
            assert objective(readings, *other) > best - 2e-4, (factor, other)
    assert found.after.objective == pytest.approx(best) and found.after.ratio == pytest.approx(1.0, abs=0.01)
    assert found.before.objective == pytest.approx(objective(readings, start, 1.0))
    assert len(found.found) == 1 and 'variances of the IMU' in found.found[0]  # walks of biases make no difference
    assert found.runs == len(scalar.tried)


def test_a_factor_that_is_kept_stays_and_the_other_is_the_likeliest_with_it(scalar):
    found = noise_figures(SRS, scalar.data, EstimatorConfig(r_scale=2.0), keep_r=True)
    assert found.r_kept and found.config.r_scale == 2.0
    best = objective(scalar.readings['now'], found.config.q_scale, 2.0)
    for factor in (0.5, 0.7, 0.85, 1.15, 1.4, 2.0):
        assert objective(scalar.readings['now'], factor * found.config.q_scale, 2.0) > best - 2e-4


def test_where_readings_are_coloured_their_factor_is_kept(scalar):
    """What a walk does not explain would else be called noise of the legs, or taken from it."""
    scalar.readings['now'] = walks(colour=0.98)
    scalar.readings['now'][:] += np.cumsum(np.cumsum(0.002 * np.sin(0.05 * np.arange(COUNT)))[:, None], axis=0)
    found = noise_figures(SRS, scalar.data, EstimatorConfig())
    assert found.after.autocorrelation > 0.3
    assert found.r_kept and found.config.r_scale == 1.0


@pytest.mark.parametrize(('worth', 'chosen'), [(0.9, False), (1.1, True)])
def test_a_number_must_pay_the_logarithm_of_all_innovations(monkeypatch, scalar, worth, chosen):
    """Schwarz's criterion: twice the log-likelihood of all legs' innovations against the log of how many they are."""
    price = log(1000) / 1000

    def run(machine, data, config):
        return statistics(1.0, -worth * price if config.gyroscope_bias_walk == 2e-5 else 0.0)

    monkeypatch.setattr(noise, 'innovations_of', run)
    found = noise_figures(SRS, scalar.data, EstimatorConfig())
    assert found.found == (('the bias of the gyroscope walks by 2e-05 per root of a second',) if chosen else ())
    assert found.config.gyroscope_bias_walk == (2e-5 if chosen else -1.0)


# -- times of a recording ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(('legs', 'imu'), [(0, 3), (3, 0), (0, 0)])
def test_time_zero_is_the_first_sample_of_either_sensor(legs, imu):
    """Stamps of tenths of seconds, of which one topic begins later; and the IMU ends first."""
    stamps = 1_700_000_000 * SECOND + np.arange(30) * SECOND // 10
    leg_stamps, imu_stamps = stamps[legs:], stamps[imu:20]
    none = np.full((len(leg_stamps), 6), np.nan)
    data = RecordedData(
        'bag', {},
        joint_states=JointStates(
            leg_stamps, leg_stamps, SRS.actuated_joint_names, np.zeros((len(leg_stamps), 6)), none, none
        ),
        imu_data_raw=Imu(
            imu_stamps, imu_stamps, SRS.imu.frame, np.ones((len(imu_stamps), 3)), np.ones((len(imu_stamps), 3)),
            np.full((len(imu_stamps), 4), np.nan),
        ),
    )  # fmt: skip
    found = SensorStreams.from_recording(SRS, data)
    assert found.leg_time == pytest.approx(0.1 * np.arange(legs, 30)) and found.dropped == 0
    assert found.imu_time == pytest.approx(0.1 * np.arange(imu, 20))


def statistics(ratio, objective):
    return InnovationStatistics(0.95, ratio, 0.0, objective, 1000)


@pytest.mark.parametrize(
    ('before', 'after', 'out', 'reason'),
    [
        (statistics(1.01, 2.0), statistics(1.02, 1.0), 0.0, ''),  # both are as large as they claim
        (statistics(5.0, 2.0), statistics(3.0, 1.0), 0.0, ''),  # not as they claim, but nearer to it
        (statistics(2.0, 2.0), statistics(3.0, 1.0), 0.0, '3 times as large'),
        (statistics(0.5, 2.0), statistics(0.2, 1.0), 0.0, '0.2 times as large'),
        (statistics(1.0, 1.0), statistics(1.0, 1.0), 0.0, 'is less likely'),
        (statistics(1.0, 2.0), statistics(1.0, 1.0), 0.009, ''),
        (statistics(1.0, 2.0), statistics(1.0, 1.0), 0.011, 'the gate would leave out'),
    ],
)
def test_why_settings_are_not_to_be_used(before, after, out, reason):
    found = _reason(('a delay',), before, after, 0.05, 0.05 + out)
    assert (reason in found) if reason else not found
    assert _reason((), before, after, 0.0, 0.0).startswith('no constant of the sensors')
