"""Time per UKF step, beside FilterPy's unscented filter on the same model in the same run.

Both filters see the same sensor samples of SIMONA on its MP1 motion and do one Heun prediction and one update per
sample. They take turns every few samples, so that load on the machine meets both and each runs with its own data in
the cache. FilterPy calls the models once per sigma point, with the very same process and measurement code.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

import numpy as np
from filterpy.kalman import MerweScaledSigmaPoints, UnscentedKalmanFilter
from numpy.typing import NDArray
from pkm_description.machine import load_machine
from pkm_description.machine.model import Pose
from pkm_description.mechanism import Mechanism
from pkm_description.motion.profiles import mp1
from pkm_estimation.models import STATE_SIZE, EstimatorGeometry
from pkm_estimation.pipeline import EstimatorConfig, PlatformFilter
from pkm_estimation.pipeline.imu_frame import ImuFrame
from pkm_estimation.sensors import measure

Array = NDArray[np.float64]

TARGET_RATIO, TARGET_STEP = 20.0, 0.15e-3
#: samples that one filter processes before it is the other's turn
TURN = 25
#: largest difference of any state at the end; the filters' arithmetic differs by the weights' cancellation
STATE_TOLERANCE = 1e-9


class FilterPyFilter:
    """FilterPy's UKF around the process and measurement model of a :class:`PlatformFilter`."""

    def __init__(self, ours: PlatformFilter, interval: float) -> None:
        config = ours.config
        self._ours, self._interval = ours, interval
        self._imu_noise_factor: Array = np.linalg.cholesky(ours.imu_covariance).astype(float)
        points = MerweScaledSigmaPoints(STATE_SIZE, config.alpha, config.beta, config.kappa)
        legs = len(ours.length_covariance)
        self.ukf = UnscentedKalmanFilter(
            STATE_SIZE, legs, interval, hx=self._observe, fx=self._propagate, points=points
        )
        self.ukf.R = ours.length_covariance
        self.ukf.x, self.ukf.P = ours.state.copy(), ours.covariance.copy()

    def step(self, before: Array, after: Array, lengths: Array) -> None:
        """Predict, draw sigma points anew as our filter does, update."""
        ukf = self.ukf
        ukf.Q = self._noise()
        ukf.predict(before=before, after=after)
        ukf.sigmas_f = ukf.points_fn.sigma_points(ukf.x, ukf.P)
        ukf.update(lengths)

    def _noise(self) -> Array:
        ours = self._ours
        factor = ours.process.noise_factor(self.ukf.x, self._imu_noise_factor, self._interval)
        return factor @ factor.T

    def _propagate(self, state: Array, duration: float, before: Array, after: Array) -> Array:
        return self._ours.process.propagate(state[:, None].copy(), before, after, duration)[:, 0]

    def _observe(self, state: Array) -> Array:
        return self._ours.legs.observe(state[:, None])[:, 0]


def compare(steps: int) -> dict[str, float]:
    """Medians [s] of both filters over ``steps`` samples, their ratio and the largest difference of a state."""
    machine = load_machine('srs')
    mechanism = Mechanism(machine)
    motion = mp1(machine, duration=max(40.0, steps / 100.0 + 1.0))
    # from the middle of the motion; true velocity is unknown to both, so this includes the convergence
    motion = motion[slice(1000, 1000 + steps + 1)] if len(motion) > 1001 + steps else motion[slice(0, steps + 1)]
    data = measure(mechanism, motion, seed=1)
    frame = ImuFrame(machine.imu)
    inputs = np.array([frame.to_platform(v) for v in np.hstack([data.specific_force, data.angular_rate])])
    ours = PlatformFilter(
        EstimatorGeometry.from_machine(machine),
        frame.noise_covariance,
        np.diag(machine.leg_sensors.position_noise**2),
        EstimatorConfig(),
    )
    ours.start_at(Pose(motion.position[0], motion.rotation_base_platform[0]))
    interval = float(motion.time[1] - motion.time[0])
    theirs = FilterPyFilter(ours, interval)
    times = np.empty((2, steps))

    def our_step(k: int) -> None:
        ours.predict(inputs[k], inputs[k + 1], interval, interval)
        ours.update(data.leg_lengths[k + 1])

    def their_step(k: int) -> None:
        theirs.step(inputs[k], inputs[k + 1], data.leg_lengths[k + 1])

    # loops, because filters are sequential
    for begin in range(0, steps, TURN):
        for row, step in enumerate((our_step, their_step)):
            for k in range(begin, min(begin + TURN, steps)):
                started = time.perf_counter()
                step(k)
                times[row, k] = time.perf_counter() - started
    median = np.median(times, axis=1)
    return {
        'step': float(median[0]),
        'filterpy_step': float(median[1]),
        'ratio': float(median[1] / median[0]),
        'largest_difference': float(np.abs(ours.state - theirs.ukf.x).max()),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the comparison; 0 if the targets are met and both filters agree."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--steps', type=int, default=1500, help='samples per filter (default: 1500)')
    result = compare(parser.parse_args(arguments).steps)
    print(f'UKF step (15 states, Heun, 6 legs): {1e3 * result["step"]:.3f} ms median (target {1e3 * TARGET_STEP:.2f})')
    print(f'FilterPy, same model:               {1e3 * result["filterpy_step"]:.3f} ms median')
    print(f'ratio: {result["ratio"]:.1f} (target {TARGET_RATIO:.0f})')
    print(f'largest difference of a state: {result["largest_difference"]:.1e} (tolerance {STATE_TOLERANCE:.0e})')
    agree = result['largest_difference'] <= STATE_TOLERANCE
    return 0 if agree and result['ratio'] >= TARGET_RATIO and result['step'] <= TARGET_STEP else 1


if __name__ == '__main__':
    raise SystemExit(main())
