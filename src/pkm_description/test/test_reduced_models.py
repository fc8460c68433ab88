"""Models with fewer parameters: left out, kept, shared; the ladder of Mata et al. (2008)."""

from __future__ import annotations

import numpy as np
import pytest
from pkm_description.dynamics import reduce_parameters, rigid_body_parameter_names, rigid_body_regressor
from pkm_description.dynamics.parameter_reduction.reduced_models import MATA_ELIMINATED, MATA_MODELS, ReducedModel
from pkm_description.dynamics.parameter_reduction.reduction import BaseParameters
from pkm_description.kinematics.workspace import random_states
from pkm_description.loading import load_machine

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
