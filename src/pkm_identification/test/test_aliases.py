"""Forces of drives that a motion cannot tell apart are named, with what parts them."""

from __future__ import annotations

import numpy as np
import pytest
from known_machines import known_machine
from pkm_description.dynamics import inverse_dynamics
from pkm_description.kinematics import drive_positions
from pkm_description.machine import Machine, PlatformMotion
from pkm_description.motion.coordinates import motion_from_coordinates
from pkm_description.motion.profiles import profile
from pkm_identification.columns.observation import observation_model
from pkm_identification.configuration import IdentificationConfig
from pkm_identification.fitting.aliases import Alias, aliases, aliases_of
from pkm_identification.fitting.model_fit import fit_model
from pkm_identification.preparation import prepare
from pkm_identification.recording.recording import Recording
from synthetic import recording

from pkm_identification import identify

RATE = 100.0


def found_aliases(machine: Machine, motion: PlatformMotion, **columns: object) -> tuple[Alias, ...]:
    """Aliases of all parameters, whether they are known well or not."""
    run = recording(machine, (motion, drive_positions(machine, motion), inverse_dynamics(machine, motion)), 0)
    config = IdentificationConfig.from_mapping({'columns.extend': False} | {
        f'columns.{name}': value for name, value in columns.items()})  # fmt: skip
    model = observation_model(machine, config, run.drive_positions, RATE)
    data = prepare(model, run, config)
    return aliases(data, fit_model(data, model, config), weak=model.names)


@pytest.fixture(scope='module')
def excitation(srs: Machine) -> PlatformMotion:
    return profile('fourier', srs, duration=16.0, rate=RATE)


def test_a_rich_motion_has_no_aliases(srs: Machine, excitation: PlatformMotion) -> None:
    """Friction, offset and spring of each drive are told apart by an excitation."""
    found = found_aliases(srs, excitation, terms=['offset', 'quadratic'])
    assert [one for one in found if one.own < 1e-3] == []


def test_drives_that_never_reverse(srs: Machine) -> None:
    """The platform rises all the time: an offset of the effort is Coulomb friction."""
    time = np.arange(2000) / RATE
    value, rate, second = (np.zeros((len(time), 6)) for _ in range(3))
    value[:, 2], rate[:, 2] = 0.02 * (time - 10.0), 0.02
    for axis in range(6):
        omega, size = 2.0 * np.pi * (0.3 + 0.13 * axis), 0.002 / (1.0 + axis)
        value[:, axis] += size * np.sin(omega * time)
        rate[:, axis] += size * omega * np.cos(omega * time)
        second[:, axis] -= size * omega**2 * np.sin(omega * time)
    found = found_aliases(srs, motion_from_coordinates(time, value, rate, second, srs.home), terms=['offset'])
    exact = [one for one in found if one.own < 1e-5]
    assert len(exact) == 6
    for one, joint in zip(exact, srs.actuated_joint_names, strict=True):
        assert {one.name, *one.others} == {f'{joint}.coulomb', f'{joint}.effort_offset'}
        assert 'is not told from' in str(one)
        assert 'move the drive both ways' in str(one)


def test_offset_is_friction_by_direction(srs: Machine, excitation: PlatformMotion) -> None:
    """Coulomb friction of its own for each direction, and an offset: three parameters, two forces."""
    found = found_aliases(srs, excitation, terms=['offset'], friction_law='asymmetric_coulomb')
    exact = [one for one in found if one.own < 1e-5]
    assert len(exact) == 6
    for one, joint in zip(exact, srs.actuated_joint_names, strict=True):
        names = {f'{joint}.{name}' for name in ('coulomb_positive', 'coulomb_negative', 'effort_offset')}
        assert {one.name, *one.others} == names
        assert 'free of load' in str(one)


def test_rotors_are_masses_of_sliders() -> None:
    """Horizontal guides: the inertia of a drive's rotor is not told from the mass of its slider."""
    machine = known_machine('khalifa_3prr')
    motion = profile('drives', machine, duration=20.0, rate=RATE)
    found = found_aliases(machine, motion, terms=['inertia'], friction_law='viscous_coulomb', identical_legs=False)
    exact = {one.name: one for one in found if one.own < 1e-5}
    names = [f'{joint}.rotor_inertia' for joint in machine.actuated_joint_names]
    assert set(names) <= set(exact)
    assert all('data sheet' in str(exact[name]) for name in names)
    assert any(other.endswith('.m') for name in names for other in exact[name].others)


@pytest.mark.usefixtures('fit_alone')
def test_the_result_warns(srs: Machine, excitation: PlatformMotion) -> None:
    positions = drive_positions(srs, excitation.position, excitation.rotation_base_platform)
    config = IdentificationConfig.from_mapping({
        'columns.extend': False, 'columns.terms': 'offset', 'columns.friction_law': 'asymmetric_coulomb',
    })  # fmt: skip
    result = identify(srs, Recording(excitation.time, positions, inverse_dynamics(srs, excitation)), config=config)
    text = [one for one in result.warnings if 'is not told from' in one]
    assert len(text) == 6
    assert 'leg1_prismatic.effort_offset' in text[0]


def test_only_parameters_that_are_not_known_are_hardly_told_apart(srs: Machine) -> None:
    alias = Alias('leg1.stiffness', ('platform_link.m',), 0.012, 'move farther')
    assert str(alias) == (
        'leg1.stiffness is hardly told from platform_link.m, 1.2 % of its force is its own: move farther'
    )


def test_collinear_columns_are_named_and_others_left_alone() -> None:
    random, names = np.random.default_rng(3), list('abcde')
    matrix = random.normal(size=(200, 5))
    assert aliases_of(matrix, names, names) == ()
    matrix[:, 3] = 100.0 * (matrix[:, 1] + matrix[:, 2] + 1e-3 * random.normal(size=200))
    (alias,) = aliases_of(matrix, names, names)
    assert {alias.name, *alias.others} == {'b', 'c', 'd'}
    assert 2e-4 < alias.own < 2e-3 and 'b is hardly told from' in str(alias)
