"""What sensors and drive electronics make of the truth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pkm_description.arrays import Array
from pkm_description.machine import Machine

from verification.identification_data.cases import Case
from verification.identification_data.hidden import mean_coulomb, strokes
from verification.identification_data.physics import Run


@dataclass(frozen=True)
class DriveSignals:
    """Sensor model of all drives: ``gain effort + bias + ripple sin(2 pi position / pitch + phase)``, late, noisy.

    Attributes
    ----------
    gain : (A,)
    bias, ripple : (A,) N or N m
    ripple_pitch, ripple_phase : (A,) m or rad, rad
    delay : s, of efforts behind positions
    encoder_resolution : (A,) m or rad; 0: none
    position_noise, velocity_noise, effort_noise : (A,) standard deviations of white noise
    """

    gain: Array
    bias: Array
    ripple: Array
    ripple_pitch: Array
    ripple_phase: Array
    delay: float
    encoder_resolution: Array
    position_noise: Array
    velocity_noise: Array
    effort_noise: Array

    def clean_efforts(self, run: Run) -> Array:
        """Effort signals (N, A) without noise."""
        phase = 2.0 * np.pi * run.positions / self.ripple_pitch + self.ripple_phase
        signal = self.gain * run.efforts + self.bias + self.ripple * np.sin(phase)
        if self.delay == 0.0:
            return signal
        return np.stack([np.interp(run.time - self.delay, run.time, column) for column in signal.T], axis=1)

    def measure(self, run: Run, seed: int, stream: int) -> tuple[Array, Array, Array]:
        """Positions, velocities, efforts (N, A) as a driver publishes them."""
        random = np.random.default_rng([seed, stream])
        shape = run.positions.shape
        positions = run.positions + self.position_noise * random.normal(size=shape)
        velocities = run.velocities + self.velocity_noise * random.normal(size=shape)
        efforts = self.clean_efforts(run) + self.effort_noise * random.normal(size=shape)
        coarse = self.encoder_resolution > 0.0
        raster = np.where(coarse, self.encoder_resolution, 1.0)
        return np.where(coarse, raster * np.round(positions / raster), positions), velocities, efforts


def drive_signals(machine: Machine, case: Case, seed: int) -> DriveSignals:
    """Draw the sensor model of a case; noise is that of the machine file."""
    random = np.random.default_rng([seed, 2])
    count, unit, stroke = machine.actuated_count, mean_coulomb(machine), strokes(machine)
    if machine.has_leg_sensors:
        sensors = machine.leg_sensors
        noise = np.array([sensors.position_noise, sensors.velocity_noise, sensors.effort_noise])
    else:
        limits = np.array([joint.limits.effort for joint in machine.actuated_joints])
        noise = np.array([1e-5 * stroke, 1e-3 * stroke, np.where(np.isfinite(limits), 1e-3 * limits, 0.1 * unit)])
    noise = case.noise * noise
    return DriveSignals(
        gain=1.0 + case.gain * random.uniform(-1.0, 1.0, size=count),
        bias=case.bias * unit * random.choice([-1.0, 1.0], size=count),
        ripple=np.full(count, case.ripple * unit),
        ripple_pitch=case.ripple_pitch * stroke,
        ripple_phase=random.uniform(-np.pi, np.pi, size=count),
        delay=case.delay,
        encoder_resolution=case.encoder_resolution * stroke,
        position_noise=noise[0],
        velocity_noise=noise[1],
        effort_noise=noise[2],
    )
