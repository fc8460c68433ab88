"""Scenarios: machine, motion, sensors, filter, start and seed; equal scenarios give equal runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kinematics.rotation import matrix_from_rpy
from pkm_description.loading import load_machine
from pkm_description.machine import Machine
from pkm_description.motion.profiles import RollPitchSines, mp1_profile, mp2_profile, sample_times
from pkm_estimation.sensors import SensorConditions
from pkm_estimation.sensors.simulated import Evaluate
from pkm_estimation.stream import EstimatorConfig

RATE = 100.0  # Hz, of all sensors of the paper
INTERVAL = 0.01

#: sensors as in the machine file
NOISE_AND_BIAS = SensorConditions()

#: the filter as printed: one chart, noise variances 10 % larger (Eq. 23)
PRINTED = EstimatorConfig(filter='paper', noise_inflation=1.1, integrator='heun', baseline=False)
#: the library's default
DEFAULT = EstimatorConfig(baseline=False)
#: the experiment's tuning (Eq. 26): Q = 1000 diag(sigma^2), R as before
EXPERIMENT_SCALE = 1000.0 / 1.1
EXPERIMENT = replace(PRINTED, q_scale=EXPERIMENT_SCALE)

#: of the experiment's IMU, s (sections 5.2 to 5.4)
DELAYS = (0.010, 0.020, 0.030, 0.050)

#: actuator offsets of a few tenths of a millimetre, m
ALTERNATING_OFFSETS = (3e-4, -3e-4, 3e-4, -3e-4, 3e-4, -3e-4)

#: bursts on all six lengths at once, in every third 5 s
BURSTS = SensorConditions(burst_std=1e-4)

#: all at once: IMU 10 to 50 ms late (by axis, fluctuating), averaging, turned by half a degree; tails, offsets, bursts
EXPERIMENT_LIKE = SensorConditions(
    heavy_tails=True,
    averaging=True,
    imu_delay=(0.02, 0.03, 0.03, 0.03, 0.04, 0.03),
    imu_delay_fluctuation=0.005,
    imu_misalignment=(0.0087, -0.0087, 0.0087),
    leg_offsets=(2e-4, -1e-4, 3e-4, -2e-4, 1e-4, -3e-4),
    burst_std=1e-4,
    length_step=2e-6,
)

#: profiles are long enough to leave the fade-out behind every run
_PROFILE_DURATION = {'mp1': 130.0, 'mp2': 120.0}


@dataclass(frozen=True)
class Scenario:
    """One run.

    Attributes
    ----------
    machine : name of a machine file; ``'centred'`` is SIMONA with the IMU at the platform's origin (section 4)
    motion : ``'mp1'``, ``'mp2'`` (surrogate) or ``'hold'``
    duration, begin : s; the run is a piece of the motion from ``begin`` on
    conditions : of the sensors
    truth : ``'exact'`` or ``'euler'``: made by the Euler recursion, from the same poses
    config : settings of the filter
    believed : machine that the filter assumes, if another one
    start : ``'forward_kinematics'``; ``'printed'``; ``'pose_known'``: forward kinematics, velocity and biases off by
        one standard deviation; ``'printed_drawn'``: drawn from the printed start's own distribution (Eq. 22)
    seed : of sensor noise, and of drawn starts
    """

    machine: str = 'centred'
    motion: str = 'mp1'
    duration: float = 70.0
    begin: float = 0.0
    conditions: SensorConditions = NOISE_AND_BIAS
    truth: str = 'exact'
    config: EstimatorConfig = PRINTED
    believed: str = ''
    start: str = 'forward_kinematics'
    seed: int = 1

    @property
    def believed_machine(self) -> Machine:
        """What the filter assumes."""
        return machine_named(self.believed or self.machine)

    @property
    def time(self) -> Array:
        """Sample times (N,) s of the motion."""
        return self.begin + sample_times(self.duration, RATE)


@cache
def machine_named(name: str) -> Machine:
    """Machine of a file, or SIMONA with another IMU: ``'centred'``, ``'turned'`` (by 2 degrees about each axis)."""
    if name == 'centred':
        machine = load_machine('srs')
        return replace(machine, imu=replace(machine.imu, position=np.zeros(3)))
    if name == 'turned':
        machine = load_machine('srs')
        return replace(machine, imu=replace(machine.imu, rotation_platform_imu=matrix_from_rpy(np.radians([2.0] * 3))))
    return load_machine(name)


@cache
def profile_named(machine: str, motion: str) -> Evaluate:
    """Motion of a machine at any times."""
    if motion == 'mp1':
        return mp1_profile(machine_named(machine), _PROFILE_DURATION['mp1']).evaluate
    if motion == 'mp2':
        return mp2_profile(machine_named(machine), _PROFILE_DURATION['mp2']).evaluate
    if motion == 'hold':
        return RollPitchSines(machine_named(machine).home, scale=0.0, heave=0.0).evaluate
    raise ValueError(f'motion = {motion!r}: there are mp1, mp2 and hold')


def late(delay: float) -> SensorConditions:
    """IMU late by a constant time [s], all axes."""
    return replace(SensorConditions(), imu_delay=delay)
