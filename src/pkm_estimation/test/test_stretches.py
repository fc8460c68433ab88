"""Samples that are processed in stretches give what the node gives, which gets them one by one, bit by bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from estimated import follow
from pkm_description.loading import load_machine
from pkm_description.machine import Machine
from pkm_description.motion.profiles import drives_profile, mp1_profile
from pkm_estimation.kernels import following
from pkm_estimation.offline.estimate import estimate
from pkm_estimation.offline.result import collect
from pkm_estimation.sensors import SensorConditions, SimulatedData, simulate_sensors
from pkm_estimation.stream import EstimatorConfig
from pkm_estimation.stream.stretch import Stretch, StretchPipeline

SRS = load_machine('srs')


def recorded(
    conditions: SensorConditions, rate: float = 500.0, count: int = 600, machine: Machine = SRS
) -> SimulatedData:
    motion = (mp1_profile if machine.has_closed_form else drives_profile)(machine, 60.0)
    return simulate_sensors(machine, motion.evaluate, 20.0 + np.arange(count) / rate, conditions, 7)


def with_faults(data: SimulatedData) -> SimulatedData:
    """A leg that is off for a while, another that is stuck, a third that is missing."""
    legs = data.drive_positions.copy()
    legs[150:180, 0] += 0.02
    legs[300:360, 1] = legs[300, 1]
    legs[450:460, 2] = np.nan
    return replace(data, drive_positions=legs)


def one_by_one(data: SimulatedData, config: EstimatorConfig, machine: Machine = SRS) -> object:
    pipeline, outputs = follow(machine, data, config)
    return collect(outputs, pipeline.health.report())


def assert_same(one: object, other: object, ignored: tuple[str, ...] = ()) -> None:
    for name, value in vars(one).items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(value, getattr(other, name), err_msg=name)
        elif hasattr(value, '__dict__'):
            assert_same(value, getattr(other, name), ignored)
        elif name not in ignored:
            assert value == getattr(other, name), name


@pytest.mark.parametrize(
    ('conditions', 'faults', 'config'),
    [
        (SensorConditions(), False, EstimatorConfig()),
        (SensorConditions(), True, EstimatorConfig(maximum_imu_gap=0.05)),
        (
            SensorConditions(imu_loss=0.1, leg_loss=0.1, imu_gaps=((0.5, 0.65),), leg_gaps=((0.8, 0.9),)),
            False,
            EstimatorConfig(imu_delay=0.0031, maximum_leg_gap=0.05, gyroscope_bias_walk=1e-3),
        ),
        (SensorConditions(leg_loss=0.1), True, EstimatorConfig(adapt_noise='q_and_r')),
        (SensorConditions(imu_loss=0.1), True, EstimatorConfig(estimate=('imu_delay', 'leg_offsets'))),
        (SensorConditions(burst_std=2e-3, burst_period=0.8, burst_duration=0.2), True, EstimatorConfig(filter='paper')),
    ],
)
def test_stretches_give_every_bit_of_single_samples(
    conditions: SensorConditions, faults: bool, config: EstimatorConfig
) -> None:
    data = with_faults(recorded(conditions)) if faults else recorded(conditions)
    config = replace(config, baseline=False)
    in_stretches, single = estimate(SRS, data, config), one_by_one(data, config)
    # what is named estimated is a tuple of arrays, and events are compared without the order of topics
    assert_same(in_stretches, single, ignored=('estimated', 'extra_states'))
    assert in_stretches.health.events == single.health.events


def test_stretches_of_other_legs() -> None:
    machine = load_machine('valencia_3rps')
    data, config = recorded(SensorConditions(), 500.0, 100, machine), EstimatorConfig(baseline=False)
    assert_same(estimate(machine, data, config), one_by_one(data, config, machine), ('estimated', 'extra_states'))


def test_ordinary_samples_are_followed_in_few_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    data = recorded(SensorConditions(), 1000.0, 2000)
    original = following.follow

    def counted(*arguments: object) -> int:
        calls.append(original(*arguments))
        return calls[-1]

    monkeypatch.setattr('pkm_estimation.tracking.follower.follow', counted)
    estimate(SRS, data, EstimatorConfig(baseline=False))
    assert sum(calls) > 0.97 * len(data.stamps)
    assert max(calls) > 15


def test_what_needs_a_decision_is_no_stretch() -> None:
    data, pipeline = recorded(SensorConditions()), StretchPipeline(SRS, EstimatorConfig(baseline=False))
    imu, names = np.hstack([data.specific_force, data.angular_rate]), SRS.actuated_joint_names
    unknown = np.full(data.drive_positions.shape, np.nan)
    good = Stretch(data.stamps[:50], imu[:50], data.stamps[:50], names, data.drive_positions[:50], unknown[:50])
    assert pipeline.add_stretch(good) is None  # it is not started
    for k in range(50):
        pipeline.add_imu(int(data.stamps[k]), imu[k, :3], imu[k, 3:])
        pipeline.add_joint_positions(int(data.stamps[k]), names, data.drive_positions[k])
    before, counters = pipeline.filter.snapshot(), dict(pipeline.health.counters)
    rest = slice(50, 100)
    good = Stretch(data.stamps[rest], imu[rest], data.stamps[rest], names, data.drive_positions[rest], unknown[rest])
    swapped, far = good.leg_stamps.copy(), good.positions.copy()
    swapped[[7, 8]] = swapped[[8, 7]]
    far[20, 3] = 9.0
    broken = good.imu.copy()
    broken[3, 4] = np.nan
    for bad in (
        good._replace(leg_stamps=swapped),
        good._replace(imu_stamps=good.imu_stamps + 10**10),
        good._replace(positions=far),
        good._replace(imu=broken),
        good._replace(names=('unknown', *names[1:])),
    ):
        assert pipeline.add_stretch(bad) is None
        assert pipeline.health.counters == counters
        for one, other in zip(pipeline.filter.snapshot()[:2], before[:2], strict=True):
            np.testing.assert_array_equal(one, other)
    outputs = pipeline.add_stretch(good)
    assert outputs is not None
    assert sum(len(item) if hasattr(item, '__len__') else 1 for item in outputs) == 50
