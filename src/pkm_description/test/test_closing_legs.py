"""Closures by bodies, kinds and names; legs are closed by iterations, and the one that does not reach is named."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from pkm_description.errors import KinematicsError
from pkm_description.kernels.kinematics.pose import _damped_least_squares
from pkm_description.kinematics import drive_positions
from pkm_description.loading import load_machine
from pkm_description.machine import Leg
from pkm_description.machine.model_data import closure_rows


@pytest.mark.parametrize(('rows', 'columns'), [(3, 2), (4, 4), (6, 5)])
@pytest.mark.parametrize('damping', [0.0, 0.3])
def test_a_step_is_that_of_damped_least_squares(rows: int, columns: int, damping: float) -> None:
    """Each column is damped in relation to its own length."""
    random = np.random.default_rng(rows + columns)
    jacobian, gap = random.normal(size=(rows, columns)), random.normal(size=rows)
    matrix, factors = np.zeros((rows + columns, columns + 1)), np.zeros(columns + 1)
    _damped_least_squares(jacobian, gap, rows, columns, damping, matrix, factors)
    damped = np.vstack([jacobian, np.diag(np.sqrt(damping) * np.linalg.norm(jacobian, axis=0))])
    expected = np.linalg.lstsq(damped, np.append(-gap, np.zeros(columns)), rcond=None)[0]
    assert matrix[:columns, columns] == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_the_leg_that_does_not_reach_is_named() -> None:
    """The platform goes away from each leg in turn, until a leg is stretched: it is the one that it left."""
    machine, named = load_machine('four_rrr'), []
    home = machine.home
    for leg in machine.legs:
        away = (home.position - leg.joints[0].translation) * np.array([1.0, 1.0, 0.0])
        for share in np.arange(0.1, 1.0, 0.05):
            try:
                drive_positions(machine, (home.position + share * away)[None], home.rotation_base_platform[None])
            except KinematicsError as error:
                named.append(str(error).split()[2])
                break
    assert named == [leg.name for leg in machine.legs]


SRS = load_machine('srs')
PLATFORM = SRS.platform.name


def with_closure(**changes: object) -> list[Leg]:
    """Legs of a hexapod, the closure of the second one changed."""
    legs = list(SRS.legs)
    (closure,) = legs[1].closures
    legs[1] = replace(legs[1], closures=(replace(closure, **changes),))
    return legs


@pytest.mark.parametrize(
    ('planar', 'kind', 'words'),
    [(False, 'hinge', "kind 'hinge'; choose one of ball, universal, pin, fixed"),
     (True, 'universal', "kind 'universal'; in a planar machine choose one of ball, pin, fixed")],
)  # fmt: skip
def test_kinds_that_there_are_not_are_refused_with_those_that_there_are(planar: bool, kind: str, words: str) -> None:
    with pytest.raises(KinematicsError, match=words):
        closure_rows(with_closure(kind=kind), PLATFORM, planar)


def test_a_body_is_not_joined_to_itself_or_to_a_stranger() -> None:
    body = SRS.legs[1].joints[-1].body.name
    with pytest.raises(KinematicsError, match=f'joins {body} to itself'):
        closure_rows(with_closure(other=body), PLATFORM, planar=False)
    stranger = SRS.legs[2].joints[-1].body.name
    with pytest.raises(KinematicsError, match=f"other '{stranger}' is neither the platform, nor base_link"):
        closure_rows(with_closure(other=stranger), PLATFORM, planar=False)
