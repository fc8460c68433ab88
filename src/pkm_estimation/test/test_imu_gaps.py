"""S3-52: while the IMU's samples do not come, estimates go on by the legs alone, and the IMU is used again at once."""

from __future__ import annotations

import numpy as np
import pytest
from pkm_description.loading import load_machine
from pkm_description.machine import Machine
from pkm_description.motion.profiles import profile
from pkm_estimation.bags import BagWriter, read_bag
from pkm_estimation.offline.estimate import estimate_recording
from pkm_estimation.sensors import measure
from pkm_estimation.sensors.simulated import SensorData
from pkm_estimation.stream import EstimatorConfig, EstimatorOutput, EstimatorPipeline
from pkm_estimation.stream.verdict import summarise
from test_pipeline import DATA, MOTION, SRS, as_bytes, feed, imu_message, leg_message, pairs

#: legs that do not wait for an IMU that is silent
CONFIG = EstimatorConfig(baseline=False, imu_silence=0.5)


def gapped(count, gap):
    """Messages of so many samples, as they come live, the IMU's without those in a gap."""
    return [
        message
        for k in range(count)
        for message in ([leg_message(k)] if k in gap else [imu_message(k), leg_message(k)])
    ]


def late(messages):
    """The same with all of the legs first: nobody knows a gap before the IMU's samples come."""
    return sorted(messages, key=lambda message: message[0] != 'legs')


def errors_over_claims(machine: Machine, data: SensorData, motion, outputs: list[EstimatorOutput]) -> np.ndarray:
    """Errors of position (N, 3) in standard deviations, of its own principal directions."""
    index = {int(stamp): k for k, stamp in enumerate(data.stamps)}
    found = []
    for output in outputs:
        variances, axes = np.linalg.eigh(output.motion.pose_covariance[:3, :3])
        error = output.motion.position - motion.position[index[output.stamp]]
        # directions in which a machine with fewer degrees of freedom cannot move are no estimates
        moves = variances > 0.05 * variances[-1]
        found.append(np.where(moves, axes.T @ error / np.sqrt(np.abs(variances)), np.nan))
    return np.array(found)


@pytest.mark.parametrize(
    ('name', 'rate', 'length'),
    [
        ('srs', 100.0, 0.5),
        pytest.param('palida', 200.0, 0.15, marks=pytest.mark.campaign),
        pytest.param('valencia_3rps', 100.0, 1.5, marks=pytest.mark.campaign),
    ],
)
def test_estimates_go_on_and_claim_what_is_true(name: str, rate: float, length: float) -> None:
    machine = load_machine(name)
    kind = {'srs': 'mp1', 'palida': 'fourier'}.get(name, 'drives')
    motion = profile(kind, machine, 30.0 if name == 'srs' else 20.0, rate, 1)
    motion = motion[slice(round(8 * rate))]
    begin, end = round(4 * rate), round((4 + length) * rate)
    inside, after = [], []
    for seed in range(3):
        data = measure(machine, motion, seed=seed)
        pipeline, outputs = EstimatorPipeline(machine, CONFIG), []
        for k, stamp in enumerate(data.stamps.tolist()):
            if not begin <= k < end:
                outputs += pipeline.add_imu(stamp, data.specific_force[k], data.angular_rate[k])
            outputs += pipeline.add_joint_positions(stamp, machine.actuated_joint_names, data.drive_positions[k])
        assert [output.stamp for output in outputs] == data.stamps.tolist()
        assert [output.started for output in outputs] == [True] + [False] * (len(outputs) - 1)
        alone = [output.by_legs_alone for output in outputs]
        # the first sample after a gap of more than a second is one whose stamp has to be confirmed
        assert alone[begin:end] == [True] * (end - begin) and end - begin < sum(alone) < end - begin + 3
        ratios = errors_over_claims(machine, data, motion, outputs)
        inside.append(ratios[begin:end])
        after.append(ratios[end:])
        # what was known of the biases still is
        known, later = outputs[begin - 1].state_std[-6:], outputs[end + 2].state_std[-6:]
        assert np.isfinite(later).all() and (later < 1.2 * known + 1e-4).all()
    for ratios in (np.concatenate(inside), np.concatenate(after)):
        numbers = ratios[np.isfinite(ratios)]
        assert np.mean(np.abs(numbers) <= 3.0) >= 0.98
        assert 0.25 < np.mean(numbers**2) < 1.6


@pytest.mark.parametrize('gap', [range(60, 75), range(60, 130), range(60, 200)])
def test_when_the_end_of_a_gap_is_known_makes_no_difference(gap) -> None:
    """Live the legs are not waited for; where all of them came before, each bit is the same."""
    messages = gapped(200, gap)
    live, known = EstimatorPipeline(SRS, CONFIG), EstimatorPipeline(SRS, CONFIG)
    known.waits_for_imu = True
    outputs = feed(live, messages)
    assert as_bytes(feed(known, late(messages)) + known.finish()) == as_bytes(outputs)
    # only what is too new to be told from a sample that is late is still waited for
    assert len(outputs) == 200
    assert live.health.counters['imu_gap'] == 1
    assert live.health.counters['imu_returned'] == (gap[-1] < 199)
    assert 'in_imu_gap' not in live.health.counters


def test_a_silent_imu_is_not_waited_for() -> None:
    pipeline = EstimatorPipeline(SRS, CONFIG)
    feed(pipeline, pairs(range(60)))
    counts = [len(feed(pipeline, [leg_message(k)])) for k in range(60, 120)]
    # 0.5 s after the last sample all that wait, then each as it comes
    assert counts == [0] * 50 + [51] + [1] * 9
    told = pipeline.health.report()
    assert summarise(told, 6) == ('warn', 'left out: IMU: gap: no samples for more than 0.1 s')
    assert [event.name for event in told.events] == ['started', 'imu_gap']


def test_it_is_waited_for_by_default() -> None:
    """What is done then does not depend on how late its samples come; the bits are those of a recording."""
    waiting = EstimatorPipeline(SRS, EstimatorConfig(baseline=False))
    assert len(feed(waiting, gapped(200, range(60, 200)))) == 60
    waiting, known = (EstimatorPipeline(SRS, EstimatorConfig(baseline=False)) for _ in range(2))
    messages = gapped(200, range(60, 130))
    outputs = feed(waiting, messages)
    assert as_bytes(feed(known, late(messages))) == as_bytes(outputs) and len(outputs) == 200


def test_a_recording_is_estimated_as_it_was_live(tmp_path) -> None:
    """Also where the IMU stays silent to the end."""
    for name, gap in (('within', range(60, 90)), ('end', range(140, 200))):
        outputs = feed(EstimatorPipeline(SRS, CONFIG), gapped(200, gap))
        sent = [k for k in range(200) if k not in gap]
        with BagWriter(tmp_path / name, 'mcap', '') as bag:
            nothing = np.zeros_like(DATA.drive_positions)
            names = SRS.actuated_joint_names
            bag.write_joint_states(DATA.stamps, names, DATA.drive_positions, nothing, nothing)
            bag.write_imu(DATA.stamps[sent], DATA.specific_force[sent], DATA.angular_rate[sent])
        result = estimate_recording(SRS, read_bag(tmp_path / name), CONFIG)
        assert result.motion.stamps.tolist() == [output.stamp for output in outputs]
        assert result.motion.position.tobytes() == b''.join(output.motion.position.tobytes() for output in outputs)
        assert result.by_legs_alone.tolist() == [output.by_legs_alone for output in outputs]


def test_a_gap_between_two_measurements_of_slow_legs() -> None:
    legs = [*range(100), *range(100, 200, 15)]
    messages = [message for message in gapped(200, range(131, 145)) if message[0] == 'imu' or message[1] in
                DATA.stamps[legs]]  # fmt: skip
    pipeline = EstimatorPipeline(SRS, CONFIG)
    outputs = feed(pipeline, messages)
    assert [k for k, output in zip(legs, outputs, strict=True) if output.by_legs_alone] == [145]
    assert sum(output.started for output in outputs) == 1
    assert pipeline.health.counters['imu_returned'] == 1


def test_users_measurements_in_a_gap_are_used() -> None:
    """A measurement of the user's own before the first one of the legs in the gap, and one among them."""
    pipeline = EstimatorPipeline(SRS, CONFIG)
    feed(pipeline, pairs(range(60)))
    for k in range(60, 125):
        if k in (60, 80):
            pipeline.add_measurement(
                int(DATA.stamps[k]), lambda points: points.position(np.zeros(3)).T, MOTION.position[k],
                1e-6 * np.eye(3), 'first' if k == 60 else 'second',
            )  # fmt: skip
        feed(pipeline, [leg_message(k)])
    report = pipeline.health.report()
    assert {name: count for name, (count, _, _) in report.user_measurements.items()} == {'first': 1, 'second': 1}


def test_an_imu_that_fails_and_falls_silent_is_used_again_when_it_agrees_with_the_legs() -> None:
    frozen = [
        ('imu', stamp, DATA.specific_force[50], DATA.angular_rate[50])
        for stamp in DATA.stamps[50:80].tolist()
    ]  # fmt: skip
    messages = [message for k in range(50) for message in (imu_message(k), leg_message(k))]
    messages += [message for k in range(30) for message in (frozen[k], leg_message(50 + k))]
    messages += [leg_message(k) for k in range(80, 100)]
    messages += pairs(range(100, 200))
    pipeline = EstimatorPipeline(SRS, CONFIG)
    outputs = feed(pipeline, messages)
    assert len(outputs) == 200 and sum(output.started for output in outputs) == 1
    counters = pipeline.health.counters
    assert counters['imu_frozen'] == 1 and counters['imu_returned'] == 1 and 'imu_gap' not in counters
    alone = [output.by_legs_alone for output in outputs]
    returned = 100 + alone[100:].index(False)
    assert 100 < returned <= 155  # at most half a second after its samples have come again


@pytest.mark.parametrize('config', [EstimatorConfig(legs_alone=False), EstimatorConfig(history=0.3)])
def test_without_the_legs_alone_or_with_a_history_the_filter_starts_anew(config: EstimatorConfig) -> None:
    """With a history, the missing samples may still come."""
    pipeline = EstimatorPipeline(SRS, config)
    outputs = feed(pipeline, gapped(100, range(50, 80)))
    assert [o.stamp for o in outputs if o.started] == [DATA.stamps[0], DATA.stamps[80]]
    assert pipeline.health.counters['in_imu_gap'] == 30
    assert pipeline.health.counters['imu_gap'] == 1


def test_a_clock_that_is_set_back_in_a_gap_starts_anew() -> None:
    pipeline = EstimatorPipeline(SRS, CONFIG)
    outputs = feed(pipeline, gapped(180, range(125, 180)) + pairs(range(60)))
    assert [k for k, output in enumerate(outputs) if output.started] == [0, 180]
    assert not any(output.by_legs_alone for output in outputs[181:])
