"""Heimann & Abdellatif, R4-06 and R4-44: hydraulic axes with velocity feed-forward; hydraulic data are assumed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from pkm_bringup.simulation.hydraulic_simulation import (
    STAGES,
    TIME_STEP,
    Cylinder,
    HydraulicControlSettings,
    HydraulicDrives,
    HydraulicSettings,
    track_hydraulically,
)
from pkm_description.arrays import Array
from pkm_description.machine import Machine, PlatformMotion
from pkm_description.motion.coordinates import Envelope, motion_from_coordinates, product

from verification.check import Check, at_least, at_most, equal

#: the printed standard regime: Hz, m
FREQUENCY, AMPLITUDE = 5.0, 0.025


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """The assumed cylinder keeps the printed figures; its controller follows the printed regime."""
    stroke = np.array([joint.limits.upper - joint.limits.lower for joint in machine.actuated_joints])
    settings = HydraulicSettings()
    cylinder = Cylinder(settings, stroke)
    yield equal('R4-44', 'values of valve and cylinder that are called assumed until the user gives them', 11,
                len(settings.assumed()))  # fmt: skip
    yield at_least('R4-06', 'assumed cylinder: force out and in', 15000.0, cylinder.largest_forces(), 'N')
    yield at_least('R4-06', 'assumed cylinder: speed out and in', 1.0, cylinder.largest_speeds(), 'm/s')
    amplitude = _amplitude(cylinder, 50.0) * 2**0.5
    yield at_least('R4-06', 'assumed valve: amplitude at 50 Hz, over 1/sqrt(2)', 1.0, amplitude)
    yield inverse_check(cylinder)
    yield from tracking_checks(machine, quick)


def inverse_check(cylinder: Cylinder) -> Check:
    """Openings of the inverted square root against the flows: both chambers get what the piston sweeps."""
    random = np.random.default_rng(1)
    data = cylinder.settings
    speed, force = random.uniform(-1.0, 1.0, 200), random.uniform(-12000.0, 12000.0, 200)
    drop, out = cylinder.drop(force, speed >= 0.0), speed >= 0.0
    first = np.where(out, data.supply_pressure - drop, data.tank_pressure + drop)
    second = (data.piston_area * first - force) / data.rod_side_area
    flows = cylinder.flows(cylinder.opening(speed, force), np.array([first, second]))
    swept = np.array([data.piston_area * speed, -data.rod_side_area * speed])
    return at_most('R4-44', 'opening by the inverted square root: flows over swept volumes, error relative', 1e-9,
                   np.abs(flows - swept).max() / np.abs(swept).max())  # fmt: skip


def tracking_checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """5 Hz, 25 mm of heave, stage by stage, on cylinders with compressible oil and valves of second order."""
    duration, fade = (0.8, 0.3) if quick else (2.0, 0.4)
    motion = heave(machine, duration, fade)
    rms = {}
    for stage in STAGES:
        record = track_hydraulically(machine, motion, control=HydraulicControlSettings(stage=stage), seed=1)
        steady = (record.time > fade) & (record.time < duration - fade)
        rms[stage] = np.sqrt(np.mean(record.errors[steady] ** 2, axis=0))
        yield at_most('R4-44', f'{stage.replace("_", " ")}: largest valve opening', 0.999, record.openings)
    for what, before, after, least in (
        ('velocity feed-forward', 'position', 'velocity', 10.0),
        ('square root under load', 'velocity', 'velocity_and_load', 1.0),
    ):
        shown = ' against '.join(' '.join(f'{1e6 * value:.0f}' for value in rms[one]) for one in (before, after))
        what = f'heave of 5 Hz, 25 mm, {what}: smallest ratio of the errors of a cylinder without and with'
        yield at_least('R4-44', what, least, rms[before] / rms[after], note=f'{shown} um')


def heave(machine: Machine, duration: float, fade: float) -> PlatformMotion:
    """The standard regime along z between smooth fades, 200 Hz."""
    time = np.arange(round(200 * duration) + 1) / 200
    rate = 2.0 * np.pi * FREQUENCY
    sine, cosine = np.sin(rate * time), np.cos(rate * time)
    way = product(
        Envelope(duration, fade, fade).evaluate(time),
        (AMPLITUDE * sine, AMPLITUDE * rate * cosine, -AMPLITUDE * rate**2 * sine),
    )
    place, first, second = (np.outer(part, np.eye(6)[2]) for part in way)
    return motion_from_coordinates(time, place, first, second, machine.home)


def _amplitude(cylinder: Cylinder, frequency: float) -> float:
    """Amplitude of the simulated valve's spool under a sine of amplitude 0.1, over 0.1."""
    drives = HydraulicDrives(cylinder, np.zeros(6))
    rate, spool = 2.0 * np.pi * frequency, []
    time: Array = np.arange(0.0, 0.3, TIME_STEP)
    for now in time:
        drives.advance(np.full(6, 0.1 * np.sin(rate * now)), np.full(6, 0.2), np.zeros(6), TIME_STEP)
        spool.append(drives.spool[0])
    steady = time > 0.15
    columns = np.column_stack([np.sin(rate * time[steady]), np.cos(rate * time[steady])])
    found = np.linalg.lstsq(columns, np.array(spool)[steady], rcond=None)[0]
    return float(np.hypot(*found) / 0.1)
