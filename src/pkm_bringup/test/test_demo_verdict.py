"""The demo's arithmetic: time line, error figures, limits, tables."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from pkm_bringup.demo.aftermath import judge_estimation
from pkm_bringup.demo.criteria import Criterion, estimation_errors
from pkm_bringup.demo.live_errors import LIVE_TOPICS, LiveErrors
from pkm_bringup.demo.run import plan
from pkm_estimation.bags import BagWriter, MissingTopicError, RecordedData, read_bag
from pkm_estimation.bags.messages import open_bag
from pkm_estimation.offline.metrics import attitude_error
from scipy.spatial.transform import Rotation

MACHINE = SimpleNamespace(
    name='srs',
    imu=SimpleNamespace(
        accelerometer_bias=np.array([0.01, -0.02, 0.03]), gyroscope_bias=np.array([1e-3, 2e-3, -1e-3])
    ),
)


def run_bag(
    path: Path, duration: float, position: float = 4e-6, velocity: float = 4e-5, turn: float = 2e-6
) -> Path:
    """Make a bag whose estimate is wrong by known amounts (rms per axis), its baseline three times."""
    rate = 50
    count = int(duration * rate)
    random = np.random.default_rng(1)
    stamps = np.arange(count) * 10**9 // rate
    rotation = Rotation.from_rotvec(random.normal(scale=0.3, size=(count, 3)))
    place, speed = random.normal(size=(count, 3)), random.normal(size=(count, 3))
    signs = np.where(np.arange(count) % 2, 1.0, -1.0)[:, None]
    force, spin = random.normal(size=(count, 3)), random.normal(size=(count, 3))
    with BagWriter(path) as bag:
        bag.write_odometry(stamps, place, rotation.as_quat(), speed, spin)
        for topic, factor in (('platform/odometry', 1.0), ('baseline/odometry', 3.0)):
            # the vector part of a small turn's quaternion is half its angle
            turned = rotation * Rotation.from_rotvec(2.0 * factor * turn * signs * np.ones(3))
            quaternions = turned.as_quat() * signs  # either sign means the same attitude
            bag.write_odometry(
                stamps,
                place + factor * position * signs,
                quaternions,
                speed + factor * velocity * signs,
                spin,
                topic,
            )
        bag.write_imu(stamps, force + MACHINE.imu.accelerometer_bias, spin + MACHINE.imu.gyroscope_bias)
        bag.write_imu(stamps, force - 3e-5 * signs, spin - 2e-5 * signs, topic='imu/data')
    return path


def test_time_line_has_rests_between_the_motions() -> None:
    timeline = plan()
    motions = ['mp1', 'fourier', 'fourier_validation', 'fourier_validation']
    assert [phase.profile for phase in timeline.phases] == motions
    assert [phase.recorded for phase in timeline.phases] == [False, True, True, False]
    for before, after in zip(timeline.phases, timeline.phases[1:], strict=False):
        assert after.start > before.end
    assert timeline.phases[0].start >= 1.0 and timeline.phases[0].end >= 70.0
    assert timeline.phases[-1].end < timeline.end < 150.0
    payload = timeline.phase('payload')
    assert payload.start + 5.0 < payload.drop < payload.end - 9.0
    assert timeline.at(timeline.phase('excitation').start + 1.0) is timeline.phase('excitation')
    assert timeline.at(0.0) is None and timeline.at(timeline.phase('tracking').end) is None
    with pytest.raises(ValueError, match='tracking motion = 1.0 s'):
        plan(tracking=1.0)


def test_attitude_error_is_that_of_the_shorter_turn() -> None:
    random = np.random.default_rng(2)
    truth, angles = Rotation.random(200, random_state=3), random.uniform(-3.1, 3.1, size=(200, 1))
    axes = random.normal(size=(200, 3))
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    signs = random.choice([-1.0, 1.0], size=(200, 1))
    found = attitude_error(truth.as_quat(), (truth * Rotation.from_rotvec(angles * axes)).as_quat() * signs)
    np.testing.assert_allclose(found, np.sin(0.5 * angles) * axes, atol=1e-14)


def test_known_errors_are_measured(tmp_path: Path) -> None:
    data = read_bag(run_bag(tmp_path / 'run', 70.0))
    criteria, window = judge_estimation(data, MACHINE, 70.0)
    assert window == (20.0, 70.0)
    values = {criterion.what: criterion for criterion in criteria}
    assert values['position error, rms'].value == pytest.approx(4e-6, rel=1e-6)
    assert values['position error, rms'].baseline == pytest.approx(1.2e-5, rel=1e-6)
    assert values['velocity error, rms'].value == pytest.approx(4e-5, rel=1e-6)
    assert values['attitude error, rms (quaternion)'].value == pytest.approx(2e-6, rel=1e-4)
    assert values['velocity, baseline error / estimator error'].value == pytest.approx(3.0, rel=1e-6)
    assert values['accelerometer bias error, rms'].value == pytest.approx(3e-5, rel=1e-6)
    assert values['gyroscope bias error, rms'].value == pytest.approx(2e-5, rel=1e-6)
    assert all(criterion.verdict == 'ok' for criterion in criteria)


@pytest.mark.parametrize(
    ('wrong', 'name'),
    [
        ({'position': 1.1e-5}, 'position error, rms'),
        ({'velocity': 2.1e-4}, 'velocity error, rms'),
        ({'turn': 5.1e-6}, 'attitude error, rms (quaternion)'),
    ],
)
def test_a_broken_limit_fails(tmp_path: Path, wrong: dict[str, float], name: str) -> None:
    criteria, _ = judge_estimation(read_bag(run_bag(tmp_path / 'run', 62.0, **wrong)), MACHINE, 62.0)
    assert [criterion.what for criterion in criteria if criterion.failed] == [name]


def test_a_short_run_is_not_judged_by_settled_limits(tmp_path: Path) -> None:
    criteria, _ = judge_estimation(read_bag(run_bag(tmp_path / 'run', 8.0, position=1.0)), MACHINE, 8.0)
    assert {criterion.verdict for criterion in criteria} == {'not judged'}
    assert all('settle' in criterion.excuse or '60 s' in criterion.excuse for criterion in criteria)


def test_missing_streams_are_named(tmp_path: Path) -> None:
    empty = RecordedData(path='somewhere', topics={'/joint_states': 5})
    with pytest.raises(MissingTopicError, match='ground_truth/odometry.*joint_states'):
        judge_estimation(empty, MACHINE, 70.0)


def test_criterion_directions_and_nan() -> None:
    assert not Criterion('a', 1.0, 2.0).failed and Criterion('a', 3.0, 2.0).failed
    assert not Criterion('a', 3.0, 2.0, at_least=True).failed and Criterion('a', 1.0, 2.0, at_least=True).failed
    assert (
        Criterion('a', float('nan'), 2.0).failed and Criterion('a', float('nan'), 2.0, at_least=True).failed
    )
    assert Criterion('a', 4e-6, 1e-5, 'um', 1e6).required == '<= 10 um'


def test_live_line_shows_the_errors_since_the_last_line(tmp_path: Path) -> None:
    live = LiveErrors(MACHINE)
    with open_bag(run_bag(tmp_path / 'run', 2.0)) as bag:
        for topic, _, data in bag.read({'/' + topic for topic in LIVE_TOPICS}):
            live.add(topic[1:], data)
    live.take_estimator_values({'estimates': '100', 'mean NIS': '5.4'})
    line = live.line(2.0, 'tracking')
    assert line.split() == ['2.0', 'tracking', '4', '(12)', '0.04', '(0.12)', '2', '(6)', '5.4', '0.3', '0.2']
    assert live.line(2.5, '').split()[1:] == ['-', '(-)', '-', '(-)', '-', '(-)', '5.4', '-', '-']


def test_live_line_waits_for_an_estimator_that_is_behind(tmp_path: Path) -> None:
    live, late = LiveErrors(MACHINE), []
    with open_bag(run_bag(tmp_path / 'run', 4.0)) as bag:
        for topic, time, data in bag.read({'/' + topic for topic in LIVE_TOPICS}):
            if time >= 10**9 and topic in ('/platform/odometry', '/imu/data'):
                late.append((topic[1:], data))
            else:
                live.add(topic[1:], data)
    assert live.line(4.0, 'tracking').endswith('estimator 3.0 s behind')
    for topic, data in late:
        live.add(topic, data)
    assert live.line(4.0, 'tracking').split()[2] == '4'


def test_errors_use_common_stamps_only(tmp_path: Path) -> None:
    data = read_bag(run_bag(tmp_path / 'run', 2.0))
    truth = data.require(data.ground_truth, 'truth')
    half = type(truth)(
        **{
            name: getattr(truth, name) if isinstance(getattr(truth, name), str) else getattr(truth, name)[::2]
            for name in truth.__dataclass_fields__
        }
    )
    errors = estimation_errors(truth, half)
    assert not errors.position.any() and not errors.attitude.any()
