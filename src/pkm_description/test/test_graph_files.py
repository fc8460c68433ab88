"""Machine files with legs of any kind: what they become, and how mistakes in them are refused."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from pathlib import Path

import numpy as np
import pytest
import yaml
from graph_machines import CONTENT, NAMES, agile_eye, from_content, refusal
from pkm_description.errors import KinematicsError, MachineFileError
from pkm_description.loading import load_machine
from pkm_description.loading.load import machine_of_content
from pkm_description.loading.yaml_reader import as_lists
from pkm_description.machine import JointLimits
from wrong_machines import MISSING, check, written

ARM = 'leg_chains.arm'
COUPLING = 'leg_chains.strut.closures.coupling'


@pytest.mark.parametrize(
    ('name', 'joints', 'freedom', 'drives', 'constraints'),
    [
        ('delta', 21, 3, 3, 3),
        ('five_bar', 4, 2, 2, 4),
        ('tricept', 12, 3, 3, 3),
        ('three_upu', 9, 3, 3, 3),
        ('octopod_8ups', 24, 6, 8, 0),
        ('four_rrr', 8, 3, 4, 3),
    ],
)
def test_freedoms_and_drives(name: str, joints: int, freedom: int, drives: int, constraints: int) -> None:
    machine = from_content(name, {})
    assert len(machine.joints) == joints == len(machine.joint_names)
    assert (machine.degrees_of_freedom, machine.actuated_count) == (freedom, drives)
    assert machine.constraint_count == constraints + 0 * machine.planar
    assert machine.is_redundant == (drives > freedom)
    assert [machine.joints[place].actuated for place in machine.drive_columns] == [True] * drives
    assert machine.parameters.shape == (joints + 1, 10)
    assert sum(part.stop - part.start for part in machine.leg_slices) == joints


def test_rods_may_turn_about_themselves() -> None:
    machine = from_content('delta', {})
    columns = set(machine.model.column_joint.tolist())
    idle = {joint.name for place, joint in enumerate(machine.joints) if place not in columns}
    assert idle == {f'leg{leg}_{side}_ball_3' for leg in (1, 2, 3) for side in ('left', 'right')}
    assert not any(place in machine.drive_columns for place in range(len(machine.joints)) if place not in columns)


def test_idle_turn_is_found_whatever_the_axes() -> None:
    """The axis about which the rod may turn is no axis of its joint: one of the three joints is locked all the same."""
    machine = from_content(
        'delta', {f'{ARM}.joints.{side}_ball.axis': [0.6, 0.0, 0.8] for side in ('left', 'right')}
        | {f'{ARM}.joints.{side}_ball.home': [0.0, 0.0, 0.0] for side in ('left', 'right')},
    )  # fmt: skip
    assert len(machine.model.column_joint) == 15
    assert machine.degrees_of_freedom == 3


def test_home_is_solved_exactly() -> None:
    """Joint positions of the file are a start only."""
    rough = from_content('delta', {f'{ARM}.joints.shoulder.home': 0.3, f'{ARM}.joints.left_ball.home': [0.1, 0.4, 0.0]})
    exact = from_content('delta', {})
    np.testing.assert_allclose(rough.model.home_joints, exact.model.home_joints, atol=1e-12)


def test_a_universal_joint_is_two_revolutes() -> None:
    content = copy.deepcopy(CONTENT['tricept'])
    content.pop('provenance')
    chain = content['leg_chains']['drive']['joints']
    whole = chain.pop('universal')
    shared = {'type': 'revolute', 'limits': whole['limits']}
    cross = {'name': 'cross', 'mass': 1e-3, 'center_of_mass': [0.0] * 3}
    cross['inertia'] = dict.fromkeys(('ixx', 'iyy', 'izz'), 1e-9) | dict.fromkeys(('ixy', 'ixz', 'iyz'), 0.0)
    first = shared | {'axis': whole['axes'][0], 'origin': whole['origin'], 'home': whole['home'][0], 'body': cross}
    second = shared | {
        'axis': whole['axes'][1], 'origin': {'xyz': [0.0] * 3, 'rpy': [0.0] * 3}, 'body': whole['body'],
    }  # fmt: skip
    content['leg_chains']['drive']['joints'] = {'universal_1': first, 'universal_2': second, **chain}
    apart = machine_of_content(Path('apart.yaml'), as_lists(content))
    machine = from_content('tricept', {})
    assert apart.joint_names == machine.joint_names
    np.testing.assert_allclose(apart.model.home_joints, machine.model.home_joints, atol=1e-14)
    assert [joint.part_of for joint in machine.joints[:3]] == ['leg1_universal', 'leg1_universal', '']
    assert machine.joints[0].body.mass == 0.0
    assert (machine.model.closed_form > 0).tolist() == [True, True, True, False]


def test_lists_have_one_entry_per_leg_of_the_chain() -> None:
    machine = from_content('tricept', {'leg_chains.drive.joints.prismatic.body.mass': [5.0, 6.0, 7.0]})
    assert [leg.joints[-1].body.mass for leg in machine.legs] == [5.0, 6.0, 7.0, 15.0]
    error = refusal('tricept', {'leg_chains.drive.joints.prismatic.body.mass': [5.0, 6.0, 7.0, 8.0]})
    assert error.key == 'leg_chains.drive.joints.prismatic.body.mass'
    assert 'has 4 entries for 3 legs' in str(error)


def test_sensors_of_a_machine_with_other_numbers_of_legs_and_drives() -> None:
    noise = from_content('tricept', {'sensors.legs.effort_noise': [1.0, 2.0, 3.0]}).leg_sensors.effort_noise
    assert noise.tolist() == [1.0, 2.0, 3.0]
    error = refusal('tricept', {'sensors.legs.effort_noise': [1.0, 2.0, 3.0, 4.0]})
    assert 'has 4 entries for 3 drives; give one number, or one per drive' in str(error)


def test_weights_of_redundant_drives() -> None:
    assert from_content('four_rrr', {}).model.drive_weight.tolist() == [1.0] * 4
    machine = from_content('four_rrr', {'drive_forces': {'weights': {'leg3_crank': 2.5}}})
    assert machine.model.drive_weight.tolist() == [1.0, 1.0, 2.5, 1.0]


def test_an_overlay_reaches_into_chains(tmp_path: Path) -> None:
    path, overlay = written(tmp_path, CONTENT['delta']), tmp_path / 'overlay.yaml'
    key = f'{ARM}.joints.shoulder.friction.coulomb'
    overlay.write_text(yaml.safe_dump({
        'overlay': {'machine': 'delta'},
        'leg_chains': {'arm': {'joints': {'shoulder': {'friction': {'coulomb': [0.5, 0.6, 0.7]}}}}},
    }))  # fmt: skip
    machine = load_machine(path, overlay)
    assert machine.coulomb[machine.drive_columns].tolist() == [0.5, 0.6, 0.7]
    assert machine.provenance[key].startswith('overlay')


def test_overconstrained_loops_of_exact_geometry_load() -> None:
    """Agile Eye: the three legs hold the centre three times."""
    machine = machine_of_content(Path('agile_eye.yaml'), agile_eye())
    assert (machine.degrees_of_freedom, machine.constraint_count, machine.is_redundant) == (3, 9, False)


def test_copies_keep_no_results() -> None:
    machine = from_content('delta', {})
    _ = machine.compiled_model, machine.scratch
    again = pickle.loads(pickle.dumps(machine))
    np.testing.assert_array_equal(again.model.home_joints, machine.model.home_joints)
    weightless = dataclasses.replace(machine, gravity=np.zeros(3))
    assert weightless.model.gravity.tolist() == [0.0, 0.0, 0.0]
    assert weightless.scratch[0] is not machine.scratch[0]


def test_a_drive_that_holds_nothing() -> None:
    machine = from_content('delta', {})
    spin = dataclasses.replace(machine.legs[0].joints[3], actuated=True, limits=JointLimits(-1.0, 1.0, 1.0, 1.0))
    leg = machine.legs[0]
    leg = dataclasses.replace(leg, joints=(*leg.joints[:3], spin, *leg.joints[4:]))
    with pytest.raises(KinematicsError, match='a drive of leg1 .*leg1_left_ball_3.* holds nothing'):
        _ = dataclasses.replace(machine, legs=(leg, *machine.legs[1:])).model


REFUSED = [
    ('delta', {f'{ARM}.joints.left_ball.parent': 'forearm'}, f'{ARM}.joints.left_ball.parent', 'forearm',
     'is no body that stands before this joint; choose one of: base_link, arm'),
    ('delta', {f'{ARM}.closures.left_end.body': 'rod'}, f'{ARM}.closures.left_end.body', 'rod',
     'is no body of this chain; choose one of: arm, left_rod, right_rod'),
    ('delta', {f'{ARM}.closures.left_end.to': 'plattform'}, f'{ARM}.closures.left_end.to', 'plattform',
     'choose one of: platform, base, arm'),
    ('delta', {f'{ARM}.closures.left_end.to': 'left_rod'}, f'{ARM}.closures.left_end.to', 'left_rod',
     'is the body itself'),
    ('delta', {f'{ARM}.closures.left_end.type': 'hinge'}, f'{ARM}.closures.left_end.type', 'hinge',
     'choose one of: ball, universal, pin, fixed'),
    ('five_bar', {'leg_chains.pinned.closures.pin.type': 'ball'}, 'leg_chains.pinned.closures.pin.type', 'ball',
     'in a planar machine choose one of: pin, fixed'),
    ('delta', {f'{ARM}.closures.left_end.to': 'base', f'{ARM}.closures.right_end.to': 'base'}, f'{ARM}.closures',
     MISSING, 'does not reach the platform'),
    ('delta', {'legs.leg1.chain': 'arms'}, 'legs.leg1.chain', 'arms', "did you mean 'arm'?"),
    ('delta', {'leg_chains.spare': CONTENT['delta']['leg_chains']['arm']}, 'leg_chains.spare', None,
     'no leg uses this chain'),
    ('delta', {'leg_chain': []}, 'leg_chain', {}, "unknown key; did you mean 'leg_chains'?"),
    ('delta', {f'{ARM}.joints.left_ball.type': 'ball'}, f'{ARM}.joints.left_ball.type', 'ball', "'spherical'"),
    ('delta', {f'{ARM}.joints.left_ball.actuated': True}, f'{ARM}.joints.left_ball.actuated', True,
     'a spherical joint is passive; write it as revolute'),
    ('tricept', {'leg_chains.guide.joints.universal.axes': [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]},
     'leg_chains.guide.joints.universal.axes', MISSING, 'must be perpendicular; the cosine between them is 1'),
    ('tricept', {'leg_chains.guide.joints.universal.axes': [1.0, 0.0, 0.0]}, 'leg_chains.guide.joints.universal.axes',
     [1.0, 0.0, 0.0], 'must be a list of the two axes'),
    ('tricept', {'leg_chains.guide.closures.flange.cone': 0.5}, 'leg_chains.guide.closures.flange.cone', 0.5,
     'limits balls'),
    ('delta', {'drive_forces': 'most'}, 'drive_forces', 'most', 'choose minimum_norm, or give weights'),
    ('delta', {'drive_forces': {'weights': {'leg1_shoulder': 2.0}}}, 'drive_forces', [2.0, 1.0, 1.0],
     'there are 3 drives for 3 degrees of freedom'),
    ('octopod_8ups', {'drive_forces': {'weights': {'leg1_prism': 2.0}}}, 'drive_forces.weights.leg1_prism', 2.0,
     "did you mean 'leg1_prismatic'?"),
    # graphs that cannot be a machine
    ('five_bar', {'leg_chains.pinned.joints.drive.actuated': False}, 'legs', ['leg1', 'leg2'],
     '2 degrees of freedom, but the number of drives is 1'),
    ('tricept', {'leg_chains.guide.closures.flange.type': 'pin'}, 'legs', MISSING,
     '4 degrees of freedom, but the number of drives is 3'),
    ('delta', {f'{ARM}.closures.left_end.body': 'right_rod'}, 'leg_chains', None, 'leg1_left_rod ends free'),
    ('three_upu', {f'{COUPLING}.type': 'fixed', f'{COUPLING}.rpy': [0.0, 0.380506377112365, 0.0]}, 'legs', MISSING,
     'no degree of freedom: it cannot move'),
    ('tricept', {'legs.middle.platform_rpy': [0.0, 0.0, 3.1415926]}, 'leg_chains.guide.closures.flange', None,
     'middle_flange is closed turned over at home ... turn rpy or to_rpy by half a turn'),
    ('delta', {'platform.home.xyz': [0.0, 0.0, -2.5]}, 'leg_chains', None, 'leg1 misses its closures at home by 0.7'),
    ('three_upu',
     {f'legs.leg{leg}.base_point': CONTENT['three_upu']['legs'][f'leg{leg}']['platform_point'] for leg in (1, 2, 3)}
     | {'leg_chains.strut.joints.universal.home': [0.0, 0.0]}, 'legs', MISSING, 'the loops close at home only'),
]  # fmt: skip


@pytest.mark.parametrize(('name', 'changes', 'key', 'value', 'words'), REFUSED)
def test_strange_graphs_are_refused(name: str, changes: dict[str, object], key: str, value: object, words: str) -> None:
    error = refusal(name, changes)
    check(error, error.path, key, value, words)


def test_a_leg_that_moves_by_itself(tmp_path: Path) -> None:
    """One more revolute in a strut between ball joints: elbow and strut swing about the line between the joints."""
    content = copy.deepcopy(CONTENT['three_upu'])
    content.pop('provenance')
    chain = content['leg_chains']['strut']
    extra = copy.deepcopy(chain['joints']['prismatic'])
    for key in ('actuated', 'rotor_inertia', 'limits', 'home'):
        del extra[key]
    extra |= {'type': 'revolute', 'axis': [1.0, 0.0, 0.0], 'origin': {'xyz': [0.0, 0.0, 0.3], 'rpy': [0.0, 0.0, 0.0]}}
    extra['body'] |= {'name': 'knee'}
    first, last = chain['joints'].values()
    chain['joints'] = {'universal': first, 'knee': extra, 'prismatic': last}
    last['origin']['xyz'] = [0.0, 0.0, 0.25]
    chain['closures']['coupling']['type'] = 'ball'
    with pytest.raises(MachineFileError, match='leg1 has more freedom than platform and closures determine: .*knee'):
        machine_of_content(tmp_path / 'machine.yaml', as_lists(content))


def test_all_numbers_have_a_stated_origin() -> None:
    from pkm_description.inspection.describe import count_origins

    for name in NAMES:
        assert 'not stated' not in count_origins(CONTENT[name], CONTENT[name]['provenance']), name
