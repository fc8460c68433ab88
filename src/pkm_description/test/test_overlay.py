"""Overlays: values of a machine file replaced by those of another file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pkm_description.errors import MachineFileError
from pkm_description.loading import load_machine, machine_file, write_overlay

HEADER = {'date': '2026-11-21', 'data': 'run_7.mcap', 'method': 'weighted least squares'}
VISCOUS = [21.0, 19.0, 23.0, 22.0, 18.0, 20.0]


def _refused(overlay: Path, machine: str = 'palida') -> MachineFileError:
    with pytest.raises(MachineFileError) as caught:
        load_machine(machine, overlay)
    return caught.value


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = write_overlay(
        tmp_path / 'overlay.yaml',
        'palida',
        {
            'platform.body.mass': np.float64(8.123456789012345),
            'platform.body.center_of_mass': np.array([0.011, -0.005, 0.031]),
            'leg_chain.prismatic.friction.viscous': VISCOUS,
            'leg_chain.prismatic.body.center_of_mass': [5e-4, [1e-3, 2e-3, 3e-3, 4e-3, 5e-3, 6e-3], -0.35],
            'leg_chain.prismatic.body.inertia.izz': 1.6e-3,
        },
        standard_deviations={
            'platform.body.mass': 0.01,
            'platform.body.center_of_mass.x': 1e-4,
            'leg_chain.prismatic.friction.viscous.leg3': 0.2,
        },
        **HEADER,
    )
    nominal, machine = load_machine('palida'), load_machine('palida', path)
    assert machine.platform.mass == 8.123456789012345
    assert machine.platform.center_of_mass.tolist() == [0.011, -0.005, 0.031]
    assert [joint.friction.viscous for joint in machine.actuated_joints] == VISCOUS
    rods = [leg.joints[2].body for leg in machine.legs]
    assert [rod.center_of_mass[1] for rod in rods] == [1e-3, 2e-3, 3e-3, 4e-3, 5e-3, 6e-3]
    assert {rod.inertia[2, 2] for rod in rods} == {1.6e-3}
    # all else is as it was
    assert (machine.name, machine.path) == (nominal.name, nominal.path)
    assert [joint.friction.coulomb for joint in machine.actuated_joints] == [
        joint.friction.coulomb for joint in nominal.actuated_joints
    ]
    assert (machine.platform.inertia == nominal.platform.inertia).all()


def test_provenance_of_a_replaced_value_is_the_overlay(tmp_path: Path) -> None:
    path = write_overlay(tmp_path / 'found.yaml', 'palida', {'platform.body.mass': 8.1}, **HEADER)
    provenance = load_machine('palida', path).provenance
    assert provenance['platform.body.mass'] == 'overlay: found.yaml (weighted least squares, run_7.mcap, 2026-11-21)'
    assert provenance['platform.body'].startswith('assumed: ')
    by_hand = tmp_path / 'by_hand.yaml'
    by_hand.write_text('overlay: {machine: palida}\nplatform: {body: {mass: 8.2}}\n')
    assert load_machine('palida', by_hand).provenance['platform.body.mass'] == 'overlay: by_hand.yaml'


@pytest.mark.parametrize(
    ('text', 'key', 'words'),
    [
        ('platform: {body: {mass: 8.1}}', 'overlay', 'is missing; an overlay begins with overlay: {machine: ...}'),
        ('overlay: {date: today}', 'overlay.machine', 'is missing; add it'),
        ('overlay: palida', 'overlay', 'must be a mapping'),
        ('overlay: {machine: palida, author: me}', 'overlay.author', 'unknown key'),
        ('overlay: {machine: srs}', 'overlay.machine', "the machine that is being loaded is 'palida'"),
        ('overlay: {machine: palida}\nname: other', 'name', 'cannot replace'),
        ('overlay: {machine: palida}\nplatform: {body: {weight: 8.1}}', 'platform.body.weight',
         'is not in the machine file; there it can be: mass, center_of_mass, inertia'),
        ('overlay: {machine: palida}\nlegs: {leg7: {base_point: [0.0, 0.0, 0.0]}}', 'legs.leg7',
         'is not in the machine file; there it can be: leg1, leg2'),
        ('overlay: {machine: palida}\nplatform: 3.0', 'platform', 'must be a mapping'),
        ('overlay: {machine: palida}\ngravity: {z: -9.8}', 'gravity', 'must be a value'),
        ('overlay: {machine: palida}\nplatform: {body: {mass: -8.1}}', 'platform.body.mass', 'at least 0.001'),
        ('overlay: {machine: palida}\nplatform: {body: {inertia: {ixx: -1.0}}}', 'platform.body.inertia',
         'not positive definite'),
        ('overlay: {machine: palida}\nleg_chain: {prismatic: {friction: {viscous: [1.0, 2.0]}}}',
         'leg_chain.prismatic.friction.viscous', 'has 2 entries for 6 legs'),
        ('overlay: {machine: palida}\nplatform: {body: {mass: 1e+1}}', 'platform.body.mass', 'is a text to YAML'),
        ('overlay: {machine: palida}\nstandard_deviations: {platform.body.mass: -0.1}',
         'standard_deviations.platform.body.mass', 'at least 0'),
        ('overlay: {machine: palida}\nstandard_deviations: {platform.body.mess: 0.1}',
         'standard_deviations.platform.body.mess', "'mess' is not in the machine file"),
        ('overlay: {machine: palida}\nstandard_deviations: 0.1', 'standard_deviations', 'must be a mapping'),
        ('', '(file)', 'is empty'),
    ],
)  # fmt: skip
def test_wrong_overlays_name_file_and_key(tmp_path: Path, text: str, key: str, words: str) -> None:
    path = tmp_path / 'overlay.yaml'
    path.write_text(text)
    error = _refused(path)
    assert (error.path, error.key) == (path, key)
    assert words in str(error)


def test_overlay_that_makes_the_whole_impossible_is_named_beside_the_machine_file(tmp_path: Path) -> None:
    path = tmp_path / 'overlay.yaml'
    path.write_text('overlay: {machine: palida}\nplatform: {home: {xyz: [0.0, 0.0, 0.3]}}\n')
    error = _refused(path)
    assert (error.path, error.key) == (machine_file('palida'), 'legs.leg1')
    assert 'outside of its stroke' in str(error)
    assert str(path) in str(error)


def test_no_such_overlay(tmp_path: Path) -> None:
    error = _refused(tmp_path / 'none.yaml')
    assert error.path == tmp_path / 'none.yaml'
    assert 'cannot be read' in str(error)


def test_what_a_file_lacks_is_added_and_the_rest_of_the_overlay_counts_too(tmp_path: Path) -> None:
    """Inertia of the rotors and another law of friction, each before other values of the same joint."""
    path = tmp_path / 'overlay.yaml'
    path.write_text(
        'overlay: {machine: palida}\n'
        'leg_chain:\n'
        '  prismatic:\n'
        '    rotor_inertia: 0.75\n'
        '    friction: {law: viscous_coulomb, viscous: 17.0, coulomb: 4.0}\n'
        '    body: {mass: 1.25}\n'
        'platform: {body: {mass: 8.5}}\n'
    )
    nominal, machine = load_machine('palida'), load_machine('palida', path)
    assert not any(joint.rotor_inertia for joint in nominal.actuated_joints)
    for joint in machine.actuated_joints:
        assert (joint.rotor_inertia, joint.body.mass) == (0.75, 1.25)
        assert (joint.friction.viscous, joint.friction.coulomb) == (17.0, 4.0)
    assert machine.platform.mass == 8.5
    for text, key in (('rotor_inertia: {x: 1.0}', 'rotor_inertia'), ('elasticity: 1.0', 'elasticity')):
        path.write_text(f'overlay: {{machine: palida}}\nleg_chain: {{prismatic: {{{text}}}}}\n')
        assert _refused(path).key == f'leg_chain.prismatic.{key}'
