"""Surrogate of motion profile 2 of Miletovic et al. (2017): many sines in roll and pitch, a little heave."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pkm_description.arrays import Array
from pkm_description.kinematics.rotation import matrix_from_rpy
from pkm_description.machine import PlatformMotion, Pose
from pkm_description.motion.circle_and_rock import Z_DOWN_TO_Z_UP
from pkm_description.motion.envelope import Envelope, product

#: rad/s; harmonics and amplitudes of a manual tracking experiment like the paper's, whose recording is not public
BASE_FREQUENCY = 2.0 * np.pi / 81.92
ROLL_HARMONICS = (6, 13, 27, 41, 53, 73, 103, 139, 194, 229)
PITCH_HARMONICS = (5, 11, 23, 37, 51, 71, 101, 137, 171, 226)
AMPLITUDES = np.radians([1.397, 0.977, 0.441, 0.237, 0.159, 0.099, 0.063, 0.046, 0.036, 0.033])
ROLL_FACTOR, PITCH_FACTOR = 1.6, 0.8


@dataclass(frozen=True)
class RollPitchSines:
    """MP2 surrogate: ten sines each in roll and pitch (0.38 to 17.6 rad/s), heave of 15 mm at 0.8 rad/s.

    Not the paper's recording, but of its amplitudes and band (section 4.1, Table 3). Defined in the paper's z-down
    frame and carried into the base frame by diag(1, -1, -1).

    Attributes
    ----------
    home : pose that the motion starts and ends at
    duration : s, the end of the fade-out
    seed : of the sines' phases
    scale : factor on all amplitudes
    heave, heave_frequency : m, rad/s
    fade_in, fade_out : s
    """

    home: Pose
    duration: float = 90.0
    seed: int = 0
    scale: float = 1.0
    heave: float = 0.015
    heave_frequency: float = 0.8
    fade_in: float = 5.0
    fade_out: float = 5.0

    def __post_init__(self) -> None:
        Envelope(self.duration, self.fade_in, self.fade_out)  # checks the fades

    def evaluate(self, time: Array) -> PlatformMotion:
        """Motion at any times (N,) s; at rest at home before 0 and after ``duration``."""
        time = np.asarray(time, dtype=float)
        envelope = Envelope(self.duration, self.fade_in, self.fade_out).evaluate(time)
        random = np.random.default_rng(self.seed)
        roll, pitch = (
            product(envelope, _waves(time, harmonics, self.scale * factor, random.uniform(0.0, 2.0 * np.pi, 10)))
            for harmonics, factor in ((ROLL_HARMONICS, ROLL_FACTOR), (PITCH_HARMONICS, PITCH_FACTOR))
        )
        phase, frequency, size = self.heave_frequency * time, self.heave_frequency, self.scale * self.heave
        sine, cosine = size * np.sin(phase), size * np.cos(phase)
        heave = product(envelope, (sine, frequency * cosine, -(frequency**2) * sine))
        zero = np.zeros_like(time)
        displacement, velocity, acceleration = (
            np.stack([zero, zero, value], axis=1) @ Z_DOWN_TO_Z_UP for value in heave
        )
        rotation = matrix_from_rpy(np.stack([roll[0], pitch[0], zero], axis=1))
        # z-y-x angles without yaw: omega = roll' (cos pitch, 0, -sin pitch) + pitch' (0, 1, 0), base axes
        cosine, sine = np.cos(pitch[0]), np.sin(pitch[0])
        rate = np.stack([cosine * roll[1], pitch[1], -sine * roll[1]], axis=1)
        turning = roll[1] * pitch[1]
        second = np.stack([cosine * roll[2] - sine * turning, pitch[2], -sine * roll[2] - cosine * turning], axis=1)
        return PlatformMotion(
            time=time,
            position=self.home.position + displacement,
            rotation_base_platform=Z_DOWN_TO_Z_UP @ rotation @ Z_DOWN_TO_Z_UP @ self.home.rotation_base_platform,
            linear_velocity=velocity,
            angular_velocity=rate @ Z_DOWN_TO_Z_UP,
            linear_acceleration=acceleration,
            angular_acceleration=second @ Z_DOWN_TO_Z_UP,
        )


def _waves(time: Array, harmonics: tuple[int, ...], factor: float, phases: Array) -> tuple[Array, Array, Array]:
    """Sum of sines (N,) with its first and second derivative."""
    frequencies = BASE_FREQUENCY * np.array(harmonics)
    angles = np.outer(time, frequencies) + phases
    sine, cosine = np.sin(angles), np.cos(angles)
    amplitudes = factor * AMPLITUDES
    return (
        sine @ amplitudes,
        cosine @ (amplitudes * frequencies),
        sine @ (-amplitudes * frequencies**2),
    )
