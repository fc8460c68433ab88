"""Hydraulic axes: flows, pressures, the inverted square root, and the loop on simulated cylinders."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pkm_bringup.control import ReferenceRefusedError
from pkm_bringup.control.hydraulic import Cylinder, HydraulicAxes, HydraulicControlSettings, HydraulicSettings
from pkm_bringup.simulation.hydraulic_simulation import HydraulicDrives, track_hydraulically
from pkm_description.errors import ConfigurationError
from pkm_description.loading import load_machine
from pkm_description.machine import PlatformMotion
from pkm_description.motion.circle_path import CirclePath

MSI = load_machine('msi')
STROKE = np.full(6, 0.4)


def test_defaults_are_called_assumed_until_they_are_given(tmp_path: Path) -> None:
    assert len(HydraulicSettings().assumed()) == 11
    assert 'supply_pressure = 2.1e+07 is assumed' in HydraulicSettings().assumed()[0]
    path = tmp_path / 'hydraulic.yaml'
    path.write_text('hydraulic:\n  ros__parameters: {supply_pressure: 2.8e+7, piston_area: 1.2e-3}\n')
    read = HydraulicSettings.from_file(path, 'hydraulic')
    assert (read.supply_pressure, read.piston_area, len(read.assumed())) == (2.8e7, 1.2e-3, 9)
    with pytest.raises(ConfigurationError, match='must be below supply_pressure'):
        HydraulicSettings(tank_pressure=3e7)


def test_opening_moves_a_simulated_cylinder_at_the_wanted_speed() -> None:
    """Cylinders pushed by constant forces: masses in the simulation, no mass in the formula."""
    cylinder = Cylinder(HydraulicSettings(leakage=0.0), np.full(3, 1.0))
    wanted, force = np.array([0.4, -0.3, 0.5]), np.array([5000.0, 4000.0, -6000.0])
    drives = HydraulicDrives(cylinder, force)
    position, speed, mass, step = np.full(3, 0.5), np.zeros(3), 50.0, 1e-4
    for _ in range(4000):
        pushed = drives.advance(cylinder.opening(wanted, force), position, speed, step)
        speed = speed + step * (pushed - force - 500.0 * (speed - wanted)) / mass
        position = position + step * speed
    assert speed == pytest.approx(wanted, rel=2e-3)
    assert drives.spool == pytest.approx(cylinder.opening(wanted, force), rel=1e-6)


def test_oil_is_a_spring_of_its_bulk_modulus() -> None:
    """A closed valve: the force of a displacement is that of two oil columns in series with nothing else."""
    data = HydraulicSettings(leakage=0.0)
    cylinder = Cylinder(data, np.full(1, 0.4))
    drives = HydraulicDrives(cylinder, np.zeros(1))
    for _ in range(100):
        force = drives.advance(np.zeros(1), np.full(1, 0.2), np.full(1, 0.001), 1e-4)
    volumes = data.dead_volume + 0.2 * np.array([data.piston_area, data.rod_side_area])
    stiffness = data.bulk_modulus * (data.piston_area**2 / volumes[0] + data.rod_side_area**2 / volumes[1])
    assert force == pytest.approx(-stiffness * 0.001 * 100 * 1e-4, rel=1e-6)


def test_forces_that_the_supply_does_not_have_are_refused() -> None:
    with pytest.raises(ConfigurationError, match='outside of tank and supply'):
        Cylinder(HydraulicSettings(), STROKE).pressures_at_rest(np.full(6, 3e4))


def test_each_axis_for_itself() -> None:
    axes, zero = HydraulicAxes(Cylinder(HydraulicSettings(), STROKE)), np.zeros(6)
    error = np.array([1e-3, 0.0, 0.0, 0.0, -1e-3, 0.0])
    openings = axes.openings(error, zero, zero, zero)
    assert (openings != 0.0).tolist() == [True, False, False, False, True, False]
    assert openings[0] > 0.0 > openings[4]
    assert axes.openings(np.full(6, 10.0), zero, zero, zero).tolist() == [1.0] * 6


def test_velocity_feedforward_follows_better_than_the_position_loop() -> None:
    """R4-44 in short; in full: ``./pkm verify heimann``."""
    circle = CirclePath(MSI.home, diameter=0.04, speed=0.2, turns=0.4, run_up=0.1, approach=0.15, rest=0.0)
    motion = circle.sample(200.0)
    largest = [
        np.abs(track_hydraulically(MSI, motion, control=HydraulicControlSettings(stage=stage)).errors).max()
        for stage in ('position', 'velocity_and_load')
    ]
    assert largest[1] < 0.2 * largest[0]
    assert largest[1] < 5e-4


def test_what_cannot_be_followed_is_refused() -> None:
    far = PlatformMotion.at_rest(MSI.home.position + 1.0, MSI.home.rotation_base_platform)
    with pytest.raises(ReferenceRefusedError):
        track_hydraulically(MSI, far)
    with pytest.raises(ConfigurationError, match='control_rate = 300 Hz: must be a whole fraction'):
        track_hydraulically(MSI, far, control_rate=300.0)
