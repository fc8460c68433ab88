"""A machine file without sensors or servo: estimator, simulator and controllers refuse it and say what to add."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pkm_bringup.control.leg_servo import LegServo
from pkm_bringup.simulation.mujoco_simulation import MujocoSimulation
from pkm_description.errors import ConfigurationError
from pkm_description.loading import load_machine
from pkm_description.machine import NO_IMU, NO_LEG_SENSORS, NO_SERVO
from pkm_description.motion.profiles import profile
from pkm_estimation.sensors import measure
from pkm_estimation.stream import EstimatorPipeline

PALIDA = load_machine('palida')
MISSING = {
    'sensors.imu': replace(PALIDA, imu=NO_IMU),
    'sensors.legs': replace(PALIDA, leg_sensors=NO_LEG_SENSORS),
}


@pytest.mark.parametrize('section', MISSING)
def test_who_needs_sensors_says_which(section: str) -> None:
    machine = MISSING[section]
    motion = profile('mp1', machine, duration=1.0, rate=100.0)
    for use in (
        lambda: EstimatorPipeline(machine),
        lambda: MujocoSimulation(machine),
        lambda: measure(machine, motion, 0),
    ):
        with pytest.raises(ConfigurationError, match=f'no section {section}, whose .* such as sensors: '):
            use()


def test_the_servo_is_refused_before_it_runs() -> None:
    with pytest.raises(ConfigurationError, match='no section servo, whose stiffness is needed here'):
        LegServo(replace(PALIDA, servo=NO_SERVO), 1_000_000)


def test_legs_are_estimated_without_what_is_not_needed() -> None:
    """The servo belongs to the simulator alone."""
    assert EstimatorPipeline(replace(PALIDA, servo=NO_SERVO)).machine.has_imu
