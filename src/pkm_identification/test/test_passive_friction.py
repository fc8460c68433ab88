"""Friction of passive joints that grows with the force in them: columns, fit, overlay."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from known_machines import known_machine
from pkm_description.dynamics import inverse_dynamics
from pkm_description.errors import ConfigurationError
from pkm_description.friction_laws import ViscousCoulomb
from pkm_description.friction_laws.laws import LoadDependentStribeck
from pkm_description.kinematics.workspace import random_states
from pkm_description.loading import load_machine
from pkm_description.machine import Machine
from pkm_description.machine.machine import with_friction
from pkm_identification.columns.friction_term import FrictionTerm
from pkm_identification.columns.joint_terms import THRUST_FRICTION, TRANSVERSE_FRICTION
from pkm_identification.columns.observation import ObservationModel, legs_agree, of_passive_joints
from pkm_identification.compare import compare_with_truth
from pkm_identification.configuration import ColumnSettings, IdentificationConfig
from pkm_identification.pipeline import identify
from pkm_identification.report.files import write_overlay
from pkm_identification.result import IdentificationResult
from pkm_identification.validation.delivered import delivered_machine
from synthetic import clean_signals, recording

#: m, and N m: 13 N m under the 3 kN that a joint of srs carries
RADIUS, COULOMB = 0.003, 4.0


def rubbing(machine: Machine, passive: LoadDependentStribeck | ViscousCoulomb) -> Machine:
    """Machine with another law in its passive joints."""
    return with_friction(
        machine, lambda joint: joint.friction if joint.actuated else replace(joint.friction, law=passive)
    )


BY_LOAD = LoadDependentStribeck(
    viscous=3.0, coulomb_coefficient=RADIUS, static_coefficient=RADIUS, stribeck_velocity=1.0,
    additional_load=COULOMB / RADIUS,
)  # fmt: skip


@pytest.mark.parametrize('name', ['srs', 'valencia_3rps', 'khalifa_3prr', 'hexaglide_6pus', 'octopod_8ups', 'delta'])
def test_columns_times_parameters_are_inverse_dynamics(name: str) -> None:
    """Laws by load in all passive joints: the model gives the library's forces, which iterate loads and friction."""
    law = replace(BY_LOAD, static_coefficient=1.5 * RADIUS, stribeck_velocity=0.3, additional_load=20.0)
    machine = rubbing(known_machine(name), law)
    model = ObservationModel(machine, identical_legs=legs_agree(machine), friction='all')
    motion = random_states(machine, 25, 3)
    regressor, known = model.regressor(motion)
    expected = inverse_dynamics(machine, motion)
    found = regressor @ model.parameters(machine) + known
    assert np.abs(found - expected).max() < 1e-9 * np.abs(expected).max()


def coefficients(result: IdentificationResult) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients of the passive joints with their standard deviations."""
    places = [
        place for place, name in enumerate(result.physical.names)
        if name.endswith('.transverse_friction') and 'prismatic' not in name
    ]  # fmt: skip
    return result.physical.values[places], result.physical.std[places]


@pytest.mark.usefixtures('fit_alone')
def test_clean_data_give_the_coefficients(srs: Machine) -> None:
    """What is left is what smoothing does to the signs at 250 samples per second."""
    signals = clean_signals(rubbing(srs, BY_LOAD), 'fourier', 15.0, 250.0, 0)
    nominal = rubbing(srs, ViscousCoulomb(viscous=1.0, coulomb=1.0))
    config = IdentificationConfig.from_mapping({
        'columns.friction': 'all', 'columns.terms': ['transverse_friction'], 'columns.extend': False
    })  # fmt: skip
    result = identify(nominal, recording(srs, signals, None), config=config)
    values, _ = coefficients(result)
    print('relative errors', np.round(values / RADIUS - 1.0, 4))
    assert len(values) == 12
    assert np.abs(values / RADIUS - 1.0).max() < 0.02
    assert result.training.filtered_error.relative < 1e-4


@pytest.fixture(scope='module')
def found(srs: Machine) -> IdentificationResult:
    """Return an identification of noisy data, with the settings as they are."""
    truth = rubbing(srs, replace(BY_LOAD, viscous=0.0, additional_load=0.0))
    return identify(srs, recording(srs, clean_signals(truth, 'fourier', 16.0, 100.0, 0), 1))


def test_friction_by_load_is_added_and_found(srs: Machine, found: IdentificationResult) -> None:
    """The extension finds it, and its standard deviations are honest."""
    assert found.added[0].endswith("force across the joint's axis, in passive joints")
    values, std = coefficients(found)
    deviations = (values - RADIUS) / std
    print('coefficients', np.round(values, 5), 'std', np.round(std, 5))
    assert np.abs(deviations).max() < 4.0
    assert 0.3 < np.sqrt(np.mean(deviations**2)) < 1.6
    # those of a joint have what a force would change of which it is not sure whether it is there
    assert np.median(std) < 0.05 * RADIUS and std.max() < 0.35 * RADIUS
    rows = compare_with_truth(found, srs)
    assert max(abs(row.standardised_error) for row in rows if row.status == 'identified') < 4.0


def test_overlay_carries_it(srs: Machine, found: IdentificationResult, tmp_path: Path) -> None:
    """The law with both parts is in the overlay, and gives the forces of the identified machine."""
    assert found.delivered is not None and not found.delivered.problem
    assert not any('axis' in text for text in found.delivered.lost)
    reloaded = load_machine('srs', overlay=write_overlay(found, tmp_path / 'overlay.yaml'))
    joint = reloaded.legs[0].joints[0]
    assert isinstance(joint.friction.law, LoadDependentStribeck)
    assert found.identified_machine is not None
    motion = random_states(srs, 30, 4)
    expected = inverse_dynamics(found.identified_machine, motion)
    assert inverse_dynamics(reloaded, motion) == pytest.approx(expected, rel=1e-9, abs=1e-6)
    text = (tmp_path / 'overlay.yaml').read_text()
    assert 'leg_chain.universal_1.friction.coulomb_coefficient.leg1' in text  # its standard deviation


@pytest.mark.usefixtures('fit_alone')
@pytest.mark.parametrize('seed', [2, pytest.param(3, marks=pytest.mark.campaign)])
def test_friction_that_noise_would_lock_does_not_stop_the_fit(seed: int) -> None:
    """Loads take friction as far as the data know it: 50 N of noise hide it here."""
    machine = known_machine('valencia_3rps')
    signals = clean_signals(rubbing(machine, BY_LOAD), 'drives', 10.0, 100.0, 0)
    config = IdentificationConfig.from_mapping({
        'columns.friction': 'all', 'columns.terms': ['transverse_friction'], 'columns.extend': False
    })  # fmt: skip
    result = identify(machine, recording(machine, signals, seed), config=config)
    assert result.training.fitted.filtered_error.relative < 0.1


def test_what_an_overlay_drops_is_said(srs: Machine) -> None:
    machine_terms = [of_passive_joints(srs, THRUST_FRICTION), of_passive_joints(srs, TRANSVERSE_FRICTION)]
    model = ObservationModel(srs, friction='all').with_terms((FrictionTerm.of(srs, 'all'), *machine_terms))
    assert delivered_machine(model, srs).lost == (THRUST_FRICTION.title,)


def test_thrust_friction_is_for_passive_joints() -> None:
    with pytest.raises(ConfigurationError, match="passive joints: use friction = 'all'"):
        ColumnSettings(terms=('thrust_friction',))
