"""The pipeline: stamps alone decide; bad input is counted, named and survived."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from changed_machines import unlimited
from hypothesis import given, settings
from hypothesis import strategies as st
from pkm_description.errors import ConfigurationError
from pkm_description.loading import load_machine
from pkm_description.motion.profiles import mp1
from pkm_estimation.sensors import measure
from pkm_estimation.stream import EstimatorConfig, EstimatorPipeline
from pkm_estimation.stream.verdict import WELL, summarise, values

SRS = load_machine('srs')
NAMES = SRS.actuated_joint_names
#: two seconds at full speed
MOTION = mp1(SRS, duration=30.0, rate=100.0)[slice(1200, 1400)]
DATA = measure(SRS, MOTION, seed=4)


def positions(k, data=DATA):
    return data.drive_positions[k]


def imu_message(k, data=DATA):
    return 'imu', int(data.stamps[k]), data.specific_force[k], data.angular_rate[k]


def leg_message(k, data=DATA):
    return 'legs', int(data.stamps[k]), NAMES, positions(k, data)


def feed(pipeline, messages):
    outputs = []
    for kind, *arguments in messages:
        outputs += pipeline.add_imu(*arguments) if kind == 'imu' else pipeline.add_joint_positions(*arguments)
    return outputs


def pairs(indices, data=DATA):
    return [message for k in indices for message in (imu_message(k, data), leg_message(k, data))]


def as_bytes(outputs):
    """Every number of an output that is published, to the last bit."""
    return [
        (
            o.stamp,
            *(
                getattr(o.motion, name).tobytes()
                for name in ('position', 'orientation', 'velocity', 'pose_covariance', 'twist_covariance')
            ),
            o.inertial.specific_force.tobytes(),
            o.state.tobytes(),
            None if o.baseline is None else o.baseline.velocity.tobytes(),
        )
        for o in outputs
    ]


@pytest.fixture
def pipeline():
    return EstimatorPipeline(SRS)


def test_first_estimate_is_the_start_and_later_ones_are_near_the_truth(pipeline):
    outputs = feed(pipeline, pairs(range(200)))
    assert [o.stamp for o in outputs] == DATA.stamps.tolist()
    assert [o.started for o in outputs] == [True] + [False] * 199
    assert outputs[0].innovation is None
    for k in (0, 100, 199):
        assert np.abs(outputs[k].motion.position - MOTION.position[k]).max() < 1e-4
    rotation = MOTION.rotation_base_platform[-1]
    assert outputs[-1].motion.velocity == pytest.approx(rotation.T @ MOTION.linear_velocity[-1], abs=1e-3)
    assert outputs[-1].motion.angular_velocity == pytest.approx(rotation.T @ MOTION.angular_velocity[-1], abs=2e-3)
    assert outputs[-1].inertial.accelerometer_bias == pytest.approx(SRS.imu.accelerometer_bias, abs=5e-3)
    assert pipeline.health.counters == dict.fromkeys(WELL, 200) | {'started': 1}


@cache
def half_second(imu_rate, leg_rate):
    """Messages of both topics, in the order of their stamps."""
    imu_data, leg_data = (
        measure(SRS, mp1(SRS, 30.0, rate)[slice(12 * rate, 12 * rate + rate // 2)], 4)
        for rate in (imu_rate, leg_rate)
    )
    imu = [imu_message(k, imu_data) for k in range(imu_rate // 2)]
    return imu, [leg_message(k, leg_data) for k in range(leg_rate // 2)]


@settings(max_examples=8, deadline=None, derandomize=True)
@given(
    st.lists(st.integers(0, 7), min_size=60, max_size=60), st.sampled_from([(100, 100), (200, 50), (50, 100), (90, 70)])
)
def test_order_between_the_topics_does_not_matter(walk, rates):
    """IMU and legs at any rates, either topic ahead by many messages: the same bits."""
    imu, legs = half_second(*rates)
    by_stamp = feed(EstimatorPipeline(SRS), sorted(imu + legs, key=lambda m: (m[1], m[0])))
    mixed, i, j = [], 0, 0
    for step in walk:
        if step % 2:
            mixed += imu[i : i + step]
            i += step
        else:
            mixed += legs[j : j + step]
            j += step
    mixed += imu[i:] + legs[j:]
    assert as_bytes(feed(EstimatorPipeline(SRS), mixed)) == as_bytes(by_stamp)
    assert len(by_stamp) >= 23


def test_run_is_repeated_from_the_stamp_of_its_first_estimate():
    messages = pairs(range(60))
    # the node's first leg messages come before any IMU sample
    live = feed(EstimatorPipeline(SRS), [m for m in messages if m[0] == 'legs' or m[1] >= DATA.stamps[7]])
    assert live[0].stamp == DATA.stamps[7]
    again = feed(EstimatorPipeline(SRS), [m for m in messages if m[0] == 'imu' or m[1] >= live[0].stamp])
    assert as_bytes(again) == as_bytes(live)


BAD_LEGS = {
    'zero stamp': (('legs', 0, NAMES, positions(50)), 'legs_zero_stamp'),
    'duplicate stamp': (leg_message(49), 'legs_duplicate_stamp'),
    'out of order': (leg_message(40), 'legs_out_of_order_stamp'),
    'far future': (('legs', int(DATA.stamps[50]) + 10**12, NAMES, positions(50)), 'legs_stamp_jump'),
    'far past': (('legs', 5, NAMES, positions(50)), 'legs_stamp_jump'),
    'wrong number': (('legs', int(DATA.stamps[49]) + 1, NAMES, positions(50)[:5]), 'wrong_number_of_positions'),
    'unknown names': (('legs', int(DATA.stamps[49]) + 1, ['elbow'], [0.1]), 'unknown_joint'),
    'twice': (('legs', int(DATA.stamps[49]) + 1, [NAMES[0]] * 6, positions(50)), 'duplicate_joint'),
    'all nan': (('legs', int(DATA.stamps[49]) + 1, NAMES, [np.nan] * 6), 'position_not_finite'),
    'imu zero stamp': (('imu', 0, DATA.specific_force[50], DATA.angular_rate[50]), 'imu_zero_stamp'),
    'imu duplicate': (imu_message(49), 'imu_duplicate_stamp'),
    'imu out of order': (imu_message(30), 'imu_out_of_order_stamp'),
    'imu nan': (('imu', int(DATA.stamps[49]) + 1, [np.nan, 0, 0], [0, 0, 0]), 'imu_not_finite'),
    'imu infinite': (('imu', int(DATA.stamps[49]) + 1, [np.inf, 0, 0], [0, 0, 0]), 'imu_not_finite'),
    'imu too short': (('imu', int(DATA.stamps[49]) + 1, [0, 0], [0, 0, 0]), 'imu_not_finite'),
    'imu far future': (
        ('imu', int(DATA.stamps[49]) + 10**12, DATA.specific_force[5], DATA.angular_rate[5]),
        'imu_stamp_jump',
    ),
}


@pytest.mark.parametrize('name', BAD_LEGS)
def test_bad_message_is_rejected_by_name_and_changes_nothing(pipeline, name):
    bad, reason = BAD_LEGS[name]
    good = as_bytes(feed(EstimatorPipeline(SRS), pairs(range(80))))
    messages = [*pairs(range(50)), bad, *pairs(range(50, 80))]
    assert as_bytes(feed(pipeline, messages)) == good
    assert pipeline.health.counters[reason] == 1
    report = pipeline.health.report()
    assert any(event.name == reason and event.detail for event in report.events)
    level, sentence = summarise(report, 6)
    assert level == ('error' if reason == 'unknown_joint' else 'warn')
    assert reason in sentence
    assert values(report, pipeline.machine.drive_labels)[f'count {reason}'] == 1


def test_joints_of_a_gripper_beside_the_legs_are_told_once_and_normal(pipeline):
    good = as_bytes(feed(EstimatorPipeline(SRS), pairs(range(80))))
    messages = [
        (kind, stamp, [*names, 'finger'], [*numbers, 0.5]) if kind == 'legs' else (kind, stamp, names, numbers)
        for kind, stamp, names, numbers in pairs(range(80))
    ]
    assert as_bytes(feed(pipeline, messages)) == good
    report = pipeline.health.report()
    assert report.event_counts['foreign_joints'] == 1
    assert "'finger'" in next(event.detail for event in report.events if event.name == 'foreign_joints')
    assert 'unknown_joint' not in report.counters
    assert 'problems' not in summarise(report, 6)[1]


def test_what_was_wrong_is_counted_to_the_end_and_a_reset_on_request_is_not_wrong(pipeline):
    feed(pipeline, pairs(range(3)))
    pipeline.reset(int(DATA.stamps[2]))
    assert pipeline.health.report().event_counts == {'started': 1, 'reset': 1}
    feed(pipeline, [*pairs(range(3, 6)), *[('legs', int(DATA.stamps[5]), ['elbow'], [0.1])] * 300])
    report = pipeline.health.report()
    assert (len(report.events), report.event_counts['unknown_joint']) == (200, 300)
    assert '900 problems (missing_joint, too_few_legs, unknown_joint)' in summarise(report, 6)[1]
    feed(pipeline, pairs(range(6, 9)))
    pipeline.reset(int(DATA.stamps[8]))
    assert 'wrong' not in summarise(pipeline.health.report(), 6)[1]


@pytest.mark.parametrize('missing', ['name', 'nan'])
def test_five_legs_keep_the_filter_going(pipeline, missing):
    feed(pipeline, pairs(range(100)))
    before = pipeline.filter.covariance.copy()
    outputs = []
    for k in range(100, 150):
        names, values_ = list(NAMES), positions(k).copy()
        if missing == 'name':
            del names[2]
            values_ = np.delete(values_, 2)
        else:
            values_[2] = np.nan
        outputs += feed(pipeline, [imu_message(k), ('legs', int(DATA.stamps[k]), names, values_)])
    assert len(outputs) == 50
    assert not any(o.started for o in outputs)
    assert np.isnan(outputs[-1].innovation.residual[2])
    assert outputs[-1].baseline is None
    error = outputs[-1].motion.position - MOTION.position[149]
    assert error @ np.linalg.solve(outputs[-1].motion.pose_covariance[:3, :3], error) < 20.0
    assert pipeline.filter.covariance[:3, :3].trace() > 0.5 * before[:3, :3].trace()
    reason = 'missing_joint' if missing == 'name' else 'position_not_finite'
    assert pipeline.health.counters[reason] == 50


def test_start_waits_for_all_legs(pipeline):
    first = [imu_message(0), ('legs', int(DATA.stamps[0]), NAMES[:5], positions(0)[:5])]
    outputs = feed(pipeline, first + pairs(range(1, 3)))
    assert [o.stamp for o in outputs] == DATA.stamps[1:3].tolist()
    assert pipeline.health.counters['too_few_legs_to_start'] == 1


def test_impossible_lengths_do_not_start():
    """Lengths that no platform fits, on a machine without stroke limits (SRS reaches every corner of its strokes)."""
    pipeline = EstimatorPipeline(unlimited(SRS))
    impossible = [50.0, 0.0, 0.0, 30.0, 0.0, 0.0]
    assert feed(pipeline, [imu_message(0), ('legs', int(DATA.stamps[0]), NAMES, impossible)]) == []
    assert pipeline.health.counters['start_failed'] == 1
    assert len(feed(pipeline, pairs(range(1, 10)))) == 9


def test_leg_gap_is_predicted_with_growing_covariance(pipeline):
    """S3-52: half a second without legs; the truth stays inside three sigma."""
    feed(pipeline, pairs(range(100)))
    feed(pipeline, [imu_message(k) for k in range(100, 151)])
    (output,) = feed(pipeline, [leg_message(150)])
    assert not output.started
    assert output.innovation.std[0] > 3 * SRS.leg_sensors.position_noise[0]
    assert np.abs(output.innovation.residual / output.innovation.std).max() < 3.0


def test_long_leg_gap_starts_anew():
    pipeline = EstimatorPipeline(SRS, EstimatorConfig(maximum_leg_gap=0.2))
    outputs = feed(pipeline, pairs(range(50)) + [imu_message(k) for k in range(50, 100)] + pairs(range(100, 110)))
    assert [o.stamp for o in outputs if o.started] == [DATA.stamps[0], DATA.stamps[100]]
    assert pipeline.health.counters['leg_gap'] == 1


def test_short_imu_gap_is_bridged_in_bounded_steps(pipeline):
    messages = pairs(range(150)) + [leg_message(k) for k in range(150, 156)] + pairs(range(156, 200))
    outputs = feed(pipeline, messages)
    assert len(outputs) == 200
    assert sum(o.started for o in outputs) == 1
    assert np.abs(outputs[-1].motion.position - MOTION.position[-1]).max() < 1e-4


def test_restarted_clock_starts_anew(pipeline):
    """A bag played in a loop: both topics begin again; one sample of each is spent to confirm it."""
    again = replace(DATA, stamps=DATA.stamps)
    pipeline_outputs = feed(pipeline, pairs(range(200)) + pairs(range(100), again))
    starts = [k for k, o in enumerate(pipeline_outputs) if o.started]
    assert starts == [0, 200]
    assert pipeline_outputs[200].stamp == DATA.stamps[1]
    assert pipeline.health.counters['clock_reset'] == 1
    assert pipeline.health.counters['imu_clock_reset'] == pipeline.health.counters['legs_clock_reset'] == 1
    assert np.abs(pipeline_outputs[-1].motion.position - MOTION.position[99]).max() < 1e-4


def test_clock_restarted_in_one_topic_only_recovers():
    pipeline = EstimatorPipeline(SRS, EstimatorConfig(queue_length=20))
    feed(pipeline, pairs(range(150)) + [leg_message(k) for k in range(10)])  # the legs' clock alone
    outputs = feed(pipeline, pairs(range(150, 200)))
    assert pipeline.health.counters['clocks_disagree'] == 1
    assert outputs and outputs[-1].stamp == DATA.stamps[199]


def test_wild_lengths_are_noticed_and_recovered_from():
    """Centimetres of offset on all legs, another sign each time: named, and back on the truth (S3-35)."""
    pipeline = EstimatorPipeline(SRS, EstimatorConfig(divergence_samples=5))
    feed(pipeline, pairs(range(100)))
    shifted = [('legs', int(DATA.stamps[k]), NAMES, positions(k) + 0.05 * (-1.0) ** k) for k in range(100, 120)]
    feed(pipeline, [m for k in range(100, 120) for m in (imu_message(k), shifted[k - 100])])
    assert {'legs_jumped', 'leg_off_prediction', 'imu_off_prediction'} & set(pipeline.health.counters)
    outputs = feed(pipeline, pairs(range(120, 200)))
    assert np.abs(outputs[-1].motion.position - MOTION.position[-1]).max() < 1e-4


def test_mirror_assembly_is_noticed(pipeline):
    feed(pipeline, pairs(range(50)))
    pipeline.filter.ukf.state[2] *= -1.0
    pipeline.filter.ukf.covariance[:] = np.diag(np.full(15, 1e-2))
    outputs = feed(pipeline, pairs(range(50, 60)))
    assert pipeline.health.counters['wrong_assembly_mode'] + pipeline.health.counters['covariance_lost'] == 1
    assert outputs[-1].motion.position[2] > 2.0


def test_lost_covariance_starts_anew(pipeline):
    feed(pipeline, pairs(range(50)))
    pipeline.filter.covariance[3, 3] = -1.0
    outputs = feed(pipeline, pairs(range(50, 60)))
    assert outputs[0].started
    assert outputs[0].stamp == DATA.stamps[50]  # with the measurement at which it was lost
    assert pipeline.health.counters['covariance_lost'] == 1


def test_reset_on_request(pipeline):
    feed(pipeline, pairs(range(50)))
    pipeline.reset(int(DATA.stamps[49]))
    outputs = feed(pipeline, pairs(range(50, 60)))
    assert outputs[0].started
    assert pipeline.health.counters['reset'] == 1


def test_report_of_a_healthy_window(pipeline):
    outputs = feed(pipeline, pairs(range(200)))
    report = pipeline.health.report()
    assert report.samples == 200
    assert report.imu_rate == pytest.approx(100.0)
    assert report.leg_rate == pytest.approx(100.0)
    assert report.nis_mean == pytest.approx(np.mean([o.innovation.nis for o in outputs[1:]]))
    assert report.convergence_time['position'] == 0.0
    assert 0.0 < report.convergence_time['accelerometer_bias'] < 1.0
    assert summarise(report, 6) == ('ok', 'estimating')
    silent = pipeline.health.report()
    assert summarise(silent, 6)[0] == 'error'


@pytest.mark.parametrize(
    'settings_',
    [
        {'integrator': 'rk5'},
        {'alpha': 1e-4},
        {'start': 'guess'},
        {'q_scale': float('nan')},
        {'printed_start_position': [1.0]},
        {'printed_start_position': None},
        {'reference_point': 1.0},
        {'reference_point': 'abc'},
        {'estimate': 'imu_delay'},
        {'estimate': [['imu_delay']]},
        {'baseline': 'no'},
        {'queue_length': 10.5},
        {'minimum_legs': True},
        {'q_scale': None},
    ],
)
def test_bad_settings_are_named(settings_):
    with pytest.raises(ConfigurationError, match=next(iter(settings_))):
        EstimatorConfig.from_mapping(settings_)


def test_unknown_setting_is_named():
    with pytest.raises(ConfigurationError, match='alhpa'):
        EstimatorConfig.from_mapping({'alhpa': 0.1})
