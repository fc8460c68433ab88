"""Random states and base parameters of machines of every kind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hand_built_machines import heimann_check_robot
from other_machines import CLOSED, cart_with_pendulum, planar_prr, six_pus, three_rps
from pkm_description.dynamics import (
    BodyForm,
    base_parameters,
    friction_parameters,
    friction_regressor,
    inverse_dynamics,
    machine_parameters,
    rigid_body_regressor,
)
from pkm_description.dynamics.parameters import rotor_regressor
from pkm_description.errors import KinematicsError
from pkm_description.kinematics import joint_motion
from pkm_description.kinematics.workspace import random_states
from pkm_description.loading import load_machine
from pkm_description.machine import Machine


@pytest.mark.parametrize(
    ('build', 'shared', 'full', 'felt', 'rank'),
    [
        # M10: 31 columns of 70 are non-zero, rank 25 (Mata et al. 2008, Table 1)
        (three_rps, False, 70, 31, 25),
        # R4-11; with assumptions: test_parameter_maps
        (heimann_check_robot, False, 190, 142, 88),
        (heimann_check_robot, True, 40, 32, 23),
        # R2-39: M, J per leg, platform 4; here links have their centre anywhere, so my of each too
        (planar_prr, False, 70, 19, 13),
        # cart: m of three bodies in one; links: first moments of both about their joints, inertias of both
        (cart_with_pendulum, False, 30, 9, 7),
    ],
)
def test_ranks(build: Callable[[], Machine], shared: bool, full: int, felt: int, rank: int) -> None:
    base = base_parameters(build(), None if shared else {})
    assert (len(base.full_names), full - len(base.absent), len(base)) == (full, felt, rank)
    assert base.gap > 1e8


def test_choice_of_combinations_by_patterns() -> None:
    """As Mata et al. do in their table 1: platform in the rods, inertias of rods in those of cylinders."""
    eliminated = ['leg1_body1.m', 'platform_link.m', 'platform_link.my', 'leg?_body1.Iyy']
    base = base_parameters(three_rps(), {}, eliminated=eliminated)
    assert len(base) == 25
    names = {name.split(' ')[0] for name in base.names}
    assert not names & {'leg1_body1.m', 'platform_link.m', 'platform_link.my', 'leg1_body1.Iyy', 'leg3_body1.Iyy'}
    assert 'leg2_body0.Iyy + leg2_body1.Iyy' in base.names
    # platform mass and first moment about the third ball joint, seen from the second: a triangle of 0.3 m
    assert {'leg2_body1.m', 'leg3_body1.m'} <= names
    nulls = base.null_texts()
    assert len(nulls) == 45
    assert any(text.startswith('leg1_body1.Iyy - leg1_body0.Iyy') for text in nulls)


@pytest.mark.parametrize(
    ('build', 'rank'),
    # M12: 25 + Coulomb, viscous and rotor of three drives, each seen by itself
    [(three_rps, 34), (heimann_check_robot, 88 + 12 + 6)],
)
def test_friction_and_rotors_take_part(build: Callable[[], Machine], rank: int) -> None:
    machine = build()
    options = {'groups': {}, 'friction': 'actuated', 'rotors': True}
    base = base_parameters(machine, **options)
    assert len(base) == rank
    driven = machine.actuated_joint_names
    assert {f'{name}.rotor_inertia' for name in driven} | {f'{name}.coulomb' for name in driven} <= set(base.names)
    motion = random_states(machine, 10, seed=4)
    joints = joint_motion(machine, motion)
    columns = [
        rigid_body_regressor(machine, motion, identical_legs=False),
        friction_regressor(machine, joints),
        rotor_regressor(machine, joints),
    ]
    values = base.values(machine_parameters(machine, **options))
    forces = base.columns(np.concatenate(columns, axis=-1)) @ values
    passive = friction_regressor(machine, joints, 'all') @ friction_parameters(machine, 'all')
    passive -= friction_regressor(machine, joints) @ friction_parameters(machine)
    expected = inverse_dynamics(machine, motion)
    np.testing.assert_allclose(forces + passive, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_palida_with_friction_in_all_joints() -> None:
    """46 of Heimann & Abdellatif: ten inertial parameters and two of friction in each of 18 joints."""
    strut = BodyForm(center='z', inertia='principal')
    forms = {'leg_cross': BodyForm(center='origin', inertia='principal')}
    forms |= dict.fromkeys(('leg_cylinder', 'leg_rod', 'platform_link'), strut)
    machine = load_machine('palida')
    assert len(base_parameters(machine, forms=forms, friction='all')) == 46


def test_open_chains_have_rigid_bodies_only() -> None:
    with pytest.raises(ValueError, match='is an open chain'):
        base_parameters(cart_with_pendulum(), friction='actuated')


@pytest.mark.parametrize('build', CLOSED.values())
def test_random_states_are_admitted_and_spread(build: Callable[[], Machine]) -> None:
    machine = build()
    states = random_states(machine, 50, seed=3)
    joint_motion(machine, states)
    assert np.array_equal(states.position, random_states(machine, 50, seed=3).position)
    moving = np.ptp(states.position, axis=0)
    assert moving.max() > 0.02
    if machine.planar:
        assert moving[2] == 0.0
        assert np.ptp(np.arctan2(states.rotation_base_platform[:, 1, 0], states.rotation_base_platform[:, 0, 0])) > 0.1


def test_random_states_of_machines_that_hardly_move() -> None:
    """The range shrinks until every leg reaches; open chains have no platform to move."""
    states = random_states(six_pus(), 60, seed=2, turn=1.5, move=1.0)
    joint_motion(six_pus(), states)
    with pytest.raises(KinematicsError, match='open chain'):
        random_states(cart_with_pendulum(), 3)


@pytest.mark.parametrize('seed', [1, 2, 3])
def test_states_that_nearly_stretched_arms_do_not_reach_are_drawn_again(seed: int) -> None:
    """Planar 3-RRR, elbows 5 degrees from straight at home; gravity does no work.

    Mass and inertia of a lower arm count with upper arm and platform: 4 of the platform are left, 1 + 2 of the arms.
    """
    base = base_parameters(load_machine(Path(__file__).parent / 'machines' / 'rrr_straight5.yaml'), seed=seed)
    assert len(base) == 7
    assert base.gap > 1e6
