"""Two faults at once: legs that fail while there is no IMU."""

from __future__ import annotations

import numpy as np
import pytest
from pkm_description.loading import load_machine
from pkm_description.motion.profiles import profile
from pkm_estimation.offline.estimate import estimate
from pkm_estimation.sensors import measure
from pkm_estimation.sensors.simulated import SimulatedData
from pkm_estimation.stream import EstimatorConfig

RATE, DURATION = 200.0, 8.0
ELAPSED = np.arange(round(RATE * DURATION) + 1) / RATE
#: drives are published with every second sample of the IMU
LEGS = np.arange(len(ELAPSED)) % 2 == 0


def between(begin, end):
    rows = np.zeros(len(ELAPSED), dtype=bool)
    rows[round(begin * RATE) : round(end * RATE)] = True
    return rows


def leg_sticks(positions):
    """For 1.5 s."""
    rows = between(4.0, 5.5)
    positions[rows, 1] = positions[np.argmax(rows) - 2, 1]


def leg_spikes(positions):
    """For two measurements."""
    positions[between(4.9, 4.92), 0] += 3e-3


def all_are_noisy(positions):
    """For half a second more than the IMU fails."""
    rows = between(4.8, 6.0)
    positions[rows] += 1.5e-4 * np.random.default_rng(5).normal(size=(rows.sum(), positions.shape[1]))


@pytest.mark.parametrize(
    ('machine', 'fault', 'kind'),
    [('srs', leg_sticks, 'frozen'), ('srs', all_are_noisy, 'frozen'), ('hexaglide_6pus', leg_spikes, 'silent')],
)
def test_legs_that_fail_without_an_imu(machine, fault, kind):
    """What is claimed covers the error, also where five legs are left, and nothing is left of it afterwards."""
    machine = load_machine(machine)
    motion = profile('drives', machine, duration=DURATION, rate=RATE, seed=3)
    data = measure(machine, motion, seed=2)
    positions, fails = data.drive_positions.copy(), between(4.5, 5.5)
    fault(positions)
    force, rate = data.specific_force.copy(), data.angular_rate.copy()
    if kind == 'frozen':
        force[fails], rate[fails] = force[fails][0], rate[fails][0]
    there = ~fails if kind == 'silent' else np.ones(len(fails), dtype=bool)
    result = estimate(
        machine, SimulatedData(data.stamps, positions, force, rate, there, LEGS), EstimatorConfig(baseline=False)
    )
    found = result.motion
    rows = np.searchsorted(data.stamps, found.stamps)
    error = np.linalg.norm(found.position - motion.position[rows], axis=1)
    claimed = np.sqrt(np.trace(found.pose_covariance[:, :3, :3], axis1=1, axis2=2))
    elapsed = ELAPSED[rows]
    settled = elapsed > 1.0
    assert np.mean(error[settled] < 3.0 * claimed[settled]) > 0.99
    after = elapsed > 6.5
    assert error[after].max() < 40e-6 and claimed[after].max() < 20e-6
    stopped = {event.name for event in result.health.events} & {'pose_lost', 'diverged', 'covariance_lost'}
    assert stopped <= ({'pose_lost'} if fault is leg_sticks else set())
