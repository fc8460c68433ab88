"""Hydraulic axes: flows, pressures, the inverted square root, and the loop on simulated cylinders."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pkm_bringup.control import ReferenceRefusedError
from pkm_bringup.simulation.hydraulic_simulation import (
    Cylinder,
    HydraulicAxes,
    HydraulicControlSettings,
    HydraulicDrives,
    HydraulicSettings,
    track_hydraulically,
)
from pkm_description.errors import ConfigurationError
from pkm_description.loading import load_machine
from pkm_description.machine import PlatformMotion
from pkm_description.motion.circles import CirclePath

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


def test_an_axis_that_pushes_more_than_expected_is_slowed_down() -> None:
    axes, zero = HydraulicAxes(Cylinder(HydraulicSettings(), STROKE)), np.zeros(6)
    expected = np.full(6, 3000.0)
    openings = axes.openings(zero, zero, expected + np.array([500.0, -500.0, 0.0, 0.0, 0.0, 0.0]), expected)
    assert openings[0] < 0.0 < openings[1] and not openings[2:].any()


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


def test_oil_that_leaks_leaves_one_chamber_and_enters_the_other() -> None:
    """A closed valve and a rod at rest: what flows is leakage times the difference of the pressures."""
    data = HydraulicSettings()
    assert data.leakage > 0.0
    pressures, position = np.array([[9e6, 4e6], [5e6, 4e6]]), np.array([0.1, 0.3])
    rates = Cylinder(data, np.full(2, 0.4)).pressure_rates(np.zeros(2), pressures, position, np.zeros(2))
    volumes = data.dead_volume + np.array([data.piston_area * position, data.rod_side_area * (0.4 - position)])
    flows = volumes / data.bulk_modulus * rates
    assert flows[0] == pytest.approx([-data.leakage * 4e6, 0.0]) and flows[1] == pytest.approx(-flows[0])


def test_each_stage_of_the_control_knows_more_than_the_one_before() -> None:
    cylinder, zero = Cylinder(HydraulicSettings(), STROKE), np.zeros(6)
    speed, load = np.full(6, 0.1), np.full(6, 5000.0)
    stages = {
        stage: HydraulicAxes(cylinder, HydraulicControlSettings(stage=stage)).openings(zero, speed, load, load)
        for stage in ('position', 'velocity', 'velocity_and_load')
    }
    assert stages['position'].tolist() == [0.0] * 6
    assert stages['velocity'] == pytest.approx(0.1 / cylinder.largest_speeds()[0])
    # the opening at which flow and pressures balance: the drop is what the load leaves of the supply
    drop = cylinder.drop(load, np.ones(6, dtype=bool))
    data = cylinder.settings
    flow = data.rated_flow * stages['velocity_and_load'] * np.sqrt(drop / data.rated_drop)
    assert flow == pytest.approx(data.piston_area * speed)


def test_the_desired_velocity_is_taken_ahead_by_what_a_valve_is_behind_a_ramp() -> None:
    """A valve of second order, simulated: after its start it follows a ramp late by the lead."""
    data = HydraulicSettings()
    rate, damping, step, place, speed = 2.0 * np.pi * data.valve_frequency, data.valve_damping, 1e-6, 0.0, 0.0
    for k in range(round(20.0 / rate / step)):
        speed += step * (rate**2 * (k * step - place) - 2.0 * damping * rate * speed)
        place += step * speed
    late = (k + 1) * step - place
    axes = HydraulicAxes(Cylinder(data, STROKE))
    assert axes.settings.compensate_valve and 1e-9 * axes.lead_ns == pytest.approx(late, rel=2e-3)
    assert HydraulicAxes(Cylinder(data, STROKE), HydraulicControlSettings(compensate_valve=False)).lead_ns == 0


def test_both_largest_speeds_are_those_at_which_a_fully_open_valve_moves_the_piston() -> None:
    cylinder, none = Cylinder(HydraulicSettings(), np.full(1, 0.4)), np.zeros(1)
    out, back = cylinder.largest_speeds()
    assert out > 0.0 and back > 0.0
    assert cylinder.opening(np.array([out]), none) == pytest.approx(1.0)
    assert cylinder.opening(np.array([-back]), none) == pytest.approx(-1.0)
