"""Models with fewer parameters: by rules of the joints, left out, kept or shared."""

from __future__ import annotations

import numpy as np
import pytest
from other_machines import WITH_PLATFORM
from pkm_description.dynamics import reduce_parameters, rigid_body_parameter_names, rigid_body_regressor
from pkm_description.dynamics.parameter_reduction.reduced_models import (
    MATA_ELIMINATED,
    MATA_MODELS,
    ReducedModel,
    minimal_count,
    unseen_directions,
)
from pkm_description.dynamics.parameter_reduction.reduction import BaseParameters
from pkm_description.kinematics.workspace import random_states
from pkm_description.loading import load_machine
from pkm_description.machine import Machine
from pkm_description.machine.machine import with_gravity

NAMES = ('body.m', 'leg1_rod.m', 'leg2_rod.m', 'leg1_rod.mx', 'leg2_rod.mx')


@pytest.fixture(scope='module')
def base() -> BaseParameters:
    return reduce_parameters(np.random.default_rng(0).normal(size=(20, 5)), NAMES)


def test_shared_and_left_out(base: BaseParameters) -> None:
    reduced = ReducedModel('a', left_out=('leg?_rod.mx',), shared=('leg?_rod.m',)).map(base)
    assert reduced.full_names == NAMES and reduced.names == ('body.m', 'leg?_rod.m')
    np.testing.assert_array_equal(reduced.full(np.array([2.0, 3.0])), [2.0, 3.0, 3.0, 0.0, 0.0])
    np.testing.assert_array_equal(reduced.columns(np.arange(5.0)), [0.0, 3.0])


def test_kept(base: BaseParameters) -> None:
    assert ReducedModel('a', kept=('body.*', 'leg2*')).map(base).names == ('body.m', 'leg2_rod.m', 'leg2_rod.mx')
    np.testing.assert_array_equal(ReducedModel('all').map(base).matrix, np.eye(5))


@pytest.mark.parametrize(
    ('model', 'message'),
    [
        (ReducedModel('a', kept=('arm.m',)), "a, kept: 'arm.m' matches none"),
        (ReducedModel('a', left_out=('arm.m',)), 'a, left out'),
        (ReducedModel('a', shared=('leg?_rod.m', 'leg1*')), 'leg1_rod.m belongs to two shared parameters'),
    ],
)
def test_wrong_patterns_are_named(base: BaseParameters, model: ReducedModel, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        model.map(base)


def test_the_ladder_of_mata() -> None:
    """Sizes as printed; each model's columns are independent."""
    machine = load_machine('valencia_3rps')
    motion = random_states(machine, 75, seed=0)
    regressor = rigid_body_regressor(machine, motion, identical_legs=False)
    stacked = regressor.reshape(-1, regressor.shape[-1])
    names = rigid_body_parameter_names(machine, identical_legs=False)
    base = reduce_parameters(stacked, names, eliminated=MATA_ELIMINATED)
    columns = [model.map(base).columns(base.columns(stacked)) for model in MATA_MODELS]
    assert [matrix.shape[1] for matrix in columns] == [25, 15, 9, 3]
    for matrix in columns:
        assert np.linalg.matrix_rank(matrix / np.linalg.norm(matrix, axis=0)) == matrix.shape[1]


#: platforms that only translate: more is hidden than joints and chains alone say
RESTRICTED = ('delta', 'three_upu')


def numerical(machine: Machine) -> tuple[np.ndarray, int]:
    """Stacked regressor and the number of base parameters that it has."""
    states = random_states(machine, 60, seed=3)
    rows = rigid_body_regressor(machine, states, identical_legs=False)
    stacked = rows.reshape(-1, rows.shape[-1])
    return stacked, len(reduce_parameters(stacked, rigid_body_parameter_names(machine, identical_legs=False)))


@pytest.mark.parametrize('name', WITH_PLATFORM)
def test_directions_are_unseen_and_leave_the_right_number(name: str) -> None:
    machine = load_machine(name)
    stacked, count = numerical(machine)
    assert np.abs(stacked @ unseen_directions(machine)).max() < 1e-11 * np.abs(stacked).max()
    if name in RESTRICTED:
        assert minimal_count(machine) > count
    else:
        assert minimal_count(machine) == count


def test_gravity_along_a_fixed_axis_hides_the_first_moments() -> None:
    """The planar five-bar with gravity across its plane and in it."""
    machine = load_machine('five_bar')
    across, within = (with_gravity(machine, np.array(gravity)) for gravity in ((0.0, 0.0, -9.81), (0.0, -9.81, 0.0)))
    counts = []
    for one in (across, within):
        stacked, count = numerical(one)
        assert minimal_count(one) == count
        assert np.abs(stacked @ unseen_directions(one)).max() < 1e-11 * np.abs(stacked).max()
        counts.append(count)
    assert counts[0] < counts[1]
