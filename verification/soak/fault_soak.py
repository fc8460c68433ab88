"""The estimator under random faults of legs, IMU, stamps and messages: no crash, finite numbers, valid covariances."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from pkm_description.arrays import Array
from pkm_description.machine import Machine
from pkm_description.motion.profiles import mp1
from pkm_estimation.sensors import ImuFault, measure
from pkm_estimation.sensors.imu_faults import IMU_FAULTS
from pkm_estimation.stream import EstimatorConfig, EstimatorOutput, EstimatorPipeline

from verification.consistency.faulty_leg import LEG_FAULTS, FaultyLeg

#: s, period of MP1, and Hz
PERIOD, RATE = 5.0, 100.0
#: mean number of samples between faults in one phase after the other, how many samples a phase has, the longest fault:
#: an IMU that failed again and again is not used again before a long time without faults
_BETWEEN, _PHASE, _LONGEST = (150, 150, 150, 1500), 4000, 100

ALL_LEGS_FAULTS = ('burst', 'jump', 'all_stuck', 'shuffled_names', 'twice_the_same_name', 'too_few', 'wrong_count')
SAMPLE_FAULTS = ('imu_spike', 'imu_nan', 'imu_stuck', 'imu_huge', 'imu_lost')
#: what a sensor or its driver does to all samples, by its name there
SENSOR_FAULTS = {f'imu_{kind}': kind for kind in IMU_FAULTS if kind != 'frozen'}
STAMP_FAULTS = (
    'zero', 'repeated', 'backward', 'far_future', 'legs_lost', 'imu_gap', 'jitter', 'clock_reset', 'late_legs',
    'late_imu',
)  # fmt: skip
ALL_FAULTS = LEG_FAULTS + ALL_LEGS_FAULTS + SAMPLE_FAULTS + tuple(SENSOR_FAULTS) + STAMP_FAULTS
#: part of the largest angular rate at which the IMU clips; no file says so
_CLIPPED = 0.7
#: s, standard deviation of stamps that jitter
_JITTER = 3e-4


@dataclass(frozen=True)
class SoakResult:
    """Counts and errors of a run.

    Attributes
    ----------
    steps, outputs : leg measurements sent, estimates given
    faults : how often each fault began
    not_finite : estimates with a number that is not finite
    not_positive : estimates after which the filter's covariance was not positive definite
    largest_error : m, position, of estimates without a fault in the last two seconds
    typical_error : m, root mean square of the same
    largest_normalised : the largest of the same in standard deviations that are claimed (Mahalanobis distance)
    counters : the estimator's own
    """

    steps: int
    outputs: int
    faults: dict[str, int]
    not_finite: int
    not_positive: int
    largest_error: float
    typical_error: float
    largest_normalised: float
    counters: dict[str, int]


class _Messages:
    """Noisy messages of a periodic motion, with faults."""

    def __init__(self, machine: Machine, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.names = list(machine.actuated_joint_names)
        count = round(PERIOD * RATE)
        self.motion = mp1(machine, duration=30.0, rate=RATE)[slice(2 * count, 3 * count)]  # after its fade in
        ideal = measure(machine, self.motion, seed=None)
        self.positions = ideal.drive_positions
        self.imu = np.hstack([ideal.specific_force, ideal.angular_rate])
        self._leg_noise = machine.leg_sensors.position_noise
        self._imu_noise = np.concatenate([machine.imu.accelerometer_noise, machine.imu.gyroscope_noise])
        rotation = self.motion.rotation_base_platform @ machine.imu.rotation_platform_imu
        self._gravity = machine.gravity @ rotation
        self._ranges = np.inf, float(_CLIPPED * np.abs(ideal.angular_rate).max())
        self._ends = np.array([(j.limits.lower, j.limits.upper) for j in machine.actuated_joints])
        self.fault = ''
        self._leg, self._other, self._size = 0, 1, 0.0

    def begin(self, fault: str, index: int) -> None:
        """Choose legs and sizes of a fault."""
        self.fault = fault
        self._leg, self._other = self.random.choice(len(self.names), 2, replace=False)
        self._size = self.random.choice([-1.0, 1.0]) * 10.0 ** self.random.uniform(-4.0, -0.5)
        self._value, self._imu_value = self.positions[index].copy(), self.imu[index].copy()

    def legs(self, index: int) -> tuple[list[str], Array]:
        """Names and positions."""
        random, fault, leg, size = self.random, self.fault, self._leg, self._size
        names = list(self.names)
        x = self.positions[index] + self._leg_noise * random.normal(size=len(names))
        if fault in LEG_FAULTS:
            faulty = FaultyLeg(fault, leg, self._other, size, self._value[leg], self._ends[leg, 1])
            return faulty.spoil(names, x, random)
        if fault == 'burst':
            x += abs(size) * random.normal(size=len(x))
        elif fault == 'jump':
            x += size
        elif fault == 'all_stuck':
            x = self._value.copy()
        elif fault == 'shuffled_names':
            order = random.permutation(len(names))
            names, x = [names[k] for k in order], x[order]
        elif fault == 'twice_the_same_name':
            names[0] = names[1]
        elif fault == 'too_few':
            names, x = names[:2], x[:2]
        elif fault == 'wrong_count':
            x = x[:-1]
        return names, x

    def inertial(self, index: int) -> Array:
        """IMU sample (6,)."""
        random, fault = self.random, self.fault
        value = self.imu[index] + self._imu_noise * random.normal(size=6)
        if fault == 'imu_spike' and random.random() < 0.1:
            value += 100.0 * random.normal(size=6)
        elif fault == 'imu_nan':
            value[random.integers(6)] = np.nan
        elif fault == 'imu_stuck':
            value = self._imu_value.copy()
        elif fault == 'imu_huge':
            value = 1e6 * random.normal(size=6)
        elif fault in SENSOR_FAULTS:
            failure = ImuFault(SENSOR_FAULTS[fault], ranges=self._ranges)
            value = failure.apply(value[None], np.zeros(1), self._gravity[index : index + 1])[0]
        return value


def soak(
    machine: Machine,
    steps: int,
    seed: int = 0,
    config: EstimatorConfig | None = None,
    progress: Callable[[int], None] | None = None,
    pace: int = 1,
) -> SoakResult:
    """Feed ``steps`` leg measurements with IMU samples and random faults; exceptions are passed on.

    Faults come in random order, each kind once before one comes again. ``pace``: so many times as often and as short.
    """
    config = config or EstimatorConfig(baseline=False, history=0.1, divergence_samples=20)
    pipeline, messages = EstimatorPipeline(machine, config), _Messages(machine, seed)
    random, interval, count = messages.random, round(1e9 / RATE), len(messages.motion)
    truth: dict[int, Array] = {}
    began: Counter[str] = Counter()
    ahead: list[str] = []
    delayed: list[tuple[int, Callable[[], list[EstimatorOutput]]]] = []
    stamp, left, healthy_since, clean_from = 10**9, 0, 0, 0
    outputs = not_finite = not_positive = judged = 0
    largest = squares = normalised = 0.0

    for step in range(steps):
        index, stamp = step % count, stamp + interval
        if left == 0 and messages.fault:
            messages.fault, healthy_since = '', step
        if left == 0 and random.random() * _BETWEEN[pace * step // _PHASE % len(_BETWEEN)] < pace:
            ahead = ahead or [str(name) for name in random.permutation(ALL_FAULTS)]
            fault, left = ahead.pop(), int(random.integers(1, _LONGEST // pace))
            began[fault] += 1
            messages.begin(fault, index)
            if fault == 'clock_reset':
                stamp = 10**9 + int(random.integers(10**9))
                truth.clear()
        left = max(0, left - 1)
        fault = messages.fault
        clean_from = healthy_since + round(2.0 * RATE)
        truth[stamp] = messages.motion.position[index]
        truth.pop(stamp - 100 * interval, None)
        leg_stamp = imu_stamp = stamp
        if fault in ('zero', 'repeated', 'backward', 'far_future') and random.random() < 0.5:
            wrong = {'zero': 0, 'repeated': stamp - interval, 'backward': stamp - 7 * interval}.get(fault, 4 * 10**18)
            leg_stamp, imu_stamp = (wrong, stamp) if random.random() < 0.5 else (stamp, wrong)
        if fault == 'jitter':
            leg_stamp, imu_stamp = (stamp + round(1e9 * _JITTER * random.normal()) for _ in range(2))
            truth[leg_stamp] = messages.motion.position[index]
        value, (names, x) = messages.inertial(index), messages.legs(index)

        def add_imu(at: int = imu_stamp, value: Array = value) -> list[EstimatorOutput]:
            return pipeline.add_imu(at, value[:3], value[3:])

        def add_legs(at: int = leg_stamp, names: list[str] = names, x: Array = x) -> list[EstimatorOutput]:
            return pipeline.add_joint_positions(at, names, x)

        calls: list[Callable[[], list[EstimatorOutput]]] = []
        add: Callable[[], list[EstimatorOutput]]
        for add, lost, late in ((add_imu, 'imu_lost', 'late_imu'), (add_legs, 'legs_lost', 'late_legs')):
            if (fault == lost and random.random() < 0.7) or (fault == 'imu_gap' and lost == 'imu_lost'):
                continue
            wait = int(random.integers(0, 15)) if fault == late else 0
            if wait:
                delayed.append((step + wait, add))
            else:
                calls.append(add)
        calls += [add for due, add in delayed if due <= step]
        delayed = [(due, add) for due, add in delayed if due > step]
        for add in calls:
            for output in add():
                outputs += 1
                finite = _is_finite(output)
                not_finite += not finite
                if finite and not messages.fault and step > clean_from and output.stamp in truth:
                    off = output.motion.position - truth[output.stamp]
                    error = float(np.linalg.norm(off))
                    largest, squares, judged = max(largest, error), squares + error * error, judged + 1
                    spread = output.motion.pose_covariance[:3, :3]
                    normalised = max(normalised, float(off @ np.linalg.lstsq(spread, off)[0]) ** 0.5)
            if pipeline.tracker.now is not None:
                not_positive += not _is_positive(pipeline.filter.covariance)
        if progress is not None and step % (steps // 100 + 1) == 0:
            progress(step)
    typical = (squares / max(1, judged)) ** 0.5
    counters = dict(pipeline.health.counters)
    return SoakResult(steps, outputs, dict(began), not_finite, not_positive, largest, typical, normalised, counters)


def _is_finite(output: EstimatorOutput) -> bool:
    motion = output.motion
    return all(
        bool(np.isfinite(values).all())
        for values in (
            motion.position,
            motion.orientation,
            motion.velocity,
            motion.angular_velocity,
            motion.pose_covariance,
            motion.twist_covariance,
            output.state,
            output.state_std,
        )
    )


def _is_positive(covariance: Array) -> bool:
    try:
        np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        return False
    return bool(np.isfinite(covariance).all())
