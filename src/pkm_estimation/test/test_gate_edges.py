"""Each rule of the gate, of a leg's fault and of a leg's own past, alone and at its edge."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from pkm_description.loading import load_machine
from pkm_estimation.filters import Innovation
from pkm_estimation.kernels.leg_lengths import CORRELATION, LAST_SIZE, NOISE_SCALE, SCALE, accept
from pkm_estimation.legs.fault import LegContinuity, LegFault, LegResidual, LegSensor
from pkm_estimation.legs.gate import LegGate
from scipy.stats import beta, chi2, norm

SRS = load_machine('srs')
NOISE = float(SRS.leg_sensors.position_noise[0])
LOWER, UPPER = SRS.actuated_joints[0].limits.lower, SRS.actuated_joints[0].limits.upper
HOME = np.full(6, 0.5 * (LOWER + UPPER))
ALL = np.arange(6)
STD = 1.5 * NOISE
GATE = 5.0
OUTER = 2.0 * norm.sf(GATE)


class Judged:
    """What a new gate makes of residuals, in standard deviations."""

    def __init__(self, residual, gate=None, std=STD, covariance=None, positions=HOME, available=ALL):
        self.said = []
        self.gate = gate or LegGate(SRS, GATE)
        covariance = std**2 * np.eye(6) if covariance is None else covariance
        self.judgement = self.gate.judge(
            positions, available, std * np.asarray(residual, dtype=float), covariance, lambda *w: self.said.append(w)
        )
        self.used = self.judgement.used.tolist()
        self.reasons = [reason for reason, _ in self.said]


def one(size, leg=2):
    return size * np.eye(6)[leg]


@pytest.mark.parametrize('count', [1, 3, 6])
def test_limits_are_those_of_chi_square(count):
    gate = LegGate(SRS, GATE)
    assert gate.limit(count) == gate.limit_of(count) == pytest.approx(chi2.isf(OUTER, count))
    assert gate.fitting_nis == pytest.approx(chi2.isf(OUTER, 6))
    assert LegGate(SRS, 0.0).limit(count) == LegGate(SRS, 0.0).limit_of(count) == np.inf
    gate.fit[SCALE] = 0.5
    assert gate.limit(count) == pytest.approx(chi2.isf(OUTER, count))
    gate.fit[SCALE] = 3.0
    assert gate.limit(count) == pytest.approx(3.0 * chi2.isf(OUTER, count))


@pytest.mark.parametrize(('part', 'out'), [(0.999, []), (1.001, [2])])
def test_a_leg_is_left_out_beyond_the_limit_of_all(part, out):
    judged = Judged(one(part * chi2.isf(OUTER, 6) ** 0.5))
    assert judged.used == [leg for leg in range(6) if leg not in out]
    assert list(judged.gate.faults) == out
    assert judged.judgement.noise_scale == 1.0


@pytest.mark.parametrize(('part', 'out'), [(0.999, [2]), (1.001, [2, 4])])
def test_the_others_must_be_clean(part, out):
    """Of five legs with one chance in a thousand; else a further leg is left out."""
    residual = one(50.0) + one(part * chi2.isf(1e-3, 5) ** 0.5, 4)
    assert sorted(Judged(residual).gate.faults) == out


@pytest.mark.parametrize(('wrong', 'out'), [(3, 3), (4, 0)])
def test_half_of_the_legs_may_be_left_out_and_no_more(wrong, out):
    residual = np.array([40.0, 70.0, -50.0, 90.0, 0.0, 0.0]) * (np.arange(6) < wrong)
    gate = LegGate(SRS, GATE)
    gate.fit[CORRELATION] = 0.9  # not a burst of noise
    judged = Judged(residual, gate)
    assert len(judged.gate.faults) == out and len(judged.used) == 6 - out
    assert ('legs_disagree' in judged.reasons) == (not out)


@pytest.mark.parametrize(('part', 'out'), [(0.99, 2), (1.01, 0)])
def test_a_vague_prediction_lets_no_more_than_one_leg_be_left_out(part, out):
    gate = LegGate(SRS, GATE)
    gate.fit[CORRELATION] = 0.9
    std = part * 4.0 / float(np.median(1.0 / SRS.leg_sensors.position_noise))
    assert len(Judged(one(40.0) + one(-60.0, 5), gate, std=std).gate.faults) == out
    assert len(Judged(one(40.0), std=std).gate.faults) == 1


@pytest.mark.parametrize(
    ('correlation', 'size', 'noisy'), [(0.49, 60.0, 1), (0.5, 60.0, 0), (0.0, 99.0, 1), (0.0, 101.0, 0)]
)
def test_random_errors_of_all_legs_are_a_burst_of_noise(correlation, size, noisy):
    """The noise variance then fits them; louder than ten thousand times the noise is none."""
    gate = LegGate(SRS, GATE)
    gate.fit[CORRELATION] = correlation
    judged = Judged(np.full(6, size), gate)
    assert judged.used == list(range(6))
    assert judged.reasons == ['legs_noisy' if noisy else 'legs_disagree']
    assert judged.judgement.noise_scale == pytest.approx(size**2 if noisy else 1.0)
    assert gate.noise_scale == judged.judgement.noise_scale
    assert Judged(np.full(6, size), gate).reasons == []  # told once


def test_residuals_are_judged_given_the_other_legs():
    """A leg whose error hangs together with another's: its residual given that one, and the std that is left."""
    covariance = STD**2 * (np.eye(6) + 0.9 * (np.eye(6)[[1]].T @ np.eye(6)[[0]] + np.eye(6)[[0]].T @ np.eye(6)[[1]]))
    small = Judged([4.0, 4.0, 0.0, 0.0, 0.0, 0.0], covariance=covariance)
    assert small.gate.faults == {}
    fault = Judged([3.0, -3.0, 0.0, 0.0, 0.0, 0.0], covariance=covariance).gate.faults
    (leg,) = fault
    assert fault[leg].sigma == pytest.approx(3.0 * 1.9 / (1.0 - 0.9**2) ** 0.5)
    assert abs(fault[leg].off) == pytest.approx(3.0 * 1.9 * STD)


def test_legs_without_a_position_are_not_judged():
    residual = one(50.0, 3)
    residual[0] = np.nan
    judged = Judged(residual, available=ALL[1:])
    assert judged.used == [1, 2, 4, 5]


def test_chance_of_a_wrong_prediction_to_look_like_few_legs():
    gate, residual = LegGate(SRS, GATE), STD * np.array([9.0, 1.0, -1.0, 0.5, 0.3, 0.2])
    covariance = STD**2 * np.eye(6)
    part = np.sum(residual[1:] ** 2) / np.sum(residual**2)
    expected = comb(6, 1) * beta.cdf(part, 2.5, 0.5)
    assert gate.chance((0,), ALL, residual, covariance) == pytest.approx(expected)
    assert gate.accused(ALL, residual, covariance) == (0,)
    assert gate.accused(ALL, 0.1 * residual, covariance) == ()
    text = gate.misfit(ALL, residual, covariance)
    assert f'{1e3 * 9.0 * STD:.3g} mm' in text and f'NIS {np.sum(residual**2) / STD**2:.3g} of 6' in text


def test_chance_of_a_wrong_prediction_to_look_like_two_legs():
    """A power of the part that is left: two of six legs are as many numbers of a chi-square distribution."""
    residual = STD * np.array([9.0, -7.0, -1.0, 0.5, 0.3, 0.2])
    part = np.sum(residual[2:] ** 2) / np.sum(residual**2)
    found = LegGate(SRS, GATE).chance((0, 1), ALL, residual, STD**2 * np.eye(6))
    assert found == pytest.approx(comb(6, 2) * part**2)


@pytest.mark.parametrize(('size', 'used'), [(4.9, True), (5.1, False)])
def test_a_leg_that_was_left_out_is_used_again_within_the_gate(size, used):
    gate = Judged(one(50.0)).gate
    assert (2 in Judged(one(size), gate).used) == used


@pytest.mark.parametrize(('further', 'out'), [(2, 3), (3, 1)])
def test_legs_that_are_left_out_already_count_among_the_half_that_may_be(further, out):
    gate = Judged(one(60.0, 5)).gate
    gate.fit[CORRELATION] = 0.9  # not a burst of noise
    residual = np.array([40.0, 70.0, -50.0, 0.0, 0.0, 0.0]) * (np.arange(6) < further) + one(60.0, 5)
    judged = Judged(residual, gate)
    assert len(gate.faults) == out and ('legs_disagree' in judged.reasons) == (further == 3)


def test_noise_of_a_burst_is_that_of_the_residuals_however_little_it_is():
    """A narrow gate, a prediction that lets no more than one leg be left out, and a leg that is left out already."""
    gate, std = LegGate(SRS, 1.0), 6.0 * NOISE
    Judged(one(50.0, 5), gate, std=std)
    judged = Judged(np.full(6, 1.2) + one(50.0, 5), gate, std=std)
    assert judged.reasons == ['legs_noisy']
    assert judged.judgement.noise_scale == pytest.approx(1.2**2)


def test_a_start_is_confirmed_by_ten_measurements_and_given_up_thrice():
    gate, fit = LegGate(SRS, GATE), np.ones(10)
    for _ in range(9):
        gate.accepted(HOME, fit, 1)
    gate.give_up_start()
    assert gate.on_probation and gate.given_up_starts == 1
    gate.accepted(HOME, fit, 1)
    assert not gate.on_probation and gate.given_up_starts == 0
    gate.reset()
    for _ in range(2):
        gate.give_up_start()
    assert gate.on_probation
    gate.give_up_start()
    assert not gate.on_probation
    gate.confirm_start()
    assert gate.given_up_starts == 0


def test_legs_that_are_left_out_for_long_stay_so():
    gate = Judged(one(50.0, 1) + one(-70.0, 4)).gate
    assert gate.disbelieves(np.array([1, 4])) and gate.disbelieves(np.array([1]))
    assert not gate.disbelieves(np.array([1, 2])) and not LegGate(SRS, GATE).disbelieves(np.array([], dtype=int))
    gate.forgive(1)
    assert sorted(gate.faults) == [1, 4]
    gate.forgive(2)
    assert gate.faults == {}


def test_swapped_legs_are_named_and_legs_that_are_as_long_are_not():
    for apart, swapped in ((100.0, True), (0.0, False)):
        positions = HOME + STD * apart * np.eye(6)[1]
        off = np.array([0.0, apart, 0.0, 0.0, -apart, 0.0]) if swapped else one(70.0, 1) + one(-70.0, 4)
        judged = Judged(off, positions=positions)
        assert ('legs_swapped' in judged.reasons) == swapped
        assert sorted(judged.gate.faults) == [1, 4]


# -- statistics --------------------------------------------------------------------------------------------------------


def accepted(residual, variance, fit=None):
    fit = np.array([1.0, 0.0, 1.0, -1.0, *np.zeros(len(residual))]) if fit is None else fit
    size = len(residual)
    accept(np.array(residual, dtype=float), np.array(variance, dtype=float), np.zeros(size), fit, np.empty(size))
    return fit


def test_scale_follows_the_median_of_the_normalised_squares():
    fit = accepted([2.0, -6.0, 4.0, np.nan], [4.0, 4.0, 4.0, 4.0])
    assert fit[SCALE] == pytest.approx(1.0 + 0.05 * (4.0 / chi2.median(1) - 1.0), rel=1e-4)
    fit = accepted([2.0, -6.0, 4.0, 8.0], [4.0] * 4)
    assert fit[SCALE] == pytest.approx(1.0 + 0.05 * (6.5 / chi2.median(1) - 1.0) if 6.5 / 0.4549 < 10.0 else 1.45)
    assert fit[LAST_SIZE] == pytest.approx(np.sqrt(1.0 + 9.0 + 4.0 + 16.0))
    assert fit[4:] == pytest.approx([1.0, -3.0, 2.0, 4.0])


def test_errors_that_stay_are_correlated():
    fit = accepted([1.0, 1.0, 1.0], [1.0] * 3)
    assert fit[CORRELATION] == 0.0
    assert accepted([2.0, 2.0, 2.0], [1.0] * 3, fit.copy())[CORRELATION] == pytest.approx(0.1)
    assert accepted([-2.0, -2.0, -2.0], [1.0] * 3, fit.copy())[CORRELATION] == pytest.approx(-0.1)
    assert accepted([1.0, -1.0, 0.0], [1.0] * 3, fit.copy())[CORRELATION] == pytest.approx(0.0)


@pytest.mark.parametrize(
    ('noise', 'size', 'correlation', 'expected'),
    [
        (1.0, 9.0, 0.0, 1.0),  # it rises by the gate only
        (100.0, 0.4549**0.5, 0.0, 100.0),
        (100.0, 0.0, 0.0, 90.0),
        (100.0, 9.0, 0.0, 190.0),
        (100.0, 9.0, 0.9, 80.0),
        (9000.0, 9.0, 0.0, 1e4),
        (1.6, 0.0, 0.0, 1.0),
        (1.7, 0.0, 0.0, 1.53),
    ],
)
def test_noise_of_a_burst_follows_the_residuals(noise, size, correlation, expected):
    fit = np.array([1.0, correlation, noise, -1.0, 0.0, 0.0, 0.0])
    assert accepted([size] * 3, [1.0] * 3, fit)[NOISE_SCALE] == pytest.approx(expected)


def test_gate_counts_what_was_used():
    gate = LegGate(SRS, GATE)
    gate.accept(HOME, Innovation(np.full(6, 2.0), np.ones(6), 24.0))
    assert gate.scale == pytest.approx(1.0 + 0.05 * (4.0 / 0.4549 - 1.0), rel=1e-3)
    off = LegGate(SRS, 0.0)
    off.accept(HOME, Innovation(np.full(6, 2.0), np.ones(6), 24.0))
    assert off.scale == 1.0


# -- faults ------------------------------------------------------------------------------------------------------------

LEG = LegSensor('leg3', 1e-5, (0.0, 1.0))


def begun(value, residual, last):
    return LegFault.begin(LEG, LegResidual(value, residual, 1e-5), last, lambda *words: None)


@pytest.mark.parametrize(
    ('value', 'last', 'kind'),
    [
        (0.5, 0.4, 'off_prediction'), (0.5, None, 'off_prediction'), (0.5, 0.5 + 4.9e-5, 'stuck'),
        (0.5, 0.5 + 5.1e-5, 'off_prediction'), (4.9e-5, 0.5, 'saturated'), (1.0 - 4.9e-5, 1.0, 'saturated'),
        (5.1e-5, 0.5, 'off_prediction'), (-5.1e-5, 0.5, 'off_prediction'),
    ],
)  # fmt: skip
def test_kind_of_a_new_fault(value, last, kind):
    fault = begun(value, 1e-3, last)
    assert (fault.kind, fault.samples, fault.fitting) == (kind, 1, 0)
    assert fault.prediction == pytest.approx(value - 1e-3)
    assert fault.sigma == pytest.approx(100.0)


def followed(residuals, std=1e-5, alone=True, value=lambda k: 0.5 + 1e-3 * k):
    """Kinds of a fault of 1 mm after each of the residuals; the last one is None where the leg is used again."""
    said, kinds, fault = [], [], begun(0.5, 1e-3, 0.4)
    for k, residual in enumerate(residuals, 1):
        now = LegResidual(value(k), residual, std)
        fault = fault.after(now, GATE, GATE, alone, lambda *words: said.append(words))
        kinds.append(fault and fault.kind)
        if fault is None:
            break
    return kinds, fault, said


@pytest.mark.parametrize(
    ('outage', 'fitting', 'text'),
    [(1, 1, 'spike'), (2, 2, 'spike'), (3, 3, 'spike'), (4, 4, '7 meas'), (19, 19, '37 meas'), (30, 20, '49 meas')],
)
def test_a_leg_is_used_again_after_as_many_fitting_samples_as_it_was_out(outage, fitting, text):
    kinds, _, said = followed([1e-3 * (-1) ** k for k in range(outage - 1)] + [0.0] * 25)
    assert len(kinds) == outage - 1 + fitting and kinds[-1] is None
    assert said[-1][0] == 'leg_returned' and text in said[-1][1]


@pytest.mark.parametrize(
    ('residual', 'std', 'alone', 'returns'),
    [
        (4.9e-5, 1e-5, True, True), (5.1e-5, 1e-5, True, False),  # within the gate
        (2.9e-4, 1e-4, True, True), (4.5e-4, 1e-4, True, False),  # and come down to 0.3 of its largest
        (4.5e-4, 2.1e-4, False, True), (4.5e-4, 1.9e-4, False, False),  # several legs: no more certain than that
    ],
)  # fmt: skip
def test_what_counts_as_fitting(residual, std, alone, returns):
    kinds, _, _ = followed([residual], std, alone)
    assert (kinds == [None]) == returns


def test_a_constant_residual_is_an_offset_from_the_fifth_sample_on():
    kinds, fault, said = followed([1e-3 + 4e-5] * 6)
    assert kinds == ['off_prediction'] * 3 + ['offset'] * 3
    assert [reason for reason, _ in said] == ['leg_offset']
    assert 'offset' not in followed([1e-3 + 4e-4 * k for k in range(1, 9)])[0]
    assert (fault.samples, fault.largest) == (7, pytest.approx(1.04e-3))


@pytest.mark.parametrize(('moved', 'kind'), [(1.9e-4, 'stuck'), (1.4e-4, 'off_prediction')])
def test_a_value_that_stays_while_its_prediction_moves_is_stuck(moved, kind):
    kinds, _, _ = followed([1e-3 + moved], value=lambda k: 0.5)
    assert kinds == [kind]


def test_a_value_that_stays_while_its_prediction_creeps_away_is_stuck():
    """By 0.1 mm with each sample: what counts is the prediction at the last change of the value."""
    kinds, fault, _ = followed([1e-3 + 1e-4 * k for k in (1, 2)], value=lambda k: 0.5)
    assert kinds == ['off_prediction', 'stuck']
    assert fault.prediction == pytest.approx(0.5 - 1e-3)
    moved = followed([1e-3 + 1e-4 * k for k in (1, 2)])[1]
    assert moved.prediction == pytest.approx(0.502 - 1.2e-3)


def test_a_stuck_leg_that_moves_again_is_no_longer_stuck():
    fault = begun(0.5, 1e-3, 0.5)
    still = fault.after(LegResidual(0.5, 0.0, 1e-5), GATE, GATE, True, lambda *words: None)
    assert still.kind == 'stuck' and still.fitting == 0
    assert fault.after(LegResidual(0.51, 0.0, 1e-5), GATE, GATE, True, lambda *words: None) is None


def test_positions_at_the_very_bound_of_the_noise():
    """In numbers that are exact: five times the noise is still the same, and no end of the stroke."""
    leg = LegSensor('leg', 1.0, (0.0, 100.0))
    assert leg.is_same(10.0, 15.0) and leg.is_same(15.0, 10.0) and not leg.is_same(10.0, 15.5)
    assert leg.is_at_end(4.5) and leg.is_at_end(95.5) and not leg.is_at_end(5.0) and not leg.is_at_end(95.0)
    assert LegResidual(7.0, 3.0, 2.0).prediction == 4.0 and LegResidual(7.0, -3.0, 2.0).sigma == 1.5


def test_twins_count_while_they_are_equal():
    fault = begun(0.5, 1e-3, 0.4)
    assert fault.beside_its_twin(True).beside_its_twin(True).fitting == 2
    assert fault.beside_its_twin(True).beside_its_twin(False).fitting == 0


# -- continuity --------------------------------------------------------------------------------------------------------


def past(count=14, function=lambda t: 0.2 * t + 3.0 * t**2, legs=3, noise=1e-5, first=0):
    """Memory of legs that follow a parabola exactly, every 10 ms; time 0 is the next measurement."""
    continuity = LegContinuity(np.full(legs, noise))
    for k in range(count):
        time = 0.01 * (k - count)
        continuity.add(np.array([10**9 + first + 10**7 * k]), np.tile(function(time), (1, legs)))
    return continuity, 10**9 + first + 10**7 * count


@pytest.mark.parametrize('first', [0, 1_790_000_000 * 10**9])
def test_the_past_of_a_parabola_leads_to_its_next_value(first):
    """Also with the stamps of a real clock, whose seconds have no digits left for nanoseconds."""
    continuity, stamp = past(first=first)
    assert continuity.is_known
    step, usual = continuity.step(stamp, np.array([0.0, 1e-3, -2e-3]))
    assert step == pytest.approx([0.0, 1e-3, -2e-3], abs=1e-9)
    times = np.arange(-8, 0)  # the longest polynomial has the least noise of its own
    gain = np.linalg.pinv(np.vander(times, 3, increasing=True))[0]
    assert usual == pytest.approx(np.full(3, 1e-5 * np.sqrt(1.0 + gain @ gain)), rel=1e-6)


def test_too_short_a_past_says_nothing():
    continuity, stamp = past(13)
    assert not continuity.is_known
    step, usual = continuity.step(stamp, np.full(3, 1.0))
    assert (step == 0.0).all() and usual == pytest.approx(1e-5)


def test_a_leg_breaks_off_if_its_past_leads_to_the_prediction():
    continuity, stamp = past()
    jump = np.array([1e-3, 1e-3, 0.0])
    assert continuity.evidence(stamp, jump, np.array([1.49e-3, 0.4e-3, 0.0])).tolist() == [True, False, False]
    assert continuity.evidence(stamp, jump, np.array([1.51e-3, 0.51e-3, 0.0])).tolist() == [False, True, False]


def test_legs_go_on_where_their_past_leads_or_nearer_to_it_than_the_prediction():
    continuity, stamp = past()
    usual = continuity.step(stamp, np.zeros(3))[1][0]
    assert continuity.goes_on(stamp, np.full(3, 1.41 * usual), np.full(3, 1.41 * usual))
    assert not continuity.goes_on(stamp, np.full(3, 1.42 * usual), np.full(3, 1.42 * usual))
    assert continuity.goes_on(stamp, np.full(3, 1.42 * usual), np.full(3, 2.9 * usual))
    assert not continuity.goes_on(stamp, np.full(3, 1.42 * usual), np.full(3, 2.8 * usual))


def test_a_leg_that_stands_still_while_others_move():
    continuity = LegContinuity(np.full(3, 1e-5))
    for k in range(6):
        continuity.add(np.array([10**9 + 10**7 * k]), np.array([[0.001 * k, 0.002 * k, 0.0]]))
    now = np.array([0.006, 0.012, 0.0])
    assert continuity.evidence(10**9 + 6 * 10**7, now, np.array([0.0, 0.0, 5.1e-5])).tolist() == [False, False, True]
    assert not continuity.evidence(10**9 + 6 * 10**7, now, np.array([0.0, 0.0, 4.9e-5])).any()


@pytest.mark.parametrize(('samples', 'blamed'), [(2, False), (3, True), (8, True)])
def test_a_leg_stands_still_from_the_fourth_measurement_on(samples, blamed):
    """After as many that were the same, while two others move."""
    continuity = LegContinuity(np.full(3, 1e-5))
    for k in range(9):
        continuity.add(np.array([10**9 + 10**7 * k]), np.array([[1e-3 * k, 2e-3 * k, 1e-3 * min(k, 9 - samples)]]))
    now = np.array([9e-3, 18e-3, 1e-3 * (9 - samples)])
    residual = np.array([0.0, 0.0, 5.1e-5])
    assert continuity.evidence(10**9 + 9 * 10**7, now, residual).tolist() == [False, False, blamed]


@pytest.mark.parametrize(('still', 'blamed'), [(1, True), (2, True), (3, False)])
def test_half_of_the_legs_may_stand_still_while_the_others_move(still, blamed):
    """More of them are a machine at rest, with a wrong prediction."""
    moves = np.arange(4) >= still
    continuity = LegContinuity(np.full(4, 1e-5))
    for k in range(6):
        continuity.add(np.array([10**9 + 10**7 * k]), (1e-3 * k * moves)[None])
    residual = np.where(moves, 0.0, 1e-3)
    assert continuity.evidence(10**9 + 6 * 10**7, 6e-3 * moves, residual).tolist() == (~moves & blamed).tolist()


def test_positions_that_were_not_read_anew_and_legs_that_moved():
    continuity, stamp = past()
    last = continuity.last[1]
    assert continuity.last[0] == stamp - 10**7
    assert continuity.is_repeated(last.copy()) and not continuity.is_repeated(last + np.array([0.0, 0.0, 1e-15]))
    nothing = LegContinuity(np.full(3, 1e-5))
    assert not nothing.is_repeated(last) and not nothing.has_jumped and nothing.last is None
    assert not past(noise=0.0)[0].is_repeated(last)
    assert continuity.has_moved(last, last + np.array([0.0, 6.1e-5, 0.0]))
    assert not continuity.has_moved(last, last - np.array([5.9e-5, 5.9e-5, 0.0]))


def test_a_rejected_measurement_and_another_clock():
    continuity, stamp = past()
    continuity.reject(stamp)
    assert not continuity.has_jumped
    continuity.add(np.array([stamp]), np.zeros((1, 3)))
    assert continuity.has_jumped
    continuity.add(np.array([stamp]), np.ones((1, 3)))
    assert continuity.last[1].tolist() == [1.0] * 3 and not continuity.is_known and not continuity.has_jumped
