"""Faults of recordings, named with drive and size; analytic recordings of a machine that is not the nominal one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from known_machines import known_machine
from pkm_description.dynamics import inverse_dynamics
from pkm_description.errors import Finding, State
from pkm_description.kinematics import drive_positions, motion_from_drives
from pkm_description.machine import Machine, PlatformMotion
from pkm_description.motion.coordinates import motion_from_coordinates
from pkm_description.motion.profiles import DriveSines, profile
from pkm_identification.diagnosis import diagnose, text_of
from pkm_identification.diagnosis.arrangement import arrangement, outliers
from pkm_identification.diagnosis.force_model import force_model, rows_of
from pkm_identification.errors import RecordingError
from pkm_identification.motion_source.filters import derivatives, low_pass
from pkm_identification.recording.recording import Recording
from scipy.interpolate import CubicSpline
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
    assert arrangement(machine, nominal, swapped, right).order.tolist() == [1, 0, 2]
    assert arrangement(machine, nominal, swapped, wrong).order.tolist() == [0, 1, 2]


def test_gain_and_delay_are_measured_together(clean: Recording, nominal: Machine) -> None:
    efforts = changed(clean, 1, 1.2 * clean.forces[:, 1])
    late = np.stack([np.interp(clean.time - 0.0041, clean.time, column) for column in efforts.T], axis=1)
    findings = {finding.code: finding for finding in diagnose(nominal, replace(clean, forces=late))}
    assert set(findings) == {'effort_gain', 'effort_delay'}
    assert findings['effort_gain'].drives == ('leg2',)
    assert findings['effort_gain'].evidence['gain'] == pytest.approx(1.2, abs=0.01)
    assert findings['effort_delay'].evidence['delay_s'] == pytest.approx(0.0041, abs=2e-4)


def test_saturation(clean: Recording, nominal: Machine) -> None:
    limit = np.quantile(clean.forces[:, 2], 0.95)
    found = of_one(clean, nominal, changed(clean, 2, np.minimum(clean.forces[:, 2], limit)))
    assert (found.code, found.drives) == ('effort_saturation', ('leg3',))
    assert found.evidence['level'] == pytest.approx(limit)
    assert found.evidence['lacking'] > 0.0


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


def test_ripple(clean: Recording, nominal: Machine) -> None:
    ripple = 20.0 * np.sin(2.0 * np.pi * clean.drive_positions[:, 5] / 0.012 + 1.0)
    found = of_one(clean, nominal, changed(clean, 5, clean.forces[:, 5] + ripple))
    assert (found.code, found.drives) == ('effort_ripple', ('leg6',))
    assert found.evidence['period'] == pytest.approx(0.012, rel=0.005)
    assert found.evidence['amplitude'] == pytest.approx(20.0, rel=0.15)


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


def test_what_one_frequency_per_drive_cannot_tell_is_said() -> None:
    """A delay of 4 ms then has the force of viscous friction: nothing is named, and that is said."""
    machine, time = known_machine('delta'), np.arange(0.0, 12.0, 0.004)
    motion = DriveSines(machine, 12.0, 0.8, seed=1).evaluate(time)
    positions = drive_positions(machine, motion.position, motion.rotation_base_platform)
    late = CubicSpline(time, inverse_dynamics(machine, motion))(np.maximum(time - 0.004, 0.0))
    efforts = late + 0.02 * np.random.default_rng(0).normal(size=late.shape)
    found = diagnose(machine, Recording(time, positions, efforts))
    delay = next(one for one in found if one.code == 'effort_delay')
    assert delay.state is State.CANNOT_TELL and 'several frequencies' in delay.remedy
    assert delay.evidence['least_s'] > 0.004


@pytest.fixture(scope='module')
def lagging() -> Recording:
    """Return a recording in which friction comes late: bristles deflect before they slide (no law of ours)."""
    machine, rate = known_machine('hexaglide_6pus'), 1000.0
    motion = profile('fourier', machine, 14.0, rate, 3)
    positions = drive_positions(machine, motion.position, motion.rotation_base_platform)
    rates = derivatives(motion.time, positions)[0]
    efforts = inverse_dynamics(machine, motion, friction=False) + 3.0 * rates
    stiffness = 9.0 / 150e-6
    bristles = np.zeros(6)
    for place, velocity in enumerate(rates):
        level = 9.0 + 5.0 * np.exp(-((velocity / 0.06) ** 2))
        sliding = np.sign(velocity) * level / stiffness
        bristles = sliding + (bristles - sliding) * np.exp(-stiffness * np.abs(velocity) / level / rate)
        efforts[place] += stiffness * bristles
    noise = np.random.default_rng(0).normal(size=efforts.shape)
    return Recording(motion.time, positions, efforts + 0.05 * noise)


@pytest.mark.parametrize('late', [0.0, 0.004])
def test_friction_that_lags_is_no_delay(lagging: Recording, late: float) -> None:
    """Friction comes late, efforts do not."""
    shifted = CubicSpline(lagging.time, lagging.forces)(np.maximum(lagging.time - late, 0.0))
    found = diagnose(known_machine('hexaglide_6pus'), replace(lagging, forces=shifted))
    assert [one.code for one in found] == (['effort_delay'] if late else [])
    # without a lag of the friction beside it, the delay would be 2.7 ms
    assert all(one.evidence['delay_s'] == pytest.approx(late, abs=8e-4) for one in found)


def test_an_encoder_that_flickers_at_rest_has_no_outliers() -> None:
    positions = np.zeros((2000, 1))
    positions[[300, 900, 901, 1500]] = 1e-5
    assert not outliers(positions, 'position').any()
    positions[1200] = 1e-3
    assert outliers(positions, 'position').sum() == 1


def test_a_plateau_at_the_limit_of_the_drive(clean: Recording, nominal: Machine) -> None:
    """A drive that cannot do more does not follow: the machine asks for no more than it gives."""
    place = int(np.argmax(clean.forces[:, 3]))
    near = slice(place - 8, place + 8)
    efforts = clean.forces.copy()
    efforts[near, 3] = efforts[near, 3].mean() + 1e-3 * np.random.default_rng(0).normal(size=16)
    level = float(efforts[near, 3].mean())
    weak = with_effort_limit(nominal, level)
    codes = [one.code for one in diagnose(weak, replace(clean, forces=efforts))]
    assert 'effort_saturation' in codes


def test_rows_hold_for_what_is_left(clean: Recording, nominal: Machine) -> None:
    """Rows of forces at the poses are those of the same forces at all samples, whatever is left out."""
    model = force_model(nominal, clean)
    left_out = np.random.default_rng(2).uniform(size=clean.forces.shape) < 0.2
    left_out[300:330] = True
    rows = rows_of(model, left_out)
    forces = inverse_dynamics(nominal, forces_motion(nominal, clean), friction=False)
    at_poses, at_samples = rows.of_poses(forces[model.places]), rows.of_samples(forces)
    assert np.abs(at_poses - at_samples).max() < 2e-4 * np.std(forces)
    assert (rows.used.sum(axis=0) > 20).all()
    spoiled = clean.forces + 1e9 * left_out
    assert np.allclose(rows.of_samples(spoiled), rows.of_samples(clean.forces), rtol=0.0, atol=1e-6)


def forces_motion(machine: Machine, clean: Recording) -> PlatformMotion:
    rates, accelerations = derivatives(clean.time, low_pass(clean.drive_positions, clean.sample_rate, 8.0))
    smooth = low_pass(clean.drive_positions, clean.sample_rate, 8.0)
    return motion_from_drives(machine, clean.time, smooth, rates, accelerations)


def with_effort_limit(machine: Machine, effort: float) -> Machine:
    legs = [
        replace(leg, joints=tuple(
            replace(joint, limits=replace(joint.limits, effort=effort)) if joint.actuated else joint
            for joint in leg.joints
        )) for leg in machine.legs
    ]  # fmt: skip
    return replace(machine, legs=tuple(legs))
