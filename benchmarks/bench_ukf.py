"""Time per UKF step, compared with FilterPy's unscented filter on the same model in the same run.

All filters see the same sensor samples of SIMONA on its MP1 motion and do one third-order prediction and one update per
sample. They take turns every few samples, so that load on the machine meets all and each runs with its own data in
the cache. FilterPy calls the models once per sigma point. It runs twice, with the same equations: with this suite's
kernels as plain Python functions, not compiled (``plain_kernels.py``), and with the compiled kernels called point by
point, which shows how much of the speed is the model's.

Recordings go through one compiled loop (``pkm_estimation.kernels.following``). The time of one of its steps includes
all that a measurement meets on its way: the checks of its stamps, the gate of the legs, and the outputs.
"""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import ModuleType

import numpy as np
from filterpy.kalman import MerweScaledSigmaPoints, UnscentedKalmanFilter
from pkm_description.arrays import Array
from pkm_description.loading import load_machine
from pkm_description.machine import Pose
from pkm_description.motion.profiles import mp1, mp1_profile
from pkm_estimation.kernels import steps as compiled_steps
from pkm_estimation.models import STATE_SIZE, EstimatorGeometry, LegLengthModel
from pkm_estimation.models.extra_states import ImuFrame
from pkm_estimation.sensors import SensorConditions, measure, simulate_sensors
from pkm_estimation.stream import EstimatorConfig, PlatformFilter
from pkm_estimation.stream.stretch import Stretch, StretchPipeline
from plain_kernels import uncompiled

Step = Callable[[Array, Array, Array], None]

TARGET_RATIO, TARGET_STEP = 150.0, 0.015e-3
#: samples that one filter processes before it is the next one's turn
TURN = 25
#: samples on which FilterPy must agree
AGREEING = 500
#: measurements that the compiled loop gets at once, and how often
STRETCH, STRETCHES = 100, 60
#: largest difference of any state at the end; the filters' arithmetic differs by the weights' cancellation
STATE_TOLERANCE = 1e-9

DEFAULT = EstimatorConfig()
#: the printed filter, with the default's noise and integrator, so that both can be compared
PRINTED = replace(DEFAULT, filter='paper')
#: another kind of filter on the same model
EXTENDED = replace(DEFAULT, filter='ekf')
#: the same as printed with the printed integrator, where the noise of each step is its own, as FilterPy takes it
EULER = replace(PRINTED, integrator='euler')


class FilterPyFilter:
    """FilterPy's UKF, started like one of ours."""

    def __init__(
        self,
        start: PlatformFilter,
        interval: float,
        propagate: Callable[[Array, float, Array, Array], Array],
        observe: Callable[[Array], Array],
        process_noise: Callable[[Array, float], Array],
    ) -> None:
        config = start.config
        points = MerweScaledSigmaPoints(STATE_SIZE, config.alpha, config.beta, config.kappa)
        self.ukf = UnscentedKalmanFilter(
            STATE_SIZE, len(start.length_covariance), interval, hx=observe, fx=propagate, points=points
        )
        self.ukf.R = start.length_covariance
        self.ukf.x, self.ukf.P = start.state.copy(), start.covariance.copy()
        self._interval, self._process_noise = interval, process_noise

    def step(self, before: Array, after: Array, lengths: Array) -> None:
        """Predict, draw new sigma points as our filter does, update."""
        ukf = self.ukf
        ukf.Q = self._process_noise(ukf.x, self._interval)
        ukf.predict(before=before, after=after)
        ukf.sigmas_f = ukf.points_fn.sigma_points(ukf.x, ukf.P)
        ukf.update(lengths)


def filterpy(
    start: PlatformFilter, interval: float, steps: ModuleType, process: ModuleType, legs: ModuleType
) -> FilterPyFilter:
    """FilterPy on the models of a filter by the kernels of three modules, compiled or not; its chart must stay.

    Its input is linear between two samples, and the noise of each step its own.
    """
    assert isinstance(start.legs, LegLengthModel)
    process_data, legs_data, path = start.process.data, start.legs.data, start.process.data
    if steps is compiled_steps:
        process_data, legs_data = start.process.struct, start.legs.struct
    value, factor = np.empty((1, start.legs.drive_count)), np.zeros((6, STATE_SIZE))

    def propagate(state: Array, duration: float, before: Array, after: Array) -> Array:
        point = state[None].copy()
        path.times[0], path.samples[0], path.samples[1] = duration, after, before
        steps.propagate_all(process_data, point, 0.0, duration)
        return point[0]

    def observe(state: Array) -> Array:
        legs.leg_lengths(legs_data, state[None], 0, value)
        return value[0].copy()

    def process_noise(state: Array, duration: float) -> Array:
        process.noise_factor(process_data, state, duration, factor, 0)
        return factor.T @ factor

    return FilterPyFilter(start, interval, propagate, observe, process_noise)


def compare(steps: int) -> dict[str, float]:
    """Medians [s] of all filters over ``steps`` samples and the largest differences of a state from ours.

    ``wall`` is the default's time by the clock on the wall. All others are processor time: other programs interrupt
    long steps more often than short ones, which would flatter us.
    """
    machine = load_machine('srs')
    # from the middle of the motion; true velocity is unknown to all, so this includes the convergence
    motion = mp1(machine, duration=steps / 100.0 + 21.0)[slice(1000, 1000 + steps + 1)]
    data = measure(machine, motion, seed=1)
    frame = ImuFrame(machine.imu)
    inputs = np.array([frame.to_platform(v) for v in np.hstack([data.specific_force, data.angular_rate])])
    interval = float(motion.time[1] - motion.time[0])

    def started(config: EstimatorConfig) -> PlatformFilter:
        noise = np.diag(machine.leg_sensors.position_noise**2)
        filter_ = PlatformFilter(EstimatorGeometry.from_machine(machine), frame.noise_covariance, noise, config)
        filter_.start_at(Pose(motion.position[0], motion.rotation_base_platform[0]))
        return filter_

    default, printed = started(DEFAULT), started(PRINTED)
    modules = [f'pkm_estimation.kernels.{name}' for name in ('steps', 'process', 'leg_lengths')]
    kernels = uncompiled(modules), [importlib.import_module(name) for name in modules]
    plain, compiled = (filterpy(started(PRINTED), interval, *of) for of in kernels)

    def ours(filter_: PlatformFilter) -> Step:
        def step(before: Array, after: Array, positions: Array) -> None:
            filter_.predict(before, after, interval)
            filter_.update(positions)

        return step

    contestants = {
        'default': ours(default), 'printed': ours(printed), 'filterpy': plain.step, 'filterpy_compiled': compiled.step
    }  # fmt: skip
    measured = dict.fromkeys(contestants, data.drive_positions)
    measured['filterpy'] = measured['filterpy_compiled'] = data.drive_positions + machine.lengths_at_zero
    times, walls = np.empty((len(contestants), steps)), np.empty((len(contestants), steps))
    # loops, because filters are sequential
    for begin in range(0, steps, TURN):
        for row, (name, step) in enumerate(contestants.items()):
            for k in range(begin, min(begin + TURN, steps)):
                at, wall = time.thread_time(), time.perf_counter()
                step(inputs[k], inputs[k + 1], measured[name][k + 1])
                walls[row, k] = time.perf_counter() - wall
                times[row, k] = time.thread_time() - at
    result = dict(zip(contestants, np.median(times, axis=1).tolist(), strict=True))
    result['wall'] = float(np.median(walls[0]))
    euler, peers = started(EULER), [filterpy(started(EULER), interval, *of) for of in kernels]
    for k in range(min(steps, AGREEING)):
        ours(euler)(inputs[k], inputs[k + 1], data.drive_positions[k + 1])
        for peer in peers:
            peer.step(inputs[k], inputs[k + 1], measured['filterpy'][k + 1])
    result['difference'] = float(np.abs(np.array([peer.ukf.x for peer in peers]) - euler.state).max())
    # the default's attitude has other coordinates, so its sigma points lie elsewhere: compared with the claimed errors
    extended = started(EXTENDED)
    for k in range(steps):
        ours(extended)(inputs[k], inputs[k + 1], data.drive_positions[k + 1])
    std = np.sqrt(extended.covariance.diagonal())
    result['default_difference'] = float((np.abs(default.state - extended.state) / std).max())
    return result


def time_in_recordings() -> float:
    """Median time [s] of a measurement of a 1 kHz recording, by the clock on the wall, over stretches."""
    machine = load_machine('srs')
    time_of = 20.0 + np.arange(STRETCH * STRETCHES) / 1000.0
    data = simulate_sensors(machine, mp1_profile(machine, 60.0).evaluate, time_of, SensorConditions(), 7)
    imu, efforts = np.hstack([data.specific_force, data.angular_rate]), np.full((STRETCH, 6), np.nan)
    pipeline, names, times = StretchPipeline(machine, EstimatorConfig(baseline=False)), machine.actuated_joint_names, []
    for begin in range(0, len(imu), STRETCH):
        part = slice(begin, begin + STRETCH)
        stamps, positions = data.stamps[part], data.drive_positions[part]
        start = time.perf_counter()
        outputs = pipeline.add_stretch(Stretch(stamps, imu[part], stamps, names, positions, efforts))
        times.append((time.perf_counter() - start) / STRETCH)
        if outputs is None:  # the first: a filter starts with single samples
            times.clear()
            for k in range(begin, begin + STRETCH):
                stamp = int(data.stamps[k])
                pipeline.add_imu(stamp, data.specific_force[k], data.angular_rate[k])
                pipeline.add_joint_positions(stamp, names, data.drive_positions[k])
    return float(np.median(times))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the comparison; 0 if the targets are met and all filters agree."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--steps', type=int, default=1500, help='samples per filter (default: 1500)')
    result = compare(parser.parse_args(arguments).steps)
    step, ratio = time_in_recordings(), result['filterpy'] / result['default']
    print('UKF step (15 states, three stages, 6 legs), medians:')
    target = f'target {1e3 * TARGET_STEP:.3f}; checks and outputs included'
    print(f'  in a recording, wall         {1e3 * step:7.4f} ms ({target})')
    print(f'  called by itself, wall       {1e3 * result["wall"]:7.4f} ms')
    print(f'  default filter               {1e3 * result["default"]:7.4f} ms processor time')
    print(f'  printed filter               {1e3 * result["printed"]:7.4f} ms')
    times = f'{ratio:.0f} times ours (target {TARGET_RATIO:.0f})'
    print(f'  FilterPy, plain functions    {1e3 * result["filterpy"]:7.4f} ms, {times}')
    fast = result['filterpy_compiled']
    print(f'  FilterPy, compiled functions {1e3 * fast:7.4f} ms, {fast / result["default"]:.0f} times ours')
    difference = result['difference']
    print(f"largest difference of a state, FilterPy and ours by Euler's rule: {difference:.1e} ({STATE_TOLERANCE:.0e})")
    apart = result['default_difference']
    print(f'largest difference, default and extended filter: {apart:.3f} standard deviations (tolerance 0.1)')
    agree = difference <= STATE_TOLERANCE and apart <= 0.1
    return 0 if agree and ratio >= TARGET_RATIO and step <= TARGET_STEP else 1


if __name__ == '__main__':
    raise SystemExit(main())
