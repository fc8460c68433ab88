"""Numbers that are possible one by one, but which no machine has: wrong units, mix-ups, legs out of the plane."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest
from pkm_description.loading import load_machine, machine_names
from wrong_machines import CONTENT, MISSING, changed, check, refused, written


@pytest.mark.parametrize(
    ('changes', 'key', 'words'),
    [
        ({'legs.leg2.platform_point.2': 0.05}, 'legs.leg2.platform_point', 'is at height 0.05 m ... ends at 0 m'),
        ({'legs.leg3.base_point.2': -0.1}, 'legs.leg3.platform_point', 'is at height 0 m ... ends at -0.1 m'),
        ({'leg_tip.2': 1e-3}, 'legs.leg1.platform_point', 'ends at 0.001 m and moves in a plane'),
        ({'leg_chain.revolute.axis': [0.0, 0.6, 0.8]}, 'leg_chain.revolute.axis', 'does not keep the leg in the plane'),
        ({'leg_chain.prismatic.axis': [0.8, 0.0, 0.6]}, 'leg_chain.prismatic.axis', 'prismatic ones across it'),
    ],
)
def test_planar_legs_out_of_the_plane(tmp_path: Path, changes: dict[str, object], key: str, words: str) -> None:
    path = written(tmp_path, changed('khalifa_3prr', changes))
    check(refused(path), path, key, MISSING, words)


def test_planar_legs_in_parallel_planes_are_right(tmp_path: Path) -> None:
    """Stacked legs: each has its own height, at the base and at the platform."""
    content = copy.deepcopy(CONTENT['khalifa_3prr'])
    for number, leg in enumerate(content['legs'].values()):
        leg['base_point'][2] = leg['platform_point'][2] = 0.03 * number
    assert load_machine(written(tmp_path, content)).base_points[2, 2] == 0.06


STRIBECK = {'law': 'stribeck', 'viscous': 20.0, 'coulomb': 6.0, 'static': 9.0, 'stribeck_velocity': 0.05}


@pytest.mark.parametrize(
    ('friction', 'key', 'value', 'words'),
    [
        (STRIBECK | {'static': 5.0}, '.static', 5.0, 'is below coulomb = 6 ... exchange them'),
        (STRIBECK | {'static': [9.0] * 5 + [5.0]}, '.static[5]', 5.0, 'is below coulomb = 6'),
        ({'law': 'static_coulomb', 'viscous': 20.0, 'coulomb': 6.0, 'static': 0.0}, '.static', 0.0, 'is below coulomb'),
        ({'law': 'load_dependent_stribeck', 'viscous': 1.0, 'coulomb_coefficient': 0.2, 'static_coefficient': 0.1,
          'stribeck_velocity': 0.05}, '.static_coefficient', 0.1, 'is below coulomb_coefficient = 0.2'),
        (STRIBECK | {'static': 201.0}, '.coulomb', 201.0,
         'leg1_prismatic could not move ... 201 N ... limits.effort = 200 N'),
        ({'law': 'dead_band', 'viscous': 20.0, 'coulomb': 230.0}, '.coulomb', MISSING, 'could not move'),
        ({'law': 'asymmetric_coulomb', 'viscous': 1.0, 'coulomb_positive': 7.0, 'coulomb_negative': 250.0}, '', 250.0,
         'could not move'),
    ],
)  # fmt: skip
def test_laws_that_no_joint_has(
    tmp_path: Path, friction: dict[str, object], key: str, value: object, words: str
) -> None:
    path = written(tmp_path, changed('palida', {'leg_chain.prismatic.friction': friction}))
    check(refused(path), path, f'leg_chain.prismatic.friction{key}', value, words)


@pytest.mark.parametrize(
    ('machine', 'factor'), [('srs', 1e3), ('palida', 1e3), ('valencia_3rps', 1e3), ('khalifa_3prr', 1e3)]
)
def test_drive_speeds_in_millimetres(tmp_path: Path, machine: str, factor: float) -> None:
    speed = factor * CONTENT[machine]['leg_chain']['prismatic']['limits']['velocity']
    path = written(tmp_path, changed(machine, {'leg_chain.prismatic.limits.velocity': speed}))
    check(refused(path), path, 'leg_chain.prismatic.limits.velocity', speed, 'looks like mm/s, give m/s')


@pytest.mark.parametrize('factor', [1e-6, 1e-9])
@pytest.mark.parametrize('place', ['platform', 'leg_chain.universal_1', 'leg_chain.universal_2', 'leg_chain.prismatic'])
@pytest.mark.parametrize('machine', ['srs', 'palida'])
def test_inertias_too_small_for_the_mass(tmp_path: Path, machine: str, place: str, factor: float) -> None:
    body = CONTENT[machine]
    for part in place.split('.'):
        body = body[part]
    smaller = {key: factor * value for key, value in body['body']['inertia'].items()}
    path = written(tmp_path, changed(machine, {f'{place}.body.inertia': smaller}))
    check(refused(path), path, f'{place}.body.inertia', MISSING, 'is too small for ... osmium ... give kg m^2')


@pytest.mark.parametrize('name', machine_names())
def test_all_bodies_are_far_from_points(name: str) -> None:
    """The bound on small inertias leaves room: every body here is larger than a ball of osmium."""
    machine = load_machine(name)
    bodies = [joint.body for leg in machine.legs for joint in leg.joints] + [machine.platform] * machine.has_platform
    for body in bodies:
        if body.mass == 0.0:
            assert not body.inertia.any()  # cross of a composed joint
            continue
        radius = (0.75 * body.mass / np.pi / 22600.0) ** (1 / 3)
        assert np.linalg.eigvalsh(body.inertia)[-1] > 0.4 * body.mass * radius**2
