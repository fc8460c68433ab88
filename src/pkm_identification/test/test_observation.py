"""Observation matrix and base parameters of machines: ranks, equality of forces, exact recovery."""

from __future__ import annotations

import numpy as np
import pytest
from pkm_description.dynamics import inverse_dynamics
from pkm_description.errors import ConfigurationError
from pkm_description.kinematics.workspace import random_states
from pkm_description.machine import Machine
from pkm_identification.columns.observation import ObservationModel


@pytest.mark.parametrize(
    ('identical', 'friction', 'rank'),
    # R4-11: 23 with identical legs, 88 without, plus two per joint
    # with friction
    [(True, 'none', 23), (True, 'actuated', 35), (True, 'all', 59), (False, 'none', 88), (False, 'actuated', 100)],
)
def test_ranks(srs: Machine, identical: bool, friction: str, rank: int) -> None:
    """The number of base parameters is that of the literature, by pivoting and by singular values."""
    model = ObservationModel(srs, identical, friction)
    base = model.base_parameters()
    assert len(base) == rank
    matrix = model.regressor(random_states(srs, 150, 3))[0].reshape(-1, len(model.names))
    norms = np.linalg.norm(matrix, axis=0)
    felt = norms > 1e-9 * norms.max()
    singular = np.linalg.svd(matrix[:, felt] / norms[felt], compute_uv=False)
    assert singular[rank - 1] > 1e4 * (singular[rank] if len(singular) > rank else 0.0)


def test_names_do_not_depend_on_the_sampled_states(srs: Machine) -> None:
    """Another random seed finds the same combinations with the same factors."""
    model = ObservationModel(srs)
    assert model.base_parameters(seed=1).names == model.base_parameters(seed=2).names


def test_fixed_parameters_leave_the_platform_alone(srs: Machine) -> None:
    """With the legs held at nominal, the platform's ten parameters are base parameters by themselves."""
    model = ObservationModel(srs, fixed=['leg_*'])
    base = model.base_parameters()
    assert [name for name in base.names if 'platform' in name] == list(model.names[:10])
    motion = random_states(srs, 20, 1)
    regressor, known = model.regressor(motion)
    forces = regressor @ model.parameters(srs) + known
    assert forces == pytest.approx(inverse_dynamics(srs, motion), rel=1e-9, abs=1e-6)
    with pytest.raises(ConfigurationError, match='leg9'):
        ObservationModel(srs, fixed=['leg9_*'])
