"""Quintic Hermite interpolation of a sampled motion, in position and on SO(3)."""

from __future__ import annotations

import numpy as np

from pkm_description.arrays import Array
from pkm_description.kinematics.rotation import rotation_exp, rotation_log
from pkm_description.machine import PlatformMotion
from pkm_description.motion.coordinates import angular_motion, left_jacobian, left_jacobian_rate


class QuinticInterpolator:
    """Interpolates pose, velocity and acceleration of all samples exactly; twice continuously differentiable.

    Within an interval the attitude is ``exp(theta(t)) R_0`` with a quintic rotation vector, so that
    successive samples must be less than half a turn apart. Outside the samples the end pose is held, at rest.

    Parameters
    ----------
    motion : at least two samples, strictly increasing times
    """

    def __init__(self, motion: PlatformMotion) -> None:
        if len(motion) < 2 or not np.all(np.diff(motion.time) > 0.0):
            raise ValueError('interpolation needs at least two samples with strictly increasing times')
        self.motion = motion
        step = np.diff(motion.time)
        rotation = motion.rotation_base_platform
        turn = rotation_log(rotation[1:] @ np.swapaxes(rotation[:-1], 1, 2))
        zero = np.zeros_like(turn)
        # derivatives of the rotation vector at both ends from angular velocity and acceleration
        start_rate = motion.angular_velocity[:-1]
        start_second = motion.angular_acceleration[:-1]  # the Jacobian's rate maps the rate itself to 0 here
        jacobian = left_jacobian(turn)
        end_rate = np.asarray(np.linalg.solve(jacobian, motion.angular_velocity[1:, :, None]), dtype=float)[
            ..., 0
        ]
        spin_rate = (left_jacobian_rate(turn, end_rate) @ end_rate[..., None])[..., 0]
        end_second = np.linalg.solve(jacobian, (motion.angular_acceleration[1:] - spin_rate)[..., None])[
            ..., 0
        ]
        position = motion.position - motion.position[0]
        self._coefficients = _quintic(
            np.concatenate([position[:-1], zero], axis=1),
            np.concatenate([motion.linear_velocity[:-1], start_rate], axis=1),
            np.concatenate([motion.linear_acceleration[:-1], start_second], axis=1),
            np.concatenate([position[1:], turn], axis=1),
            np.concatenate([motion.linear_velocity[1:], end_rate], axis=1),
            np.concatenate([motion.linear_acceleration[1:], end_second], axis=1),
            step[:, None],
        )

    def evaluate(self, time: Array) -> PlatformMotion:
        """Motion at times (N,) s."""
        time = np.asarray(time, dtype=float)
        samples = self.motion.time
        clipped = np.clip(time, samples[0], samples[-1])
        interval = np.clip(np.searchsorted(samples, clipped, side='right') - 1, 0, len(samples) - 2)
        elapsed = (clipped - samples[interval])[:, None]
        c = [coefficient[interval] for coefficient in self._coefficients]
        value = c[0] + elapsed * (
            c[1] + elapsed * (c[2] + elapsed * (c[3] + elapsed * (c[4] + elapsed * c[5])))
        )
        rate = c[1] + elapsed * (2 * c[2] + elapsed * (3 * c[3] + elapsed * (4 * c[4] + elapsed * 5 * c[5])))
        second = 2 * c[2] + elapsed * (6 * c[3] + elapsed * (12 * c[4] + elapsed * 20 * c[5]))
        held = (time != clipped)[:, None]
        rate, second = np.where(held, 0.0, rate), np.where(held, 0.0, second)
        angular_velocity, angular_acceleration = angular_motion(value[:, 3:], rate[:, 3:], second[:, 3:])
        return PlatformMotion(
            time=time,
            position=self.motion.position[0] + value[:, :3],
            rotation_base_platform=rotation_exp(value[:, 3:]) @ self.motion.rotation_base_platform[interval],
            linear_velocity=rate[:, :3],
            angular_velocity=angular_velocity,
            linear_acceleration=second[:, :3],
            angular_acceleration=angular_acceleration,
        )


def _quintic(
    value_0: Array,
    rate_0: Array,
    second_0: Array,
    value_1: Array,
    rate_1: Array,
    second_1: Array,
    step: Array,
) -> list[Array]:
    """Six polynomial coefficients in the elapsed time, from value and two derivatives at both ends."""
    rest = value_1 - value_0 - step * rate_0 - step**2 / 2 * second_0
    rest_rate = step * (rate_1 - rate_0 - step * second_0)
    rest_second = step**2 * (second_1 - second_0)
    return [
        value_0,
        rate_0,
        second_0 / 2,
        (10 * rest - 4 * rest_rate + rest_second / 2) / step**3,
        (-15 * rest + 7 * rest_rate - rest_second) / step**4,
        (6 * rest - 3 * rest_rate + rest_second / 2) / step**5,
    ]
