"""Faults of recordings, named with drive and size; analytic recordings of a machine that is not the nominal one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from known_machines import known_machine
from pkm_description.dynamics import inverse_dynamics
from pkm_description.errors import Finding, State
from pkm_description.kinematics import drive_positions
from pkm_description.machine import Machine
from pkm_description.motion.coordinates import motion_from_coordinates
from pkm_description.motion.profiles import DriveSines
from pkm_identification.diagnosis import diagnose, text_of
from pkm_identification.diagnosis.arrangement import arrangement
from pkm_identification.errors import RecordingError
from pkm_identification.recording.recording import Recording
from synthetic import recording


@pytest.fixture(scope='module')
def clean(srs: Machine, short: tuple) -> Recording:
    return recording(srs, short, 1)


def of_one(clean: Recording, nominal: Machine, efforts: np.ndarray) -> Finding:
    """The only finding."""
    findings = diagnose(nominal, replace(clean, forces=efforts))
    assert len(findings) == 1, text_of(findings)
    assert findings[0].remedy
    return findings[0]


def changed(clean: Recording, drive: int, values: np.ndarray) -> np.ndarray:
    efforts = clean.forces.copy()
    efforts[:, drive] = values
    return efforts


def test_a_good_recording_of_an_unlike_machine_has_no_fault(clean: Recording, nominal: Machine) -> None:
    assert text_of(diagnose(nominal, clean)) == 'no fault found in this recording'


def test_force_in_kilonewton(clean: Recording, nominal: Machine) -> None:
    found = of_one(clean, nominal, 1e-3 * clean.forces)
    assert found.code == 'effort_unit' and found.state is State.WRONG
    assert 'unit: kN' in found.remedy


def test_one_sign_and_all_signs(clean: Recording, nominal: Machine) -> None:
    found = of_one(clean, nominal, changed(clean, 3, -clean.forces[:, 3]))
    assert (found.code, found.drives) == ('effort_sign', ('leg4',))
    assert '{sign: {leg4: -1}}' in found.remedy
    assert 'sign: -1' in of_one(clean, nominal, -clean.forces).remedy


def test_swapped_legs(clean: Recording, nominal: Machine) -> None:
    found = of_one(clean, nominal, clean.forces[:, [0, 4, 2, 3, 1, 5]])
    assert (found.code, found.drives) == ('effort_order', ('leg2', 'leg5'))
    assert 'positions' not in found.sentence


def test_swapped_efforts_or_positions_of_a_machine_that_is_its_mirror_image() -> None:
    """Both give the same finding on a Delta, so it names both; a hexapod with two legs exchanged is another machine."""
    machine, time = known_machine('delta'), np.arange(0.0, 12.0, 0.004)
    motion = DriveSines(machine, 12.0, 0.8, seed=1).evaluate(time)
    positions = drive_positions(machine, motion.position, motion.rotation_base_platform)
    efforts, order = inverse_dynamics(machine, motion), [0, 2, 1]
    for run in (Recording(time, positions, efforts[:, order]), Recording(time, positions[:, order], efforts)):
        found = next(one for one in diagnose(machine, run) if one.code == 'effort_order')
        assert found.drives == ('leg2', 'leg3')
        assert 'efforts of leg2 and leg3 are swapped' in found.sentence and 'Or their positions' in found.sentence


def test_another_order_that_is_hardly_more_alike_needs_a_better_fit() -> None:
    machine, random = known_machine('delta'), np.random.default_rng(4)
    common, own = random.normal(size=(400, 1)), random.normal(size=(400, 3))
    nominal = common + 0.3 * own
    swapped = nominal[:, [1, 0, 2]]
    right, wrong = (lambda order, signs, best=best: float(list(order) != best) for best in ([1, 0, 2], [0, 1, 2]))
    assert arrangement(machine, nominal, swapped, right)[0].tolist() == [1, 0, 2]
    assert arrangement(machine, nominal, swapped, wrong)[0].tolist() == [0, 1, 2]


def test_saturation(clean: Recording, nominal: Machine) -> None:
    limit = np.quantile(clean.forces[:, 2], 0.95)
    found = of_one(clean, nominal, changed(clean, 2, np.minimum(clean.forces[:, 2], limit)))
    assert (found.code, found.drives) == ('effort_saturation', ('leg3',))
    assert found.evidence['level'] == pytest.approx(limit)


def test_outliers_and_drop_outs(clean: Recording, nominal: Machine) -> None:
    efforts = clean.forces[:, 0].copy()
    efforts[[200, 777, 1100]] += 3000.0
    found = of_one(clean, nominal, changed(clean, 0, efforts))
    assert (found.code, found.drives, found.evidence['count']) == ('effort_outliers', ('leg1',), 3.0)
    positions = clean.drive_positions.copy()
    positions[900, 5] += 0.02
    (found,) = diagnose(nominal, replace(clean, drive_positions=positions))
    assert (found.code, found.drives) == ('position_outliers', ('leg6',))
    efforts = clean.forces[:, 0].copy()
    efforts[1000:1020] = 0.0
    found = next(one for one in diagnose(nominal, replace(clean, forces=changed(clean, 0, efforts))))
    assert (found.code, found.drives) == ('effort_drop_out', ('leg1',))


def test_zero_and_frozen_efforts(clean: Recording, nominal: Machine) -> None:
    assert of_one(clean, nominal, changed(clean, 4, 0.0 * clean.time)).code == 'effort_zero'
    assert 'all efforts are exactly zero' in of_one(clean, nominal, 0.0 * clean.forces).sentence
    assert of_one(clean, nominal, changed(clean, 4, 12.5 + 0.0 * clean.time)).code == 'effort_frozen'


def test_a_pass_near_a_singular_pose() -> None:
    machine = known_machine('khalifa_3prr')
    time = np.arange(0.0, 10.0, 0.01)
    coordinates = np.zeros((3, len(time), 6))
    phase = 2.0 * np.pi * time / 10.0
    for order, turn in enumerate((0.335 * (1 - np.cos(phase)), np.sin(phase), np.cos(phase))):
        coordinates[order, :, 5] = turn * (1.0 if order == 0 else 0.335 * (0.2 * np.pi) ** order)
    motion = motion_from_coordinates(time, *coordinates, machine.home)
    positions = drive_positions(machine, motion.position, motion.rotation_base_platform)
    efforts = inverse_dynamics(machine, motion)
    found = next(one for one in diagnose(machine, Recording(time, positions, efforts)) if one.code == 'singular_pose')
    assert found.evidence['condition'] > 50.0
    assert found.evidence['time_s'] == pytest.approx(5.0, abs=0.3)


def test_what_is_no_recording_of_the_machine_is_said(clean: Recording, nominal: Machine) -> None:
    assert diagnose(nominal, replace(clean, forces=clean.forces[::-1].copy()))[0].code == 'effort_unlike'
    far = replace(clean, drive_positions=clean.drive_positions + np.array([3.0, 0.0, 0.0, 0.0, 0.0, 0.0]))
    assert diagnose(nominal, far)[0].state is State.CANNOT_TELL
    with pytest.raises(RecordingError, match='expected'):
        diagnose(known_machine('valencia_3rps'), clean)
