"""Significance: a parameter that is zero and well known is not weakly excited; impossible values are called so."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from base_values import base_of
from known_machines import known_machine
from pkm_description.kinematics.rotation import rotation_exp
from pkm_description.machine import INERTIAL_PARAMETERS, Machine
from pkm_identification.columns.observation import ObservationModel, legs_agree
from pkm_identification.compare import compare_with_truth
from pkm_identification.estimator.bodies import places_of_bodies, pseudo_inertia
from pkm_identification.estimator.least_squares import Estimate
from pkm_identification.judgement.significance import (
    IDENTIFIED,
    IMPOSSIBLE,
    SMALL,
    WEAK,
    body_scale,
    possible_signs,
    significance,
)
from pkm_identification.result import IdentificationResult


def estimate_of(values: np.ndarray, std: np.ndarray) -> Estimate:
    empty = np.zeros((1, 1))
    return Estimate(values, np.diag(std**2), np.ones(1), empty, empty, 1.0, 1.0)


@pytest.fixture(
    scope='module', params=['srs', pytest.param('valencia_3rps', marks=pytest.mark.campaign), 'khalifa_3prr']
)
def model(request: pytest.FixtureRequest) -> ObservationModel:
    machine = known_machine(request.param)
    return ObservationModel(machine, legs_agree(machine))


def test_signs_hold_for_random_bodies(model: ObservationModel) -> None:
    """Bodies of random points of mass, flat and thin ones too: no value has the other sign; free ones have both."""
    base, random = model.base_parameters(), np.random.default_rng(0)
    signs, seen = possible_signs(base), np.zeros((2, len(base)), dtype=bool)
    assert (signs != 0.0).any() and (signs == 0.0).any()
    for _ in range(800):
        values = np.zeros(len(model.names))
        for places in places_of_bodies(model.names).values():
            points = random.normal(size=(random.integers(1, 5), 3)) * 10.0 ** random.uniform(-2, 2)
            values[places] = point_masses(points, 10.0 ** random.uniform(-2, 2, len(points)))
        for place, name in enumerate(model.names):
            if name.endswith(('viscous', 'coulomb', 'coefficient')):
                values[place] = random.exponential()
        found = base.values(values)
        size = np.abs(base.combination) @ np.abs(values)
        seen |= np.array([found > 1e-9 * size, found < -1e-9 * size])
    assert not (seen[1] & (signs > 0)).any() and not (seen[0] & (signs < 0)).any()
    inertial = [place for place, name in enumerate(base.names) if '.m' in name or '.I' in name]
    assert all(seen[:, place].all() for place in inertial if signs[place] == 0.0)


def point_masses(points: np.ndarray, masses: np.ndarray) -> np.ndarray:
    """Ten parameters of points (n, 3), by the definition of the moments."""
    second = np.einsum('n,ni,nj->ij', masses, points, points)
    inertia = np.trace(second) * np.eye(3) - second
    result = np.concatenate([[masses.sum()], masses @ points, inertia[np.triu_indices(3)]])
    assert np.linalg.eigvalsh(pseudo_inertia(result))[0] > -1e-9 * np.abs(result).max()
    return result


def test_scale_is_that_of_the_bodies(srs: Machine) -> None:
    """Twice the mass is twice the scale; twice the size is twice that of first moments, four times that of inertias."""
    model = ObservationModel(srs, fixed=('leg_*',), friction='none')
    base = model.base_parameters()
    nothing = np.zeros((1, 6, len(base)))
    scale = body_scale(base, model.parameters(srs), nothing, np.zeros((1, 6)), np.ones((1, 6)))
    body = srs.platform
    large = replace(srs, platform=replace(body, center_of_mass=2.0 * body.center_of_mass, inertia=4.0 * body.inertia))
    other = body_scale(base, model.parameters(large), nothing, np.zeros((1, 6)), np.ones((1, 6)))
    assert [name.rpartition('.')[2] for name in base.names] == [name.rpartition('.')[2] for name in model.names]
    np.testing.assert_allclose(other / scale, np.repeat([1.0, 2.0, 4.0], [1, 3, 6]), rtol=1e-12)
    assert scale[0] == pytest.approx(body.mass)


def test_words(srs: Machine) -> None:
    model = ObservationModel(srs, fixed=('leg_*',), friction='none')
    base = model.base_parameters()
    scale = np.full(10, 100.0)
    values = np.array([100.0, 0.1, 0.1, 0.0, -50.0, 0.1, 0.1, -1.0, 0.1, 50.0])
    std = np.array([1.0, 0.5, 5.0, 0.5, 1.0, 0.5, 5.0, 0.9, 0.5, 10.0])
    found = significance(base, estimate_of(values, std), scale, 0.15, 0.01)
    assert found.status == (
        IDENTIFIED, SMALL, WEAK, SMALL, IMPOSSIBLE, SMALL, WEAK, SMALL, SMALL, WEAK,
    )  # fmt: skip
    assert found.possible[7] == 'possible within the noise' and found.possible[0] == 'possible'
    assert found.scaled[1] == pytest.approx(0.005) and found.relative[3] == np.inf


def test_products_of_inertia_of_a_symmetric_platform(result: IdentificationResult, srs: Machine) -> None:
    """They are zero in truth, and known; the published rule alone calls them weakly excited."""
    rows = {row.name: row for row in compare_with_truth(result, srs)}
    small = [row for row in rows.values() if row.status == SMALL]
    assert small
    for row in small:
        place = result.base.names.index(row.name)
        scale = result.significance.scale[place]
        assert abs(row.truth) < 0.1 * scale and abs(row.identified - row.truth) < 0.03 * scale
        assert result.significance.relative[place] > result.config.judgement.max_relative_std


def test_scale_of_a_friction_is_the_value_that_alone_gives_the_forces_of_its_drives() -> None:
    """Whatever other drives do, and rows that were dropped, or in which it does not act."""
    random = np.random.default_rng(0)
    names = tuple(f'leg{leg}.drive.{kind}' for leg in (1, 2) for kind in ('viscous', 'coulomb'))
    rows, forces = np.zeros((50, 2, 4)), np.full((50, 2), 1e6)
    rows[:30, 0, 0] = random.normal(size=30)
    forces[:30, 0] = 3.0 * rows[:30, 0, 0] * random.choice([-1.0, 1.0], size=30)
    rows[:, 1, 2] = random.normal(size=50)
    forces[:, 1] = -0.2 * rows[:, 1, 2]
    weights = np.ones((50, 2))
    weights[40:, 1] = 0.0
    forces[40:, 1] = 1e9
    rows[7, 1, 3] = 2.0  # acts once
    forces[7, 1], rows[7, 1, 2] = 8.0, 40.0
    found = body_scale(base_of(names, np.eye(4)), np.zeros(4), rows, forces, weights)
    assert found == pytest.approx([3.0, 0.0, 0.2, 4.0])


def test_signs_of_other_forces_and_of_parts_of_bodies() -> None:
    """Friction and masses are not negative; offsets, first moments and differences may be either."""
    names = ('leg1.drive.viscous', 'leg1.drive.coulomb', 'leg1.drive.offset', 'rod.m', 'rod.mx', 'rod.Ixy')
    rows = {
        (1.0, 0.0, 0.0, 0.0, 0.0, 0.0): 1.0, (-1.0, 0.0, 0.0, 0.0, 0.0, 0.0): -1.0,
        (2.0, 3.0, 0.0, 0.0, 0.0, 0.0): 1.0, (1.0, -1.0, 0.0, 0.0, 0.0, 0.0): 0.0,
        (0.0, 0.0, 1.0, 0.0, 0.0, 0.0): 0.0, (1.0, 0.0, 0.1, 0.0, 0.0, 0.0): 0.0,
        (0.0, 0.0, 0.0, 1.0, 0.0, 0.0): 1.0, (0.0, 0.0, 0.0, -2.0, 0.0, 0.0): -1.0,
        (0.0, 0.0, 0.0, 0.0, 1.0, 0.0): 0.0, (0.0, 0.0, 0.0, 0.0, 0.0, 1.0): 0.0,
        (1.0, 0.0, 0.0, 1.0, 0.0, 0.0): 1.0, (-1.0, 0.0, 0.0, 0.0, -1.0, 0.0): 0.0,
    }  # fmt: skip
    assert possible_signs(base_of(names, np.array(list(rows)))) == pytest.approx(list(rows.values()))
    body = base_of(tuple(f'platform_link.{kind}' for kind in INERTIAL_PARAMETERS), np.eye(10))
    assert possible_signs(body).tolist() == [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0]
    # in whatever unit they are
    assert possible_signs(base_of(names, 1e-12 * np.array(list(rows)))) == pytest.approx(list(rows.values()))


def test_scale_of_a_body_does_not_depend_on_the_axes_of_its_frame() -> None:
    points, masses = np.array([[0.3, 0.0, 0.1], [0.0, -0.6, 0.2], [0.1, 0.2, 0.9]]), np.array([2.0, 1.0, 4.0])
    base = base_of(tuple(f'platform_link.{kind}' for kind in INERTIAL_PARAMETERS), np.eye(10))
    nothing, ones = np.zeros((1, 6, 10)), np.ones((1, 6))
    expected = masses.sum() * np.repeat([1.0, (masses @ np.square(points).sum(axis=1) / masses.sum()) ** 0.5], [1, 3])
    for turn in (np.eye(3), rotation_exp(np.array([0.4, -0.8, 1.1])), np.eye(3)[[1, 2, 0]]):
        scale = body_scale(base, point_masses(points @ turn.T, masses), nothing, np.zeros((1, 6)), ones)
        assert scale[:4] == pytest.approx(expected)
        assert scale[4:] == pytest.approx(expected[1] ** 2 / expected[0])
