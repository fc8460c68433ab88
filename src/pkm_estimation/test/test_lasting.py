"""Innovations that are wrong for seconds raise an alarm, and the cause is named with what mends it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pkm_description.arrays import Array
from pkm_description.kernels.jit import compiled_kernels
from pkm_description.loading import load_machine
from pkm_description.machine import Machine, PlatformMotion
from pkm_description.motion.coordinates import motion_from_coordinates
from pkm_description.motion.profiles import drives_profile
from pkm_estimation.offline.estimate import estimate
from pkm_estimation.sensors import SensorConditions, SimulatedData, simulate_sensors
from pkm_estimation.stream import EstimatorConfig, EstimatorPipeline, lasting, ranking
from pkm_estimation.stream import replay as stream_replay
from pkm_estimation.stream.blocks import LARGE, Block, excess, lasting_excess
from pkm_estimation.stream.causes import Model, causes
from pkm_estimation.stream.health import HealthMonitor, LikelyCause
from pkm_estimation.stream.lasting import LastingTest
from pkm_estimation.stream.ranking import Ranking
from pkm_estimation.stream.replay import Replayed, Window, completed, replay, replay_config, replaying
from pkm_estimation.stream.verdict import summarise

SRS = load_machine('srs')
CONFIG = EstimatorConfig(baseline=False)
KEPT = replace(CONFIG, legs_alone=False)  # the IMU is not left out
RATE = 100.0
#: its IMU is four times as noisy as the file says
NOISY = replace(
    SRS,
    imu=replace(
        SRS.imu, accelerometer_noise=4.0 * SRS.imu.accelerometer_noise, gyroscope_noise=4.0 * SRS.imu.gyroscope_noise
    ),
)


def swinging(seed: int, time: Array) -> PlatformMotion:
    """Sines of 0.42 to 0.5 Hz of all six coordinates, 0.06 m and 0.06 rad."""
    rates = np.pi * np.array([1.0, 0.93, 0.87, 0.97, 0.9, 0.83])
    angles = np.multiply.outer(np.asarray(time), rates) + np.random.default_rng(seed).uniform(0.0, 2.0 * np.pi, 6)
    coordinates = 0.06 * np.sin(angles)
    return motion_from_coordinates(
        np.asarray(time), coordinates, 0.06 * rates * np.cos(angles), -(rates**2) * coordinates, SRS.home
    )


def jerking(seed: int, time: Array) -> PlatformMotion:
    """The same with accelerations along the axes that jump by 0.1 m/s^2 two to four times a second, as by dry friction.

    Velocities are triangles, positions parabolas; where between two samples a jump is differs each time.
    """
    rates, phases = np.array([1.37, 1.71, 2.13]), np.random.default_rng(seed).uniform(size=3)
    turn = (np.multiply.outer(np.asarray(time), rates) + phases) % 1.0
    sign, part = np.where(turn < 0.5, 1.0, -1.0), turn % 0.5
    smooth, size = swinging(seed, time), 0.05
    added = [size / rates**2 * sign * (0.5 * part**2 - 0.25 * part), size / rates * sign * (part - 0.25), size * sign]
    names = ('position', 'linear_velocity', 'linear_acceleration')
    return replace(smooth, **{name: getattr(smooth, name) + more for name, more in zip(names, added, strict=True)})


def measured(
    duration: float,
    seed: int = 0,
    machine: Machine = SRS,
    slow_down: float = 0.0,
    motion: Callable[[int, Array], PlatformMotion] = swinging,
    **conditions: object,
) -> SimulatedData:
    """``slow_down``: how much slower the clock of the IMU runs."""
    time = np.arange(round(duration * RATE)) / RATE
    errors = SensorConditions(**conditions)  # type: ignore[arg-type]
    data = simulate_sensors(machine, lambda at: motion(seed, at), time, errors, seed)
    if slow_down:
        late = simulate_sensors(
            machine, lambda at: swinging(seed, (1.0 - slow_down) * np.asarray(at)), time, errors, seed
        )
        data = replace(data, specific_force=late.specific_force, angular_rate=late.angular_rate)
    return data


def drifting(data: SimulatedData, leg: int, speed: float) -> SimulatedData:
    positions = data.drive_positions.copy()
    positions[:, leg] += speed * np.arange(len(positions)) / RATE
    return replace(data, drive_positions=positions)


def walking(data: SimulatedData, seed: int = 3) -> SimulatedData:
    steps = np.random.default_rng(seed).normal(size=(len(data.stamps), 6)) / RATE**0.5
    biases = np.cumsum(steps * np.repeat([3e-4, 2e-5], 3), axis=0)
    force, rate = data.specific_force + biases[:, :3], data.angular_rate + biases[:, 3:]
    return replace(data, specific_force=force, angular_rate=rate)


def scaled(data: SimulatedData, factor: float) -> SimulatedData:
    return replace(data, specific_force=factor * data.specific_force)


@pytest.mark.parametrize(
    ('make', 'name', 'mend'),
    [
        (lambda: measured(13.0, imu_delay=0.012), 'delay of the IMU', 'imu_delay: 0.0120'),
        pytest.param(
            lambda: measured(13.0, imu_misalignment=(0.0, 0.035, 0.0)), 'mounting of the IMU', 'sensors.imu.rpy: [',
            marks=pytest.mark.campaign,
        ),
        (lambda: measured(18.0, machine=replace(SRS, gravity=1.005 * SRS.gravity)), 'gravity', 'gravity: [0, 0, -9.85'),
        (lambda: walking(measured(20.0)), 'bias walk', 'accelerometer_bias_walk: 0.0003'),
        (lambda: drifting(measured(18.0), 1, 1e-4), 'drift of leg2', 'leg_offset_walk'),
        (lambda: measured(18.0, leg_offsets=(0.0, 0.0, 0.005, 0.0, 0.0, 0.0)), 'offset of leg3', 'leg_offsets'),
        pytest.param(
            lambda: measured(60.0, slow_down=2e-5), 'clock skew', 'imu_delay_walk: 2e-05', marks=pytest.mark.campaign
        ),
        (lambda: measured(20.0, motion=jerking), 'motion between the samples of the IMU', 'a faster IMU'),
        (lambda: measured(13.0, machine=NOISY), 'noise of the IMU', 'q_scale: '),
        pytest.param(
            lambda: scaled(measured(13.0), 1.01), 'scale or units of the accelerometer', 'the samples times 0.99',
            marks=pytest.mark.campaign,
        ),
    ],
    ids=['delay', 'mounting', 'gravity', 'walk', 'drift', 'offset', 'skew', 'jumps', 'noise', 'scale'],
)
def test_causes_are_named_with_what_mends_them(make: Callable[[], SimulatedData], name: str, mend: str) -> None:
    result = estimate(SRS, make(), CONFIG)
    first = result.health.findings[0]
    assert first.name == name
    assert mend in first.mend
    assert first.nis < 6.6
    level, sentence = summarise(result.health, 6)
    assert level == 'warn'
    assert sentence.startswith(('over-confident: ', 'left out: IMU: ', 'the IMU was left out: '))
    assert name in sentence
    assert mend in sentence


def test_good_data_raise_no_alarm() -> None:
    """Two minutes; see docs/limits.md for hours."""
    result = estimate(SRS, measured(120.0, 5), CONFIG)
    assert not result.health.lasting
    assert 'over_confident' not in result.health.counters
    assert summarise(result.health, 6)[0] == 'ok'


@pytest.mark.campaign
def test_small_excess_that_lasts_is_an_alarm_where_a_cause_explains_it() -> None:
    """Half a millimetre: the NIS hardly rises, the pose is wrong by fifty times what is claimed."""
    data = measured(70.0, leg_offsets=(5e-4, 0.0, 0.0, 0.0, 0.0, 0.0))
    result = estimate(SRS, data, CONFIG)
    assert np.nanmean(result.nis) < 1.1 * 6.0
    truth = swinging(0, (result.motion.stamps - data.stamps[0]) * 1e-9)
    assert np.abs(result.motion.position - truth.position).max() > 2e-4
    assert result.health.findings[0].name == 'offset of leg1'
    assert result.health.findings[0].size.startswith(('+0.4', '+0.5'))
    assert 'offset of leg1' in summarise(result.health, 6)[1]


def blocks(scales: Sequence[float], seed: int = 0) -> list[Block]:
    """Of half a second each; the means of their innovations are so many times those of white ones."""
    random, made = np.random.default_rng(seed), []
    for place, scale in enumerate(scales):
        stamps = (np.arange(50) + 50 * place) * 10_000_000
        white = random.normal(size=(50, 6))
        white += (scale - 1.0) * white.mean(axis=0)
        made.append(Block.of(stamps, np.zeros((50, 6)), white, np.ones((50, 6)), np.square(white).sum(axis=1)))
    return made


def test_small_excess_must_last() -> None:
    """Scatter of 1.3 squared: none that matters by itself; beyond chance in a minute; over where it is over."""
    names = SRS.drive_labels
    small = blocks([1.3] * 120)
    assert not excess(small, names, LARGE)
    assert 'means of 50 innovations scatter 1.' in lasting_excess(small, names)
    assert not lasting_excess(blocks([1.3] * 60 + [1.0] * 60), names)
    assert not any(lasting_excess(blocks([1.0] * 120, seed), names) for seed in range(60))
    assert excess(blocks([1.5] * 40), names, LARGE)


def test_colour_of_innovations_that_are_smaller_than_claimed_is_no_alarm_with_estimated_constants() -> None:
    """Errors that last count as more noise of each sample then, so that innovations are small and not white."""
    names, coloured = SRS.drive_labels, blocks([2.5] * 30)
    small = [block._replace(means=0.4 * block.means, products=0.16 * block.products) for block in coloured]
    assert 'as much as white ones' in excess(small, names, LARGE)
    assert not excess(small, names, LARGE, are_white=False)
    assert 'as much as is claimed' in excess(coloured, names, LARGE, are_white=False)


def test_what_constants_of_the_machine_have_is_the_same_for_long() -> None:
    """A tenth of the variance is one error for all samples: its claim is right, and a larger error still an alarm."""
    random, names, stamps = np.random.default_rng(4), SRS.drive_labels, np.arange(50) * 10_000_000
    for size, is_alarm in ((1.0, False), (8.0, True)):
        lasting, made = size * np.sqrt(0.1) * random.choice([-1.0, 1.0], 6), []
        for place in range(40):
            residual = np.sqrt(0.9) * random.normal(size=(50, 6)) + lasting
            nis = np.square(residual).sum(axis=1)
            found = stamps + 50 * 10_000_000 * place, np.zeros((50, 6)), residual, np.ones((50, 6)), nis
            made.append(Block.of(*found, np.full((50, 6), 0.1)))
        assert bool(excess(made, names, LARGE)) == is_alarm
        assert excess([block._replace(shared=np.zeros(6)) for block in made], names, LARGE)


@pytest.mark.parametrize('name', ['srs', 'delta'])
def test_constants_that_are_being_found_raise_no_alarm(name: str) -> None:
    """Before: means of 50 innovations scatter 2 to 4 times as much as white ones, while the NIS was 0.4 of 6."""
    machine = load_machine(name)
    evaluate, time = drives_profile(machine, 30.0).evaluate, 5.0 + np.arange(1500) / 100.0
    wrong = SensorConditions(imu_misalignment=(0.01, -0.008, 0.012), imu_delay=0.004)
    data = simulate_sensors(machine, evaluate, time, wrong, 1)
    result = estimate(machine, data, EstimatorConfig(baseline=False, estimate=('imu_delay', 'imu_rotation')))
    assert 'over_confident' not in result.health.counters


def test_an_imu_without_legs_fills_no_memory() -> None:
    pipeline = EstimatorPipeline(SRS, CONFIG)
    for k in range(200):
        pipeline.add_imu(10**9 * (k + 1) - k, np.array([0.0, 0.0, 9.81]), np.zeros(3))
    assert len(pipeline.lasting._imu) <= 121


@pytest.mark.campaign
def test_clock_skew_is_followed_by_a_delay_that_walks() -> None:
    """20 ppm for 60 s: position within its claim only if the delay may walk."""
    data, squares = measured(60.0, slow_down=2e-5), {}
    for walk in (0.0, 2e-5):
        result = estimate(SRS, data, replace(KEPT, estimate=('imu_delay',), imu_delay_walk=walk))
        late = result.motion.stamps > data.stamps[0] + 20_000_000_000
        truth = swinging(0, (result.motion.stamps[late] - data.stamps[0]) * 1e-9)
        error = result.motion.position[late] - truth.position
        information = np.linalg.inv(result.motion.pose_covariance[late, :3, :3])
        squares[walk] = np.einsum('ni,nij,nj->n', error, information, error).mean()
    assert squares[2e-5] < 4.5  # of 3
    assert squares[0.0] > 10.0


def fed(pipeline: EstimatorPipeline, data: SimulatedData, begin: float, end: float) -> Iterator[None]:
    """Hand over the samples of a time [s] one by one, as a node gets them."""
    for k in range(round(begin * RATE), round(end * RATE)):
        stamp = data.stamps.item(k)
        pipeline.add_imu(stamp, data.specific_force[k], data.angular_rate[k])
        yield
        pipeline.add_joint_positions(stamp, SRS.actuated_joint_names, data.drive_positions[k])
        yield


@pytest.fixture
def portions(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """What the portions of replays cost, as they are run."""
    costs: list[int] = []

    def counted(*model: Any) -> Generator[int, None, Replayed | None]:
        steps = replaying(*model)
        while True:
            try:
                costs.append(next(steps))
            except StopIteration as end:
                result: Replayed | None = end.value
                return result
            yield costs[-1]

    monkeypatch.setattr(ranking, 'replaying', counted)
    return costs


def test_live_says_at_the_same_measurement_what_offline_says(portions: list[int]) -> None:
    """And between two samples at most one portion of a replay is run."""
    data = measured(40.0, imu_delay=0.003)
    offline = estimate(SRS, data, KEPT).health
    everything, portions[:] = list(portions), []
    pipeline = EstimatorPipeline(SRS, KEPT)
    before = 0
    for _ in fed(pipeline, data, 0.0, 40.0):
        assert len(portions) <= before + 1
        before = len(portions)
    assert portions == everything
    assert len(portions) > 200
    assert max(portions) < 2500  # units: a replay has more than five thousand
    live = pipeline.health.report()
    assert [event.name for event in live.events] == ['started', 'over_confident', 'over_confident_because']
    assert live.events == offline.events
    assert live.lasting == offline.lasting
    assert live.findings == offline.findings
    assert live.findings[0].name == 'delay of the IMU'


@pytest.mark.campaign
def test_live_says_at_the_same_measurement_why_the_imu_is_left_out() -> None:
    data = measured(40.0, imu_delay=0.012)
    offline = estimate(SRS, data, CONFIG).health
    pipeline = EstimatorPipeline(SRS, CONFIG)
    for _ in fed(pipeline, data, 0.0, 40.0):
        pass
    live = pipeline.health.report()
    assert [event.name for event in live.events] == ['started', 'imu_off_prediction', 'imu_off_because']
    assert live.events == offline.events
    assert live.imu_because == offline.imu_because
    assert live.imu_because.startswith('likeliest cause: delay of the IMU, 12.0')
    assert 'IMU' in live.left_out
    assert live.imu_because in summarise(live, 6)[1]


def test_a_reset_ends_a_ranking_and_a_new_start_does_not(portions: list[int]) -> None:
    data = measured(16.0, imu_delay=0.003)
    pipeline = EstimatorPipeline(SRS, KEPT)
    for _ in fed(pipeline, data, 0.0, 12.0):
        pass
    assert len(portions) > 10
    pipeline.tracker.reset()
    before = len(portions)
    for _ in fed(pipeline, data, 12.0, 13.0):
        pass
    assert len(portions) > before + 5
    pipeline.reset()
    before = len(portions)
    for _ in fed(pipeline, data, 13.0, 16.0):
        pass
    assert len(portions) == before
    assert [event.name for event in pipeline.health.report().events] == [
        'started', 'over_confident', 'started', 'reset', 'started',
    ]  # fmt: skip


def test_portions_of_a_replay_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    data = measured(10.0, imu_delay=0.003)
    imu = np.hstack([data.specific_force, data.angular_rate])
    window = Window(data.stamps, imu, data.stamps, data.drive_positions, int(data.stamps[0]))
    in_portions = replay(SRS, replay_config(KEPT), window)
    monkeypatch.setattr(stream_replay, '_PORTION', 10**9)
    at_once = replay(SRS, replay_config(KEPT), window)
    assert in_portions is not None
    assert at_once is not None
    np.testing.assert_array_equal(in_portions.white, at_once.white)
    np.testing.assert_array_equal(in_portions.logarithms, at_once.logarithms)


def test_one_pass_gives_the_signatures_of_all_errors_of_the_legs() -> None:
    """Those that a replay for each parameter gives, in a fraction of the replays; joint centres among them."""
    data = measured(6.0, imu_delay=0.003)
    imu = np.hstack([data.specific_force, data.angular_rate])
    window = Window(data.stamps, imu, data.stamps, data.drive_positions, int(data.stamps[0]))
    model = Model(SRS, replay_config(KEPT), window)
    base = replay(*model)
    assert base is not None
    everything = list(causes(SRS))
    at_once = completed(ranking.leg_signatures(model, everything))
    assert len(at_once) == 18
    for cause in everything:
        if cause.name not in ('offset of leg1', 'drift of leg3', 'geometry of leg6'):
            continue
        columns = completed(ranking.signature(model, cause, base, np.zeros(len(cause.steps))))
        assert len(columns) == len(at_once[cause.name]) == len(cause.steps)
        for one, other in zip(at_once[cause.name], columns, strict=True):
            there = np.isfinite(one) & np.isfinite(other)
            assert there.sum() > 3500
            assert np.linalg.norm((one - other)[there]) < 0.03 * np.linalg.norm(other[there])


def test_joint_centres_are_not_moved_by_what_shows_nothing() -> None:
    """A strut that is moved as a whole hardly shows it: a centimetre is not held against innovations of noise."""
    random = np.random.default_rng(0)
    first = random.normal(size=(500, 6))
    columns, white = [first, first + 1e-4 * random.normal(size=(500, 6))], random.normal(size=(500, 6))
    free, _ = ranking.solved(columns, white, np.inf)
    bound, gain = ranking.solved(columns, white, 0.01)
    assert np.abs(free).max() > 1.0
    assert np.abs(bound).max() < 0.05
    assert gain > 0.0
    # a step from what the first one gave ends at the same place
    half = 0.5 * bound
    left = white + sum(column * value for column, value in zip(columns, half, strict=True))
    step, _ = ranking.solved(columns, left, 0.01, half)
    np.testing.assert_allclose(half + step, bound, rtol=1e-9)


def test_the_same_answer_again_and_again_is_asked_for_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an alarm that lasts an hour; by stamps. Another answer is a reason to look again soon."""
    begun: list[int] = []

    def answered(_: Model) -> Generator[int, None, Ranking]:
        begun.append(len(begun))
        yield 1000
        name = 'gravity' if len(begun) < 6 else 'bias walk'
        return Ranking(9.0, (LikelyCause(name, 'large', 'mended', 6.0, 500.0),))

    monkeypatch.setattr(lasting, 'rank', answered)
    health = HealthMonitor(6)
    test, random = LastingTest(SRS, CONFIG, health), np.random.default_rng(0)
    test.add_imus(np.array([0]), np.zeros((1, 6)))
    for half in range(4400):
        stamps, residual = (half * 50 + np.arange(50)) * 10_000_000, 2.0 * random.normal(size=(50, 6))
        test.add_block(SimpleNamespace(  # type: ignore[arg-type]
            epochs=np.zeros(50, dtype=np.int64), stamps=stamps, drive_positions=np.zeros((50, 6)), residual=residual,
            variance=np.ones((50, 6)), nis=np.square(residual).sum(axis=1), shared=np.zeros((50, 6)),
        ))  # fmt: skip
    told = [event.stamp * 1e-9 for event in health.report().events if event.name == 'over_confident_because']
    pauses = np.diff(told)
    assert pauses[:7] == pytest.approx([60.0, 120.0, 240.0, 480.0, 960.0, 60.0, 120.0], abs=2.0)
    assert len(told) == 8


def test_an_alarm_ends_when_the_data_are_good_again() -> None:
    data = measured(80.0)
    late = measured(80.0, imu_delay=0.003)
    force, rate = data.specific_force.copy(), data.angular_rate.copy()
    force[1000:3500], rate[1000:3500] = late.specific_force[1000:3500], late.angular_rate[1000:3500]
    result = estimate(SRS, replace(data, specific_force=force, angular_rate=rate), KEPT)
    assert result.health.counters['over_confident'] >= 1
    assert not result.health.lasting


def test_a_replay_has_white_innovations_where_the_model_is_right() -> None:
    data = measured(20.0)
    imu = np.hstack([data.specific_force, data.angular_rate])
    window = Window(data.stamps, imu, data.stamps, data.drive_positions, int(data.stamps[0]))
    model = Model(SRS, replay_config(KEPT), window)
    result = replay(*model)
    assert result is not None
    white = result.white[result.is_there]
    assert len(white) > 1980
    np.testing.assert_allclose(white.T @ white / len(white), np.eye(6), atol=0.13)
    for cause in causes(SRS):  # parameters of zero change no bit
        same = replay(*cause.apply(model, np.zeros(len(cause.steps))))
        assert same is not None
        np.testing.assert_allclose(same.white[same.is_there], white, atol=1e-4, err_msg=cause.name)


def test_adapted_noise_rescues_a_filter_before_it_is_started_anew() -> None:
    """12 ms late: without adaptation the filter is lost and started again and again."""
    data, errors, starts = measured(30.0, imu_delay=0.012), {}, {}
    for mode in ('off', 'q'):
        result = estimate(SRS, data, replace(KEPT, adapt_noise=mode, rank_causes=False))
        late = result.motion.stamps > data.stamps[0] + 15_000_000_000
        truth = swinging(0, (result.motion.stamps[late] - data.stamps[0]) * 1e-9)
        error = result.motion.position[late] - truth.position
        errors[mode] = np.sqrt(np.square(error).sum(axis=1).mean())
        starts[mode] = int(result.started.sum())
        if mode == 'q':
            information = np.linalg.inv(result.motion.pose_covariance[late, :3, :3])
            # what is wrong is no noise: claims are up to twice too small (measured: 6.4 of 3)
            assert np.einsum('ni,nij,nj->n', error, information, error).mean() < 12.0
    assert starts['off'] > 5
    assert starts['q'] == 1
    assert errors['q'] < 0.1 * errors['off']


def test_a_replay_of_positions_with_gaps_compiles_nothing() -> None:
    """The drives' columns of a window have gaps; compiling would stop a live estimator for half a minute."""
    data = measured(1.0)
    imu = np.hstack([data.specific_force, data.angular_rate])
    found = []
    for spread in (np.asarray, lambda values: np.repeat(values, 2, axis=1)[:, ::2]):
        window = Window(data.stamps, imu, data.stamps, spread(data.drive_positions), int(data.stamps[0]))
        compiled = len(compiled_kernels())
        found.append(replay(*Model(SRS, replay_config(KEPT), window)))
    assert len(compiled_kernels()) == compiled
    np.testing.assert_array_equal(found[0].white, found[1].white)  # type: ignore[union-attr]
