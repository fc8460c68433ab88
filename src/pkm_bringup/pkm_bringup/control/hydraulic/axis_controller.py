"""Decoupled nonlinear controller of hydraulic axes with velocity feed-forward (Heimann & Abdellatif, MSI; R4-44)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pkm_description.arrays import Array
from pkm_description.settings import Settings, setting

from pkm_bringup.control.hydraulic.cylinder import Cylinder

#: each contains the one before it
STAGES = ('position', 'velocity', 'velocity_and_load')


@dataclass(frozen=True)
class HydraulicControlSettings(Settings):
    """Gains of the axis controllers."""

    stage: str = setting(
        'velocity_and_load', 'position loop alone; + desired velocity; + square root of the flow under load',
        choices=STAGES,
    )  # fmt: skip
    position_gain: float = setting(30.0, 'speed for each metre of position error [1/s]', 0.0, 1e4)
    force_damping: float = setting(
        1e-5, 'speed taken back for each newton of force above the expected one [m/s/N]; damps the oil column', 0.0, 1.0
    )
    compensate_valve: bool = setting(True, "take the desired velocity ahead by the valve's delay")


class HydraulicAxes:
    """Valve openings from position errors, desired velocities and expected forces; each axis for itself.

    speed = desired velocity + position_gain * position error - force_damping * (force - expected force), and the
    opening that gives this speed: linear in the speed without load, or with the square root of the pressure drop that
    the expected force leaves (feedback linearisation of the valve). Dead times are not modelled.

    Parameters
    ----------
    cylinder : data of all axes, as the controller believes them to be
    settings : gains

    Attributes
    ----------
    lead_ns : how far ahead the desired velocity is to be taken
    """

    def __init__(self, cylinder: Cylinder, settings: HydraulicControlSettings | None = None) -> None:
        self._cylinder = cylinder
        self.settings = settings or HydraulicControlSettings()
        data = cylinder.settings
        # of a second-order valve that follows a ramp
        delay = 2.0 * data.valve_damping / (2.0 * np.pi * data.valve_frequency)
        self.lead_ns = round(1e9 * delay) if self.settings.compensate_valve else 0

    def openings(
        self, error: Array, desired_velocity: Array, force: Array, expected_force: Array
    ) -> Array:
        """Valve openings (A,) of -1 .. 1.

        Parameters
        ----------
        error : (A,) m, desired minus measured position
        desired_velocity : (A,) m/s, ahead by :attr:`lead_ns`
        force : (A,) N, measured, e.g. from the chamber pressures
        expected_force : (A,) N, of the machine's model: weight, inertia, friction
        """
        settings = self.settings
        speed = settings.position_gain * error - settings.force_damping * (force - expected_force)
        if settings.stage != 'position':
            speed = speed + desired_velocity
        load = expected_force if settings.stage == 'velocity_and_load' else np.zeros_like(expected_force)
        return np.clip(self._cylinder.opening(speed, load), -1.0, 1.0)
