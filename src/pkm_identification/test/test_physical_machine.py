"""Which machine belongs to base parameters: one that keeps them, or the most probable one."""

from __future__ import annotations

import numpy as np
import pytest
from base_values import Case, case_of
from pkm_description.loading import load_machine
from pkm_identification.columns.observation import ObservationModel
from pkm_identification.configuration import EstimatorSettings
from pkm_identification.estimator.bodies import PhysicalParameters
from pkm_identification.estimator.least_squares import Estimate
from pkm_identification.fitting.physical_machine import physical_parameters
from synthetic import NOMINAL


@pytest.fixture(scope='module')
def case() -> Case:
    """Return 12 s of a hexapod, noise of 0.2 % of the forces; its nominal machine is 10 % wrong."""
    return case_of('palida', 0.002, overlay=True)


def physical(
    case: Case, values: np.ndarray, trust: float, keep: bool = False
) -> tuple[PhysicalParameters, np.ndarray]:
    """Physical parameters under a trust in the nominal bodies, and by how many sigmas their base values differ."""
    model = ObservationModel(load_machine('palida', NOMINAL / 'nominal_palida.yaml'))
    none = np.zeros((1, 6))
    estimate = Estimate(values, case.covariance, np.ones(6), none, none, 1.0, 1.0)
    settings = EstimatorSettings(platform_uncertainty=trust, leg_uncertainty=trust, keep_base_values=keep)
    found = physical_parameters(model, case.base, estimate, settings)
    return found, np.abs(case.base.values(found.values) - values) / estimate.std


def test_by_default_base_values_are_kept(case: Case) -> None:
    """A trust that is too narrow is not followed, and need not be named: it only shares out what is left open."""
    assert EstimatorSettings().keep_base_values
    values = case.base.values(case.truth)
    for trust in (0.2, 0.0005):
        found, away = physical(case, values, trust, keep=True)
        assert not found.infeasible and not found.remarks
        assert away.max() <= 1.0


def test_a_sound_trust_gives_the_most_probable_machine(case: Case) -> None:
    values = case.draw(np.random.default_rng(0))
    found, away = physical(case, values, 0.2)
    assert not found.infeasible
    assert not found.remarks
    assert away.max() < 4.0


def test_a_trust_that_the_recording_contradicts_is_named_and_not_followed(case: Case) -> None:
    """The nominal machine is 10 % off: a trust of 0.05 % pulls base values far from what is measured."""
    found, away = physical(case, case.base.values(case.truth), 0.0005)
    assert not found.infeasible
    assert away.max() <= 1.0
    (remark,) = found.remarks
    assert 'leg_uncertainty = 0.0005' in remark
    assert 'keeps the base parameters is taken' in remark


def test_values_that_no_machine_has_are_infeasible(case: Case) -> None:
    values, friction = case.base.values(case.truth), case.base.names.index('leg2_prismatic.viscous')
    values[friction] = -20.0 * np.sqrt(case.covariance[friction, friction])
    found, _ = physical(case, values, 0.2)
    (text,) = found.infeasible
    assert text.startswith('no machine that can exist has these base parameters')
    assert 'leg2_prismatic.viscous by' in text
