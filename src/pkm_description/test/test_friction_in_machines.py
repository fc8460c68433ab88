"""Friction laws of machine files: reading, forces of the machine, regressors of joint selections."""

from __future__ import annotations

import copy
import dataclasses
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from pkm_description.bounded_yaml import bounded_file
from pkm_description.dynamics import friction_parameter_names, friction_parameters, friction_regressor, inverse_dynamics
from pkm_description.dynamics.friction import friction_torques
from pkm_description.errors import FrictionLawError, MachineFileError
from pkm_description.export.mjcf import mjcf_text
from pkm_description.export.urdf import urdf_text
from pkm_description.friction_laws import Stribeck, ViscousCoulomb, friction_law
from pkm_description.kinematics import joint_motion
from pkm_description.kinematics.workspace import random_states
from pkm_description.loading import load_machine, machine_file
from pkm_description.loading.yaml_reader import as_lists, by_name
from pkm_description.machine import JointFriction, Machine

PALIDA = by_name(machine_file('palida'), bounded_file(machine_file('palida')))
STRIBECK = {
    'law': 'stribeck',
    'viscous': [18.0, 19.0, 20.0, 21.0, 22.0, 23.0],
    'coulomb': 6.0,
    'static': 9.0,
    'stribeck_velocity': 0.05,
}


def machine_with(path: Path, **friction: dict[str, Any]) -> Machine:
    """PaLiDA with other friction, by joint of the leg chain."""
    content = copy.deepcopy(PALIDA)
    for joint, mapping in friction.items():
        content['leg_chain'][joint]['friction'] = mapping
    (path / 'machine.yaml').write_text(yaml.safe_dump(as_lists(content), sort_keys=False))
    return load_machine(path / 'machine.yaml')


def test_a_law_is_read_leg_by_leg(tmp_path):
    machine = machine_with(tmp_path, prismatic={**STRIBECK, 'exponent': 1.5, 'sign': 'tanh', 'sign_width': 0.001})
    for joint, viscous in zip(machine.actuated_joints, STRIBECK['viscous'], strict=True):
        law = joint.friction.law
        assert isinstance(law, Stribeck)
        assert (law.viscous, law.coulomb, law.static, law.exponent) == (viscous, 6.0, 9.0, 1.5)
        assert (law.sign.kind, law.sign.width) == ('tanh', 0.001)
        # what programs get that know no Stribeck curve: between the levels, and not far off at any speed
        speed = np.linspace(0.01, joint.limits.velocity, 50)
        pair = joint.friction.viscous * speed + joint.friction.coulomb
        assert 6.0 <= joint.friction.coulomb <= 9.0
        assert np.abs(pair - law.force(speed)).max() < 3.0
    assert machine.legs[0].joints[0].friction.law == ViscousCoulomb(viscous=0.0, coulomb=0.0)


def test_inverse_dynamics_adds_the_laws(tmp_path):
    """Friction of driven joints adds to the drive force; the power of passive joints reaches the drives."""
    passive = {'law': 'atan', 'viscous': 0.02, 'coulomb': 0.1, 'saturation': 0.05, 'slope': 3.0}
    machine = machine_with(tmp_path, prismatic=STRIBECK, universal_1=passive)
    motion = random_states(machine, 30)
    joints = joint_motion(machine, motion)
    share = inverse_dynamics(machine, motion) - inverse_dynamics(machine, motion, friction=False)
    driven, first = joints.velocities[:, 2::3], joints.velocities[:, ::3]
    strut = (
        6.0 * np.sign(driven) + 3.0 * np.sign(driven) * np.exp(-np.abs(driven) / 0.05) + STRIBECK['viscous'] * driven
    )
    cardan = 0.02 * first + 0.1 * np.sign(first) + 0.05 * np.arctan(3.0 * first)
    power = np.sum(strut * driven + cardan * first, axis=1)
    np.testing.assert_allclose(np.sum(share * driven, axis=1), power, rtol=1e-9)
    assert (power > 0.0).all()

    alone = machine_with(tmp_path, prismatic=STRIBECK)
    share = inverse_dynamics(alone, motion) - inverse_dynamics(alone, motion, friction=False)
    np.testing.assert_allclose(share, strut, rtol=1e-9)


@pytest.mark.parametrize('joints', ['actuated', 'all', 'class'])
def test_regressor_of_a_selection_is_the_friction_of_the_machine(tmp_path, joints):
    cardan = {'law': 'dead_band', 'viscous': 0.02, 'coulomb': 0.1, 'width': 0.01}
    first = {'viscous': 0.03, 'coulomb': 0.05}
    machine = machine_with(
        tmp_path,
        prismatic={**STRIBECK, 'viscous': 20.0} if joints == 'class' else STRIBECK,
        universal_1=first if joints != 'actuated' else {},
        universal_2=cardan if joints != 'actuated' else {},
    )
    motion = random_states(machine, 40, seed=3)
    regressor = friction_regressor(machine, joint_motion(machine, motion), joints=joints)
    names = friction_parameter_names(machine, joints)
    assert regressor.shape == (40, 6, len(names))
    assert len(names) == {'actuated': 18, 'all': 42, 'class': 7}[joints]
    share = inverse_dynamics(machine, motion) - inverse_dynamics(machine, motion, friction=False)
    np.testing.assert_allclose(regressor @ friction_parameters(machine, joints), share, atol=1e-9 * np.abs(share).max())
    expected = {
        'actuated': ['leg1_prismatic.viscous', 'leg1_prismatic.coulomb', 'leg1_prismatic.static'],
        'all': ['leg1_universal_1.viscous', 'leg1_universal_1.coulomb', 'leg1_universal_2.viscous'],
        'class': ['leg_universal_1.viscous', 'leg_universal_1.coulomb', 'leg_universal_2.viscous'],
    }[joints]
    assert names[:3] == expected
    values = dict(zip(names, friction_parameters(machine, joints), strict=True))
    if joints != 'class':
        assert values['leg4_prismatic.viscous'] == 21.0


def test_columns_of_a_class_are_sums_over_the_legs(tmp_path):
    machine = machine_with(tmp_path, universal_1={'viscous': 0.03, 'coulomb': 0.05})
    motion = random_states(machine, 20)
    joints = joint_motion(machine, motion)
    every = friction_regressor(machine, joints, joints='all', sign_smoothing=0.01)
    shared = friction_regressor(machine, joints, joints='class', sign_smoothing=0.01)
    assert every.shape[-1], shared.shape[-1] == (36, 6)
    np.testing.assert_allclose(shared, every.reshape(20, 6, 6, 6).sum(axis=2), atol=1e-12)
    with pytest.raises(ValueError, match=r"friction of leg2_prismatic is .* use joints='all'"):
        friction_parameters(machine, 'class')
    with pytest.raises(ValueError, match=r"joints = 'none': choose 'actuated', 'all' or 'class'"):
        friction_regressor(machine, joints, joints='none')


def test_a_class_shares_linear_parameters_only(tmp_path):
    """Each joint keeps its own nonlinear parameters, as guides under different loads with one coefficient."""
    each = {**STRIBECK, 'viscous': 20.0, 'stribeck_velocity': [0.05, 0.1, 0.06, 0.05, 0.2, 0.05]}
    machine = machine_with(tmp_path, prismatic=each)
    motion = random_states(machine, 20)
    regressor = friction_regressor(machine, joint_motion(machine, motion), joints='class')
    share = inverse_dynamics(machine, motion) - inverse_dynamics(machine, motion, friction=False)
    shared = friction_parameters(machine, 'class')
    np.testing.assert_allclose(regressor @ shared, share, atol=1e-9 * np.abs(share).max())
    leg = machine.legs[2]
    other = dataclasses.replace(leg.joints[2], friction=JointFriction.viscous_coulomb(20.0, 6.0))
    legs = (*machine.legs[:2], dataclasses.replace(leg, joints=(*leg.joints[:2], other)), *machine.legs[3:])
    with pytest.raises(ValueError, match=r'law of leg3_prismatic differs from that of leg1_prismatic'):
        friction_parameters(dataclasses.replace(machine, legs=legs), 'class')


def test_smoothing_of_a_call_overrides_the_sign_of_a_law(tmp_path):
    machine = machine_with(tmp_path, prismatic={**STRIBECK, 'viscous': 0.0})
    velocities = np.zeros((1, 18))
    velocities[:, machine.drive_columns] = 1e-4
    fading = np.exp(-1e-4 / 0.05)
    sharp = friction_torques(machine, velocities)[:, machine.drive_columns]
    np.testing.assert_allclose(sharp, 6.0 + 3.0 * fading, rtol=1e-12)
    smooth = friction_torques(machine, velocities, sign_smoothing=1e-3)[:, machine.drive_columns]
    np.testing.assert_allclose(smooth, np.tanh(0.1) * (6.0 + 3.0 * fading), rtol=1e-12)


def test_identified_parameters_go_back_into_the_law(tmp_path):
    friction = machine_with(tmp_path, prismatic=STRIBECK).actuated_joints[1].friction
    changed = friction.with_parameters({'static': 8.5, 'viscous': 17.0, 'mass': 3.0})
    assert changed.law == friction_law({**STRIBECK, 'viscous': 17.0, 'static': 8.5})


@pytest.mark.parametrize(
    ('change', 'key', 'reason'),
    [
        ({'law': 'stribek'}, 'law', "did you mean 'stribeck'?"),
        ({'law': ['stribeck'] * 6}, 'law', 'unknown law'),
        ({'statc': 9.0}, 'statc', "did you mean 'static'?"),
        ({'static': -1.0}, 'static', 'must be at least 0'),
        ({'static': [9.0, 9.0, -1.0, 9.0, 9.0, 9.0]}, 'static[2]', 'must be at least 0'),
        ({'static': [9.0, 9.0]}, 'static', 'has 2 entries for 6 legs'),
        ({'stribeck_velocity': 0.0}, 'stribeck_velocity', 'must be greater than 0'),
        ({'stribeck_velocity': '5e-2'}, 'stribeck_velocity', 'is a text to YAML'),
        ({'sign': 'tanh'}, 'sign_width', 'needs a velocity greater than 0'),
        ({'sign': 3}, 'sign', 'choose exact, tanh, dead_band'),
    ],
)
def test_bad_laws_in_a_file_are_refused(tmp_path, change, key, reason):
    with pytest.raises(MachineFileError) as error:
        machine_with(tmp_path, prismatic={**STRIBECK, **change})
    assert error.value.key == f'leg_chain.prismatic.friction.{key}'
    assert reason in str(error.value)


def test_missing_parameter_of_a_law_is_named(tmp_path):
    short = {key: value for key, value in STRIBECK.items() if key != 'static'}
    with pytest.raises(MachineFileError, match=r'friction\.static = None: is missing; law .* needs viscous, coulomb'):
        machine_with(tmp_path, prismatic=short)


def test_regressor_of_a_law_that_depends_on_the_load_asks_for_loads(tmp_path):
    law = {
        'law': 'load_dependent_stribeck',
        'viscous': 20.0,
        'coulomb_coefficient': 0.1,
        'static_coefficient': 0.2,
        'stribeck_velocity': 0.05,
        'viscous_count': 2,
    }
    machine = machine_with(tmp_path, prismatic=law)
    assert machine.actuated_joints[0].friction.viscous == pytest.approx(40.0)
    with pytest.raises(FrictionLawError, match=r'friction of leg1_prismatic depends on the force in the joint'):
        friction_regressor(machine, joint_motion(machine, random_states(machine, 2)))


def test_exports_get_the_nearest_viscous_and_coulomb_pair(tmp_path):
    machine = machine_with(tmp_path, prismatic={'law': 'power', 'viscous': 30.0, 'coulomb': 5.0, 'exponent': 0.5})
    pair = machine.legs[2].joints[2].friction
    joint = ElementTree.fromstring(mjcf_text(machine)).find(".//joint[@name='leg3_prismatic']")
    assert float(joint.get('damping')) == pytest.approx(pair.viscous, rel=1e-6)
    assert float(joint.get('frictionloss')) == pytest.approx(pair.coulomb, rel=1e-6)
    # the bent curve has more dry and less viscous friction than its parameters of these names
    assert pair.coulomb > 5.0 + 1.0 and pair.viscous < 30.0
    dynamics = ElementTree.fromstring(urdf_text(machine)).find(".//joint[@name='leg3_prismatic']/dynamics")
    assert (float(dynamics.get('damping')), float(dynamics.get('friction'))) == (pair.viscous, pair.coulomb)


@pytest.mark.parametrize('sign', [{}, {'sign': 'tanh', 'sign_width': 0.5}])
def test_the_pair_for_other_programs_is_derived_from_the_law(sign):
    """Viscous and Coulomb friction is its own pair to the last bit; every other law has the nearest one."""
    law = friction_law({'law': 'viscous_coulomb', 'viscous': 0.1, 'coulomb': 0.3, **sign})
    friction = JointFriction(law, speed=2.0)
    assert friction.is_viscous_coulomb == (not sign)
    if not sign:
        assert (friction.viscous, friction.coulomb) == (0.1, 0.3)
    else:  # the smooth sign makes friction at low speed look viscous
        assert friction.viscous > 0.1 and friction.coulomb < 0.3
    weaker = friction.with_parameters({'coulomb': 0.0, 'mass': 3.0})
    assert (weaker.law.viscous, weaker.law.coulomb, weaker.speed) == (0.1, 0.0, 2.0)
    assert JointFriction().is_viscous_coulomb and (JointFriction().viscous, JointFriction().coulomb) == (0.0, 0.0)


@pytest.mark.parametrize('law', [STRIBECK, {'viscous': 18.0, 'coulomb': 6.0}])
def test_an_offset_is_a_constant_force_beside_any_law(tmp_path: Path, law: dict[str, Any]) -> None:
    """It reaches the dynamics as it is, takes no power out of the machine, and no other program is told of it."""
    offsets = [1.0, -2.0, 3.0, -4.0, 5.0, -6.0]
    plain = machine_with(tmp_path, prismatic=law)
    machine = machine_with(tmp_path, prismatic={**law, 'offset': offsets})
    motion = random_states(plain, 5, seed=0)
    difference = inverse_dynamics(machine, motion) - inverse_dynamics(plain, motion)
    assert np.allclose(difference, offsets, atol=1e-9)
    own = machine.actuated_joints[1].friction
    assert own.law.offset == -2.0 and not own.is_viscous_coulomb and friction_law(own.law.mapping()) == own.law
    assert own.law.dissipated_power(0.1) == plain.actuated_joints[1].friction.law.dissipated_power(0.1)
    with pytest.raises(FrictionLawError, match='must be finite'):
        dataclasses.replace(own.law, offset=np.inf)
