from __future__ import annotations

import numpy as np
import pytest
from pkm_bringup.simulation import ControlledSimulation, Sample
from pkm_bringup.simulation.faults import IMU_FAULTS, LEG_FAULTS, FaultError, SensorFaults
from pkm_description.loading import load_machine

MACHINE = load_machine('palida')
LEGS = np.arange(6)
LABELS = MACHINE.drive_labels


@pytest.fixture(scope='module')
def samples() -> list[Sample]:
    """Samples of both sensors of a machine at home, with noise."""
    simulated = ControlledSimulation(MACHINE)
    taken = [simulated.step() for _ in range(400)]
    return [sample for sample in taken if sample is not None and sample.joints is not None and sample.imu is not None]


def positions(samples: list[Sample], *faults: str) -> np.ndarray:
    broken = SensorFaults(LABELS, faults)
    return np.array([broken.apply(sample).joints.positions for sample in samples])


def test_no_fault_changes_nothing(samples: list[Sample]) -> None:
    for texts in ((), ('none',)):
        faults = SensorFaults(LABELS, texts)
        assert faults.texts == () and all(faults.apply(sample) is sample for sample in samples)


def test_faults_of_positions_concern_their_leg_only(samples: list[Sample]) -> None:
    clean = positions(samples)
    expected = {
        'leg3 stuck': lambda change: change[0] == 0.0 and np.ptp(clean[:, 2] + change) == 0.0,
        'leg3 offset -0.005': lambda change: np.allclose(change, -0.005),
        'leg3 spikes 0.25 0.02': lambda change: 0.1 < np.isclose(np.abs(change), 0.02).mean() < 0.4
        and (np.isclose(np.abs(change), 0.02) | (change == 0.0)).all() and change.min() < 0.0 < change.max(),
        'leg3 noisy 0.001': lambda change: 0.0007 < change.std() < 0.0013,
        'leg3 reversed': lambda change: np.allclose(change, -2.0 * clean[:, 2]),
        'leg3 no_force': lambda change: (change == 0.0).all(),
    }  # fmt: skip
    assert {text.split()[1] for text in expected} | {'missing'} == set(LEG_FAULTS)
    for text, holds in expected.items():
        change = positions(samples, text) - clean
        assert (change[:, LEGS != 2] == 0.0).all(), text
        assert holds(change[:, 2]), text


def test_spikes_have_a_size_of_their_own(samples: list[Sample]) -> None:
    change = positions(samples, 'leg1 spikes 1.0') - positions(samples)
    np.testing.assert_allclose(np.abs(change[:, 0]), 0.01)


def test_several_faults_of_one_leg(samples: list[Sample]) -> None:
    change = positions(samples, 'leg2 offset 0.003', 'leg2 offset 0.004', 'leg5 offset 1') - positions(samples)
    np.testing.assert_allclose(change[0], [0.0, 0.007, 0.0, 0.0, 1.0, 0.0])


def test_missing_legs_and_forces(samples: list[Sample]) -> None:
    faults = SensorFaults(LABELS, ['leg5 missing', 'leg1 no_force', 'leg1 missing'])
    assert faults.missing_legs == {0, 4}
    efforts = faults.apply(samples[0]).joints.efforts
    assert np.isnan(efforts[0]) and (efforts[1:] == samples[0].joints.efforts[1:]).all()


def test_faults_of_the_imu(samples: list[Sample]) -> None:
    first, second = samples[0].imu, samples[1].imu
    seen = {}
    for kind in IMU_FAULTS:
        faults = SensorFaults(LABELS, [f'imu {kind}'])
        faults.apply(samples[0])
        changed = faults.apply(samples[1])
        assert changed.joints is samples[1].joints
        seen[kind] = changed.imu
    assert seen.pop('missing') is None
    assert seen.pop('frozen') is first
    force, rate = second.specific_force, second.angular_rate
    signs = np.array([1.0, -1.0, -1.0])
    wanted = {
        'upside_down': (signs * force, signs * rate),
        'in_g': (force / 9.80665, rate),
        'in_degrees': (force, np.rad2deg(rate)),
        'negative': (-force, rate),
    }
    assert set(seen) == set(wanted)
    for kind, (wanted_force, wanted_rate) in wanted.items():
        np.testing.assert_allclose(seen[kind].specific_force, wanted_force)
        np.testing.assert_allclose(seen[kind].angular_rate, wanted_rate)


def test_the_same_seed_gives_the_same_spikes(samples: list[Sample]) -> None:
    assert (positions(samples, 'leg1 spikes 0.5') == positions(samples, 'leg1 spikes 0.5')).all()


@pytest.mark.parametrize(
    ('text', 'said'),
    [
        ('leg7 stuck', "no fault 'leg7 stuck'; there are leg1 to leg6: stuck, offset METRES"),
        ('leg0 stuck', 'no fault'),
        ('leg3', "no fault 'leg3'"),
        ('', "no fault ''"),
        ('leg3 stucked', 'imu: frozen, missing, upside_down'),
        ('imu stuck', 'no fault'),
        ('gyro frozen', 'no fault'),
        ('leg3 offset', "fault 'leg3 offset': write leg3 offset METRES"),
        ('leg3 stuck 1', 'write leg3 stuck ('),
        ('leg3 offset 1 2', 'write leg3 offset METRES'),
        ('leg3 offset far', "METRES = 'far' is not a finite number"),
        ('leg3 offset nan', 'not a finite number'),
        ('leg3 spikes 1.5', 'PART = 1.5 must be from 0 to 1'),
        ('leg3 spikes 0.1 wide', "METRES = 'wide'"),
    ],
)
def test_wrong_texts_are_refused_with_what_is_allowed(text: str, said: str) -> None:
    with pytest.raises(FaultError) as refused:
        SensorFaults(LABELS, [text])
    assert said in str(refused.value)


def test_none_stands_alone() -> None:
    with pytest.raises(FaultError, match='or none alone'):
        SensorFaults(LABELS, ['none', 'leg1 stuck'])
