"""Every mistake in a machine file is refused by an error that names file, key and value and says what to do."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pkm_description.loading import machine_names
from wrong_machines import CONTENT, MISSING, changed, check, refused, written

# entry that is changed and named, its value (named, too), parts of what is said
ENTRIES = [
    ('gravity', MISSING, 'is missing; add it'),
    ('platform.home.rpy', MISSING, 'is missing; add it'),
    ('platform.body.mass', MISSING, 'is missing; add it'),
    ('leg_chain.universal_2.origin', MISSING, 'is missing; add it (needed here: type, axis, origin, body)'),
    ('leg_chain.prismatic.origin.xyz', MISSING, 'is missing; add it'),
    ('leg_chain.prismatic.body.name', MISSING, 'is missing; add it'),
    ('leg_chain.prismatic.limits', MISSING, 'is missing; a driven joint needs lower, upper'),
    ('leg_chain.prismatic.limits.effort', MISSING, 'is missing; add it'),
    ('leg_chain.universal_1.body.inertia.iyz', MISSING, 'is missing; add it'),
    ('legs.leg3.platform_point', MISSING, 'is missing; add it'),
    ('sensors.imu.accelerometer.bias', MISSING, 'is missing; add it'),
    ('sensors.legs.effort_noise', MISSING, 'is missing; add it'),
    ('servo.damping', MISSING, 'is missing; add it'),
    ('schema', 2, 'reads schema 1'),
    ('schema', True, 'reads schema 1'),
    ('gravty', [0.0, 0.0, -9.8], "unknown key; did you mean 'gravity'?"),
    ('leg_chain.prismatic.friction.viscosity', 3.0, "did you mean 'viscous'?"),
    ('leg_chain.prismatic.body.centre_of_mass', [0.0, 0.0, 0.0], "did you mean 'center_of_mass'?"),
    ('legs.leg2.base_pont', [0.0, 0.0, 0.0], "did you mean 'base_point'?"),
    ('sensors.imu.accelerometer.range', 0.0, 'must be greater than 0'),
    ('sensors.imu.gyroscope.range', [1.0, 2.0, 3.0], 'must be a number'),
    ('sensors.imu.accelerometer.matrix', [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], 'must be a list of 3 rows'),
    ('sensors.imu.gyroscope.matrix', [[1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0]], 'must be near [[1, 0, 0]'),
    ('sensors.imu.colour', 'red', 'unknown key; known here: link, xyz'),
    ('name', '', 'must be a text'),
    ('name', 'my machine', 'use letters, digits and _'),
    ('name', 7, 'must be a text'),
    ('leg_chain.prismatic.body.name', 'the rod', 'use letters, digits and _'),
    ('platform', [1, 2], 'must be a mapping'),
    ('legs', None, 'must be a list of entries'),
    ('legs', {}, 'needs legs'),
    ('leg_chain', {}, 'a leg needs joints'),
    ('leg_chain.prismatic.type', 'sliding', "choose 'revolute' or 'prismatic'"),
    ('leg_chain.prismatic.actuated', 'yes please', 'must be true or false'),
    ('gravity', [0.0, -9.8], 'must be a list of 3 numbers'),
    ('gravity', -9.8, 'must be a list of 3 numbers'),
    ('legs.leg4.base_point', [1.0, 2.0, 3.0, 4.0], 'must be a list of 3 numbers'),
    ('platform.body.mass', [3000.0, 3000.0], 'has 2 entries for 1 legs'),
    ('platform.body.mass', 'heavy', 'must be a number'),
    ('platform.body.mass', True, 'must be a number'),
    ('platform.body.mass', None, 'must be a number'),
    ('platform.body.mass', float('nan'), 'must be finite'),
    ('platform.body.mass', float('inf'), 'must be finite'),
    ('platform.body.mass', 10**400, 'must be finite'),
    ('platform.body.mass', 0.0, 'must be at least 0.001'),
    ('platform.body.mass', -3000.0, 'must be at least 0.001'),
    ('leg_chain.prismatic.body.mass', -1.0, 'must be at least 0.001'),
    ('leg_chain.prismatic.friction.viscous', -1.0, 'must be at least 0'),
    ('leg_chain.prismatic.limits.velocity', 0.0, 'must be greater than 0'),
    ('leg_chain.prismatic.limits.velocity', 1500.0, 'would cross its stroke in 0.000833 s; looks like mm/s, give m/s'),
    ('leg_chain.prismatic.friction.coulomb', 25001.0,
     'leg1_prismatic could not move: its dry friction of 25001 N is more than the drive gives (limits.effort = 25000'),
    ('leg_chain.prismatic.limits.upper', -0.5, 'must be greater than lower'),
    ('sensors.legs.position_noise', '1e-5', 'is a text to YAML; write a decimal point ... 1.0e-5'),
    ('sensors.imu.rate', 0, 'must be greater than 0'),
    ('servo.stiffness', 0.0, 'must be greater than 0'),
    ('leg_chain.prismatic.axis', [0.0, 0.0, 2.0], 'must be a unit vector; its length is 2'),
    ('leg_chain.universal_1.axis', [0.0, 0.0, 0.0], 'must be a unit vector'),
    ('platform.home.rpy', [0.0, 0.0, 90.0], 'looks like degrees ... rad'),
    ('legs.leg1.base_rpy', [0.0, 0.0, 139.5], 'looks like degrees ... rad'),
    ('sensors.imu.rpy', [180.0, 0.0, 0.0], 'looks like degrees ... rad'),
    ('leg_chain.universal_1.limits.lower', -75.0, 'looks like degrees; give rad'),
    ('gravity', [0.0, 0.0, -9806.65], 'looks like mm/s^2; give m/s^2'),
    ('leg_chain.prismatic.friction.coulomb', [1.0, 2.0, 3.0],
     'has 3 entries for 6 legs; give one number, or one per'),
    ('sensors.legs.position_noise', [1e-5] * 7, 'has 7 entries for 6 legs'),
    ('leg_chain.universal_2.body.mass', [1.0] * 5, 'has 5 entries for 6 legs'),
]  # fmt: skip


# changed entry, its value, key that is named, value that is named, parts of what is said
ELSEWHERE = [
    ('gravity.2', 'down', 'gravity[2]', 'down', 'must be a number'),
    ('leg_chain.prismatic.friction.viscous.4', -5.0, 'leg_chain.prismatic.friction.viscous[4]', -5.0, 'at least 0'),
    ('legs.leg5.base_point.1', float('nan'), 'legs.leg5.base_point[1]', float('nan'), 'must be finite'),
    ('leg_chain.prismatic.body.center_of_mass.0', [0.0, 1.0],
     'leg_chain.prismatic.body.center_of_mass[0]', [0.0, 1.0],
     'has 2 entries for 6 legs'),
    ('platform.body.inertia.ixx', -3200.0, 'platform.body.inertia', MISSING, 'is not positive definite'),
    ('platform.body.inertia.ixy', 9000.0, 'platform.body.inertia', MISSING, 'is not positive definite'),
    ('platform.body.inertia.izz', 7200.0, 'platform.body.inertia', MISSING,
     'exceeds the sum of the others ... centre of mass'),
    ('leg_chain.prismatic.body.inertia.ixx', [23.6] * 5 + [24.6], 'leg_chain.prismatic.body.inertia', MISSING,
     'exceeds the sum'),
    ('leg_chain.prismatic.actuated', False, 'leg_chain', None, 'no joint is driven; set actuated: true'),
    ('leg_chain.prismatic.body.name', 'cylinder', 'leg_chain.prismatic.body.name', 'leg1_cylinder',
     'two links ... rename one'),
    ('sensors.imu.link', 'platform_link', 'sensors.imu.link', 'platform_link', 'two links'),
    ('platform.link', 'base_link', 'platform.link', 'base_link', 'two links'),
    ('tolerances', {'calibrated': {'constants': ['place x', 'zero of leg7_prismatic'], 'root': [[1e-4], [0.0, 1e-5]]}},
     'tolerances.calibrated.constants', 'zero of leg7_prismatic', 'is no constant of this machine'),
    ('tolerances', {'calibrated': {'constants': ['delay'], 'root': [[1e-4]]}},  # no machine file has it
     'tolerances.calibrated.constants', 'delay', 'is no constant of this machine'),
    ('tolerances', {'calibrated': {'constants': ['place x', 'place y'], 'root': [[1e-4], [1e-5]]}},
     'tolerances.calibrated.root[1]', [1e-5], 'must be a list of 2 numbers'),
    ('tolerances', {'calibrated': {'constants': ['place x', 'place y'], 'root': [[1e-4], [1e-5, 0.0]]}},
     'tolerances.calibrated.root', [[1e-4], [1e-5, 0.0]], 'must have numbers greater than 0 at the end of its rows'),
    ('leg_chain.prismatic.origin.xyz.2', [2.08, 2.08], 'leg_chain.prismatic.origin.xyz[2]', [2.08, 2.08],
     'has 2 entries for 6 legs'),
    ('leg_tip.0', [0.0] * 5, 'leg_tip[0]', [0.0] * 5, 'has 5 entries for 6 legs'),
    ('platform.home.xyz.2', 1.5, 'legs.leg1', MISSING,
     'outside of its stroke 2.08 to 3.33 m ... change platform.home'),
    ('legs.leg4.platform_point.2', 1.0, 'legs.leg4', MISSING, 'outside of its stroke'),
    ('platform.home.xyz.2', 2388.8, 'platform.home.xyz', [0.0, 0.0, 2388.8], 'looks like millimetres; give metres'),
    ('legs.leg3.base_point.1', -1555.1, 'legs.leg3.base_point', MISSING, 'looks like millimetres; give metres'),
    ('leg_chain.prismatic.limits.upper', 1250.0, 'leg_chain.prismatic.limits', [0.0, 1250.0],
     'looks like millimetres'),
    ('leg_chain.prismatic.origin.xyz.2', 2080.0, 'legs.leg1', MISSING, 'looks like millimetres'),
    ('leg_tip.2', 1000.0, 'legs.leg1', MISSING, 'looks like millimetres'),
    ('sensors.imu.xyz.0', -305.0, 'sensors.imu.xyz', [-305.0, 0.0, 0.0105], 'looks like millimetres'),
    ('platform.body.center_of_mass', [150.0, -50.0, 450.0], 'platform.body.center_of_mass', [150.0, -50.0, 450.0],
     'millimetres'),
    ('platform.body.mass', 5e5, 'leg_chain.prismatic.limits.effort', 25000.0,
     'to hold the machine at home ... kg and not in g'),
    ('platform.body.mass', 3e6, 'platform.body.mass', 3e6, 'looks like grams; give kilograms'),
    ('leg_chain.prismatic.body.mass', 70e3, 'leg_chain.prismatic.limits.effort', 25000.0, 'kg and not in g'),
    ('leg_chain.prismatic.limits.effort', 250.0, 'leg_chain.prismatic.limits.effort', 250.0, 'give a stronger drive'),
    ('leg_chain.universal_1.limits.upper', -1.2, 'leg_chain.universal_1.limits', [-1.3, -1.2],
     'at home leg1_universal_1 would be'),
    ('leg_chain.universal_2.axis', [1.0, 0.0, 0.0], 'platform.home', MISSING, 'misses its platform joint'),
    ('leg_chain.universal_1.actuated', True, 'leg_chain.universal_1.limits.effort', None, 'is missing'),
]  # fmt: skip


ALL = [(key, value, key, None if value is MISSING else value, words) for key, value, words in ENTRIES] + ELSEWHERE


@pytest.mark.parametrize(
    ('dotted', 'value', 'key', 'named', 'words'), ALL, ids=[f'{one[0]}={one[1]}'[:60] for one in ALL]
)
def test_one_wrong_entry(tmp_path: Path, dotted: str, value: object, key: str, named: object, words: str) -> None:
    path = written(tmp_path, changed('srs', {dotted: value}))
    check(refused(path), path, key, named, words)


def _scaled_points(key: str, factor: float) -> Callable[[dict[str, Any]], None]:
    def change(content: dict[str, Any]) -> None:
        for leg in content['legs'].values():
            leg[key] = [factor * number for number in leg[key]]

    return change


def _layout(base: list[float], platform: list[float], radius: float) -> Callable[[dict[str, Any]], None]:
    """Joint points at angles (degrees) on circles of 1.65 m and ``radius``."""

    def change(content: dict[str, Any]) -> None:
        for leg, first, second in zip(content['legs'].values(), base, platform, strict=True):
            for key, size, angle in (('base_point', 1.65, first), ('platform_point', radius, second)):
                leg[key] = [size * float(np.cos(np.radians(angle))), size * float(np.sin(np.radians(angle))), 0.0]

    return change


def _one_leg_less(content: dict[str, Any]) -> None:
    del content['legs']['leg6']
    for key in ('viscous', 'coulomb'):
        content['leg_chain']['prismatic']['friction'][key] = 1.0
    content['sensors']['legs']['position_noise'] = 1e-5


def _two_drives(content: dict[str, Any]) -> None:
    content['leg_chain']['universal_1'] |= {'actuated': True}
    content['leg_chain']['universal_1']['limits']['effort'] = 100.0


def _platform_points_in_the_origin(content: dict[str, Any]) -> None:
    content['leg_chain']['prismatic']['limits']['upper'] = 3.0
    _scaled_points('platform_point', 0.0)(content)


SIX = [0.0, 60.0, 120.0, 180.0, 240.0, 300.0]
PAIRS = [10.0, 70.0, 130.0, 190.0, 250.0, 310.0]
WHOLES = {
    'geometry in mm, base': (_scaled_points('base_point', 1e3), 'legs.leg1.base_point', 'looks like millimetres'),
    'geometry in mm, platform': (_scaled_points('platform_point', 1e3), 'legs.leg1.platform_point', 'millimetres'),
    'five legs': (_one_leg_less, 'legs', 'leave the platform 6 degrees of freedom, but the number of drives is 5'),
    'two drives per leg': (_two_drives, 'sensors.legs.position_noise', '6 entries for 12 drives ... one per drive'),
    'parallel legs': (_layout(PAIRS, PAIRS, 1.65), 'platform.home', 'singular pose ... condition number'),
    'platform like the base': (_layout(PAIRS, PAIRS, 1.0), 'platform.home', 'singular pose ... condition number'),
    'two regular hexagons, turned': (_layout(SIX, PAIRS, 1.0), 'platform.home', 'singular pose ... condition number'),
    'centrally symmetric': (
        _layout([0, 50, 100, 180, 230, 280], [20, 40, 130, 200, 220, 310], 1.2), 'platform.home', 'singular pose'),
    'all joints of the platform in one point': (_platform_points_in_the_origin, 'legs', 'lie in the platform origin'),
}  # fmt: skip


@pytest.mark.parametrize('case', WHOLES)
def test_impossible_machines(tmp_path: Path, case: str) -> None:
    change, key, words = WHOLES[case]
    content = changed('srs', {})
    change(content)
    path = written(tmp_path, content)
    error = refused(path)
    check(error, path, key, MISSING, words)
    if 'singular' in words:
        condition = float(str(error).partition('condition number ')[2].partition(',')[0])
        assert condition > 1e3


@pytest.mark.parametrize(
    ('dotted', 'factor', 'words'),
    [
        ('platform.body.mass', 1e3, 'kg and not in g'),
        ('leg_chain.prismatic.body.mass', 1e3, 'kg and not in g'),
        ('leg_chain.universal_2.body.mass', 1e3, 'kg and not in g'),
        ('platform.home.xyz.2', 1e3, 'millimetres'),
        ('leg_chain.prismatic.limits.upper', 1e3, 'millimetres'),
        ('leg_chain.prismatic.origin.xyz.2', 1e3, 'millimetres'),
        ('leg_chain.prismatic.origin.xyz.2', 1e-3, 'outside of its stroke'),
        ('sensors.imu.xyz.0', 1e3, 'millimetres'),
        ('sensors.imu.xyz.2', 1e3, 'millimetres'),
        ('leg_chain.universal_2.body.center_of_mass.2', 1e3, 'millimetres'),
        ('platform.body.center_of_mass.0', 1e3, 'millimetres'),
        ('platform.body.mass', 1e-3, 'radius of gyration'),
        ('leg_chain.prismatic.limits.effort', 1e-3, 'stronger drive'),
    ],
)
def test_wrong_units_on_a_small_machine(tmp_path: Path, dotted: str, factor: float, words: str) -> None:
    """PaLiDA is four times smaller and fifty times lighter than SIMONA: absolute bounds would not see it."""
    value: Any = CONTENT['palida']
    for part in dotted.split('.'):
        value = value[int(part) if part.isdigit() else part]
    assert words in str(refused(written(tmp_path, changed('palida', {dotted: value * factor}))))


@pytest.mark.parametrize(
    ('key', 'value', 'words'),
    [
        ('legs.leg7', 'assumed: a leg that is not there', "names nothing in this file; did you mean 'legs.leg"),
        ('nonsense', 'assumed: x', 'names nothing in this file'),
        ('gravity', 9.8, 'must be a text'),
    ],
)
def test_provenance_of_what_is_not_there(tmp_path: Path, key: str, value: object, words: str) -> None:
    content = copy.deepcopy(CONTENT['srs'])
    content['provenance'][key] = value
    path = written(tmp_path, content)
    check(refused(path), path, f'provenance.{key}', value, words)


@pytest.mark.parametrize(
    ('text', 'words'),
    [
        ('', 'is empty'),
        ('# nothing\n', 'is empty'),
        ('just words\n', 'must be a mapping'),
        ('- a\n- b\n', 'must be a mapping'),
        ('a: [1, 2\nb: }', 'is not valid YAML'),
        ('name: a\nname: b\n', "key 'name' stands twice"),
        ('? [1, 2]\n: value\n', 'a key must be a single word'),
        ('servo: {stiffness: 1.0, damping: 2.0, stiffness: 3.0}\n', "key 'stiffness' stands twice"),
        ('\tname: tab\n', 'is not valid YAML'),
        ('name: 2026-13-45\n', 'is not valid YAML: month must be in 1..12'),
    ],
)
def test_text_that_is_no_machine_file(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / 'machine.yaml'
    path.write_text(text)
    assert words in str(refused(path))
    assert str(path) in str(refused(path))


def test_binary_file(tmp_path: Path) -> None:
    path = tmp_path / 'machine.yaml'
    path.write_bytes(b'\xff\xfe\x00\x81')
    assert 'is not valid YAML' in str(refused(path))


@pytest.mark.parametrize('name', ['simona', 'no/such/folder/machine.yaml', ''])
def test_no_such_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    message = str(refused(Path(name))) if name else str(refused(name))  # type: ignore[arg-type]
    assert message == f'no machine {name!r} and no such file; machines here: {", ".join(machine_names())}'


@pytest.mark.parametrize('key', ['leg_tip', 'ball_joint'])
def test_closed_machine_without_platform(tmp_path: Path, key: str) -> None:
    content = changed('srs', {'platform': MISSING, 'ball_joint': {'cone': 0.5}})
    for other in {'leg_tip', 'ball_joint'} - {key}:
        del content[other]
    path = written(tmp_path, content)
    check(refused(path), path, 'platform', None, f'is missing, but there is {key!r} ... an open chain, which has no')
