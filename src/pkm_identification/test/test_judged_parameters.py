"""Relative errors, parameters that no machine can have, collinear parameters, and drive data with noise."""

from __future__ import annotations

import numpy as np
from known_machines import known_machine
from pkm_description.dynamics import reduce_parameters
from pkm_identification.columns.observation import ObservationModel
from pkm_identification.fitting.aliases import aliases_of
from pkm_identification.judgement.significance import possible_signs
from scipy.optimize import linprog


def test_signs_of_base_parameters_against_random_bodies() -> None:
    """What random machines show is possible; what is called impossible they never show."""
    machine = known_machine('valencia_3rps')
    model = ObservationModel(machine, identical_legs=False)
    base = model.base_parameters()
    signs, random = possible_signs(base), np.random.default_rng(1)
    seen = np.zeros((len(base), 2), dtype=bool)
    for _ in range(400):
        values = model.parameters(machine)
        for start in range(0, model.body_count, 10):
            points = random.normal(size=(5, 3)) * np.exp(random.normal(size=3)) + random.normal(size=3)
            masses = np.exp(2.0 * random.normal(size=5))
            second = np.einsum('k,ki,kj->ij', masses, points, points)
            inertia = np.trace(second) * np.eye(3) - second
            values[start : start + 10] = [masses.sum(), *(masses @ points), *inertia[np.triu_indices(3)]]
        found = base.values(values)
        assert (signs * found >= 0.0).all()
        seen |= np.stack([found < 0.0, found > 0.0], axis=1)
    limbs = [place for place, name in enumerate(base.names) if 'cylinder.Izz' in name]
    assert len(limbs) == 3 and (signs[limbs] == 1.0).all()
    viscous = [place for place, name in enumerate(base.names) if 'viscous' in name]
    assert (signs[viscous] == 1.0).all()
    # both signs are really there where both are called possible
    free = np.array([place for place, name in enumerate(base.names) if signs[place] == 0.0 and 'prismatic' not in name])
    assert seen[free].all()


def test_signs_of_scalars_are_those_of_a_linear_programme() -> None:
    """Combinations of masses alone: SciPy's linear programme finds the same signs."""
    names = ['first.m', 'second.m', 'third.m', 'leg1_prismatic.coulomb']
    kinds = ('mx', 'my', 'mz', 'Ixx', 'Ixy', 'Ixz', 'Iyy', 'Iyz', 'Izz')
    full = [f'{name.split(".")[0]}.{kind}' for name in names[:3] for kind in ('m', *kinds)] + names[3:]
    rows = np.random.default_rng(2).choice([-1.0, 0.0, 2.0], size=(6, 4))
    matrix = np.zeros((6, len(full)))
    matrix[:, [full.index(name) for name in names]] = rows
    base = reduce_parameters(matrix[:3], full)
    for place, factors in enumerate(base.combination):
        bounds = [(0.0, 1.0)] * len(full)
        low, high = (sign * linprog(sign * factors, bounds=bounds).fun for sign in (1.0, -1.0))
        sign = 0.0 if low < -1e-9 and high > 1e-9 else 1.0 if high > 1e-9 else -1.0
        assert possible_signs(base)[place] == sign


def test_collinear_columns_are_named_and_others_left_alone() -> None:
    random, names = np.random.default_rng(3), list('abcde')
    matrix = random.normal(size=(200, 5))
    assert aliases_of(matrix, names, names) == ()
    matrix[:, 3] = 100.0 * (matrix[:, 1] + matrix[:, 2] + 1e-3 * random.normal(size=200))
    (alias,) = aliases_of(matrix, names, names)
    assert {alias.name, *alias.others} == {'b', 'c', 'd'}
    assert 2e-4 < alias.own < 2e-3 and 'b is hardly told from' in str(alias)
