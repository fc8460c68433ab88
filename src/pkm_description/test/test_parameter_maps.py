"""Shared parameter sets and assumed forms of bodies: ranks of the literature, and forces that stay the same."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hand_built_machines import heimann_check_robot, with_identical_legs
from pkm_description.dynamics import (
    inverse_dynamics,
    reduce_parameters,
    rigid_body_parameter_names,
    rigid_body_parameters,
    rigid_body_regressor,
)
from pkm_description.dynamics.body_blocks import identical_leg_groups
from pkm_description.dynamics.parameter_reduction.forms import BodyForm, body_form_map
from pkm_description.dynamics.parameters import sharing_matrix
from pkm_description.kinematics.workspace import random_states
from pkm_description.machine import Machine, RigidBody

STATES = 80
NO_RINGS = {'*_cross': BodyForm(present=False)}
RING = {'*_cross': BodyForm(center='origin', inertia='principal')}
PRINCIPAL = RING | {name: BodyForm(center='z', inertia='principal') for name in ('leg_cylinder', 'leg_rod')}
AXISYMMETRIC = RING | {name: BodyForm(center='z', inertia='z') for name in ('leg_cylinder', 'leg_rod')}
PLATFORM = {'platform_link': BodyForm(center='z', inertia='principal')}


@pytest.fixture(scope='module')
def regressor() -> np.ndarray:
    machine = heimann_check_robot()
    return rigid_body_regressor(machine, random_states(machine, STATES, seed=8), identical_legs=False)


@pytest.mark.parametrize(
    ('shared', 'forms', 'columns', 'felt', 'rank'),
    # R4-11: columns (of them non-zero) and rank
    [
        (False, {}, 190, 142, 88),
        (False, NO_RINGS, 130, 124, 82),
        (True, {}, 40, 32, 23),
        (True, NO_RINGS, 30, 29, 22),
        (True, PRINCIPAL, 24, 20, 15),
        (True, AXISYMMETRIC, 22, 18, 15),
        (True, PRINCIPAL | PLATFORM, 19, 15, 10),
        (True, AXISYMMETRIC | NO_RINGS | PLATFORM, 13, 12, 9),
    ],
)
def test_ranks_by_assumption(
    regressor: np.ndarray, shared: bool, forms: dict[str, BodyForm], columns: int, felt: int, rank: int
) -> None:
    machine = heimann_check_robot()
    sharing = sharing_matrix(machine, identical_leg_groups(machine) if shared else {})
    assumed = sharing.then(body_form_map(sharing.names, forms))
    assert len(assumed) == columns
    base = reduce_parameters(assumed.columns(regressor).reshape(-1, columns), assumed.names)
    assert (columns - len(base.absent), len(base)) == (felt, rank)
    assert base.gap > 1e4


def test_sharing_of_some_bodies_only(regressor: np.ndarray) -> None:
    """Only rods alike, in two kinds: names, order, and the forces of a machine that is built so."""
    machine = heimann_check_robot()
    groups = {'odd_rod': ['leg[135]_rod'], 'even_rod': ['leg[246]_rod']}
    legs = tuple(
        dataclasses.replace(
            leg,
            joints=(
                *leg.joints[:2],
                dataclasses.replace(
                    leg.joints[2],
                    body=dataclasses.replace(machine.legs[place % 2].joints[2].body, name=f'{leg.name}_rod'),
                ),
            ),
        )
        for place, leg in enumerate(machine.legs)
    )
    alike = dataclasses.replace(machine, legs=legs)
    sharing = sharing_matrix(alike, groups)
    assert len(sharing) == 10 * (1 + 12 + 2)
    sets = list(dict.fromkeys(name.split('.')[0] for name in sharing.names))
    assert sets[:5] == ['platform_link', 'leg1_cross', 'leg1_cylinder', 'odd_rod', 'leg2_cross']
    assert sharing.full_names == tuple(rigid_body_parameter_names(alike, identical_legs=False))
    values = sharing.values(rigid_body_parameters(alike, identical_legs=False))
    expected = inverse_dynamics(alike, random_states(alike, STATES, seed=8), friction=False)
    np.testing.assert_allclose(sharing.columns(regressor) @ values, expected, rtol=1e-9, atol=1e-9)
    with pytest.raises(ValueError, match='_rod'):
        sharing.values(rigid_body_parameters(machine, identical_legs=False))


def test_identical_legs_are_one_case_of_sharing() -> None:
    machine = with_identical_legs(heimann_check_robot())
    sharing = sharing_matrix(machine, identical_leg_groups(machine))
    assert list(sharing.names) == rigid_body_parameter_names(machine, identical_legs=True)
    full = rigid_body_parameters(machine, identical_legs=False)
    assert np.array_equal(sharing.values(full), rigid_body_parameters(machine, identical_legs=True))
    assert np.array_equal(sharing.full(sharing.values(full)), full)


@pytest.mark.parametrize(
    ('groups', 'message'),
    [
        ({'rod': ['leg7_rod']}, "group rod: 'leg7_rod' matches no body"),
        ({'a': ['leg1_rod'], 'b': ['*_rod']}, 'leg1_rod belongs to two groups, a and b'),
        ({'leg2_rod': ['leg1_rod']}, 'group leg2_rod has the name of a body outside of it'),
    ],
)
def test_groups_that_make_no_sense(groups: dict[str, list[str]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sharing_matrix(heimann_check_robot(), groups)


def body(center: tuple[float, float, float], inertia: list[list[float]]) -> RigidBody:
    return RigidBody('leg1_rod', 3.0, np.array(center), np.array(inertia))


def rod_parameters(machine: Machine, rod: RigidBody) -> np.ndarray:
    """All parameters of a machine with another rod in leg 1."""
    names = rigid_body_parameter_names(machine, identical_legs=False)
    values = rigid_body_parameters(machine, identical_legs=False)
    first = names.index('leg1_rod.m')
    values[first : first + 10] = rod.parameters
    return values


@pytest.mark.parametrize(
    ('form', 'rod', 'expected'),
    [
        (
            BodyForm(center='z', inertia='z'),
            body((0.0, 0.0, 0.2), [[0.5, 0, 0], [0, 0.5, 0], [0, 0, 0.1]]),
            {'m': 3.0, 'mz': 0.6, 'Ixx': 0.5 + 3.0 * 0.2**2, 'Izz': 0.1},
        ),
        (
            BodyForm(center='y', inertia='y'),
            body((0.0, -0.3, 0.0), [[0.7, 0, 0], [0, 0.2, 0], [0, 0, 0.7]]),
            {'m': 3.0, 'my': -0.9, 'Ixx': 0.7 + 3.0 * 0.3**2, 'Iyy': 0.2},
        ),
        (
            BodyForm(center=(0.1, 0.2, 0.3)),
            body((0.1, 0.2, 0.3), [[0.5, 0.01, 0.02], [0.01, 0.4, 0.03], [0.02, 0.03, 0.3]]),
            {
                'm': 3.0, 'Ixx_com': 0.5, 'Ixy_com': 0.01, 'Ixz_com': 0.02,
                'Iyy_com': 0.4, 'Iyz_com': 0.03, 'Izz_com': 0.3,
            },
        ),
        (BodyForm(center=(0.0, 0.0, 0.5), inertia='none'), body((0.0, 0.0, 0.5), [[0.0] * 3] * 3), {'m': 3.0}),
    ],
)  # fmt: skip
def test_forms_keep_the_parameters_of_bodies_that_have_them(
    form: BodyForm, rod: RigidBody, expected: dict[str, float]
) -> None:
    """Parallel axes: the ten parameters of a body of this form follow from the few, and no other body's do."""
    machine = heimann_check_robot()
    names = rigid_body_parameter_names(machine, identical_legs=False)
    assumed = body_form_map(names, {'leg1_rod': form})
    full = rod_parameters(machine, rod)
    values = assumed.values(full)
    found = dict(zip(assumed.names, values, strict=True))
    rod_values = {name.split('.')[1]: value for name, value in found.items() if name.startswith('leg1_rod.')}
    assert rod_values == pytest.approx(expected, rel=1e-9, abs=1e-12)
    np.testing.assert_allclose(assumed.full(values), full, rtol=0, atol=1e-9)
    general = body((0.11, 0.21, 0.33), [[0.5, 0.01, 0.02], [0.01, 0.4, 0.03], [0.02, 0.03, 0.3]])
    with pytest.raises(ValueError, match=r'leg1_rod\.\w+ is'):
        assumed.values(rod_parameters(machine, general))


def test_patterns_of_forms() -> None:
    """Friction parameters pass; the last matching pattern counts; a pattern without a body is refused."""
    names = [*rigid_body_parameter_names(heimann_check_robot(), identical_legs=False), 'leg1_prismatic.viscous']
    forms = {'*': BodyForm(inertia='none'), '*_rod': BodyForm(center='z', inertia='z')}
    kept = body_form_map(names, forms).names
    assert kept[:4] == ('platform_link.m', 'platform_link.mx', 'platform_link.my', 'platform_link.mz')
    assert [name for name in kept if name.startswith('leg2_rod')] == [
        f'leg2_rod.{one}' for one in ('m', 'mz', 'Ixx', 'Izz')
    ]
    assert kept[-1] == 'leg1_prismatic.viscous'
    with pytest.raises(ValueError, match="'leg9_rod'"):
        body_form_map(names, {'leg9_rod': BodyForm()})
