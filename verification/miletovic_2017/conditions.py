"""Sensor conditions of the paper's experiment, as far as they are described (sections 5.2 to 5.4)."""

from __future__ import annotations

from dataclasses import replace

from pkm_estimation.sensors import SensorConditions

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


def late(delay: float) -> SensorConditions:
    """IMU late by a constant time [s], all axes."""
    return replace(SensorConditions(), imu_delay=delay)
