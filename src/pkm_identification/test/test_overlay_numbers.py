"""What an overlay says of a machine, and the standard deviations beside it, without an identification."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from known_machines import known_machine
from pkm_description.loading import load_machine, write_overlay
from pkm_description.machine import INERTIAL_PARAMETERS, Machine, RigidBody
from pkm_identification.errors import InfeasibleParametersError
from pkm_identification.estimator.bodies import PhysicalParameters, body_from_parameters, machine_with
from pkm_identification.fitting.physical_machine import overlay_values
from pkm_identification.online.identifier import OnlineIdentifier
from pkm_identification.online.stream import write_overlay as write_learned
from pkm_identification.report.files import overlay_std
from pkm_identification.report.files import write_overlay as write_found

HEADER = {'date': '2026-11-26', 'data': 'none', 'method': 'test'}
#: mass, first moments and inertia about the origin of a body that can exist
BODY = np.array([4.0, 0.4, -0.8, 1.2, 2.0, 0.1, -0.2, 2.5, 0.3, 3.0])


def with_bodies(machine: Machine, alike: bool) -> Machine:
    """The machine with bodies of other numbers, in each leg others, or the same in all legs."""
    scale = np.full(len(machine.legs), 1.25) if alike else np.linspace(1.1, 1.5, len(machine.legs))

    def scaled(body: RigidBody, factor: float) -> RigidBody:
        return body_from_parameters(body.name, factor * body.parameters) if body.mass > 0.0 else body

    legs = tuple(
        replace(leg, joints=tuple(replace(joint, body=scaled(joint.body, factor)) for joint in leg.joints))
        for leg, factor in zip(machine.legs, scale, strict=True)
    )
    return replace(machine, platform=scaled(machine.platform, 0.75), legs=legs)


@pytest.mark.parametrize('name', ['srs', 'tricept', 'delta'])
@pytest.mark.parametrize('alike', [True, False])
def test_bodies_of_an_overlay_are_those_of_the_machine(tmp_path: Path, name: str, alike: bool) -> None:
    machine = known_machine(name)
    wanted = with_bodies(machine, alike)
    path = write_overlay(tmp_path / 'bodies.yaml', name, overlay_values(wanted, alike, 'none'), **HEADER)
    again = load_machine(name, path)
    pairs = [(again.platform, wanted.platform)]
    pairs += [(one.body, two.body) for one, two in zip(again.joints, wanted.joints, strict=True)]
    for found, body in pairs:
        np.testing.assert_allclose(found.parameters, body.parameters, atol=1e-12 * np.abs(body.parameters).max())


def test_what_is_alike_in_all_legs_is_written_as_one_number() -> None:
    machine = known_machine('srs')
    values = overlay_values(machine, True, 'none')
    assert all(np.ndim(value) == 0 for key, value in values.items() if key.endswith(('.mass', '.ixx')))
    single = overlay_values(machine, False, 'none')
    assert np.shape(single['leg_chain.prismatic.body.mass']) == (6,)
    assert np.shape(single['platform.body.mass']) == ()


def test_only_what_was_identified_is_in_an_overlay() -> None:
    """Friction of no joint, of the drives or of all; inertia of rotors where there are any."""
    machine = known_machine('srs')

    def rubbing(friction: str) -> set[str]:
        return {key.partition('.friction')[0] for key in overlay_values(machine, True, friction) if '.friction' in key}

    assert rubbing('none') == set()
    assert rubbing('actuated') == {'leg_chain.prismatic'}
    assert rubbing('all') > rubbing('actuated')
    rotors = [key for key in overlay_values(known_machine('valencia_3rps'), True, 'none') if 'rotor' in key]
    assert rotors == ['leg_chain.prismatic.rotor_inertia']
    assert not any(key.endswith('rotor_inertia') for key in overlay_values(machine, True, 'all'))


def result_of(machine: Machine, names: tuple[str, ...], values: np.ndarray, variances: np.ndarray) -> SimpleNamespace:
    """What is read of a result for its overlay."""
    physical = PhysicalParameters(names, values, values, np.diag(variances), ('the platform: mass is negative',))
    return SimpleNamespace(
        machine=machine, identified_machine=machine, physical=physical, delivered=None,
        model=SimpleNamespace(identical_legs=True, rubbing='actuated'),
        provenance={'date': '2026-11-26', 'data': 'run', 'time of the data': 'today', 'method': 'test'},
    )  # fmt: skip


def test_deviations_of_bodies_are_those_of_centre_of_mass_and_inertia_about_it() -> None:
    """By the rules for c = h / m and I = J - h x h / m; bodies of which a number was held have none."""
    names = ('leg_cylinder.m', *(f'platform_link.{kind}' for kind in INERTIAL_PARAMETERS))
    spread = np.linspace(0.01, 0.1, 10)
    found = overlay_std(
        result_of(known_machine('srs'), names, np.array([1.0, *BODY]), np.array([1.0, *spread]) ** 2)
    )
    m, h, s = BODY[0], BODY[1:4], spread
    wanted = {'mass': s[0]}
    for axis, letter in enumerate('xyz'):
        wanted[f'center_of_mass.{letter}'] = np.hypot(s[1 + axis] / m, h[axis] / m**2 * s[0])
    for place, (i, j) in enumerate([(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]):
        if i == j:
            others = [axis for axis in range(3) if axis != i]
            terms = [2.0 * h[axis] / m * s[1 + axis] for axis in others] + [h[others] @ h[others] / m**2 * s[0]]
        else:
            terms = [h[j] / m * s[1 + i], h[i] / m * s[1 + j], h[i] * h[j] / m**2 * s[0]]
        wanted[f'inertia.i{"xyz"[i]}{"xyz"[j]}'] = np.linalg.norm([s[4 + place], *terms])
    assert found == pytest.approx({f'platform.body.{key}': value for key, value in wanted.items()}, rel=1e-6)


def test_deviations_of_a_heavy_body_with_zeros_among_its_numbers_are_as_exact() -> None:
    """Ten tons: only a product of inertia is uncertain, and it is the same about the centre of mass."""
    names = tuple(f'platform_link.{kind}' for kind in INERTIAL_PARAMETERS)
    values = np.array([1e4, 1e4, 1e4, 0.0, 3e4, 0.0, 0.0, 3e4, 0.0, 4e4])
    variances = np.zeros(10)
    variances[5] = 2.0**2
    found = overlay_std(result_of(known_machine('srs'), names, values, variances))
    assert found['platform.body.inertia.ixy'] == pytest.approx(2.0, rel=1e-6)
    assert sum(found.values()) == pytest.approx(2.0, rel=1e-6)


def test_an_overlay_says_what_it_does_not_carry_and_why_there_is_none(tmp_path: Path) -> None:
    names = tuple(f'platform_link.{kind}' for kind in INERTIAL_PARAMETERS)
    result = result_of(known_machine('srs'), names, BODY, np.full(10, 1e-4))
    assert 'not in an overlay' not in write_found(result, tmp_path / 'whole.yaml').read_text()
    result.delivered = SimpleNamespace(lost=('offsets', 'delays'))
    text = ' '.join(write_found(result, tmp_path / 'part.yaml').read_text().split())
    assert 'identified besides, and not in an overlay: offsets; delays' in text
    result.identified_machine = None
    with pytest.raises(InfeasibleParametersError, match=r'no overlay: the platform: mass is negative'):
        write_found(result, tmp_path / 'none.yaml')


def learning(machine: Machine) -> SimpleNamespace:
    """A machine that has learned what is in its file, twice as well as was believed before."""
    begun = OnlineIdentifier(machine)
    spread = begun.settings.prior * begun.observation.scale
    return SimpleNamespace(
        machine=machine, observation=begun.observation, settings=begun.settings, parameters=begun.observation.nominal,
        covariance=np.diag((0.5 * spread) ** 2), std=0.5 * spread, residual_std=np.ones(machine.actuated_count),
        samples=1234, last_stamp=12_340_000_000, is_certain=True,
    )  # fmt: skip


def test_what_was_learned_online_is_written_once_something_is_known(tmp_path: Path) -> None:
    machine = known_machine('srs')
    known = learning(machine)
    path = write_learned(known, tmp_path / 'learned.yaml', '2026-11-26')
    text = ' '.join(path.read_text().split())
    assert '1234 samples until 12.34 s of the machine' in text and "bodies and friction of the drives'" in f"{text}'"
    assert load_machine('srs', path).platform.mass == pytest.approx(machine.platform.mass, rel=1e-3)
    known.is_certain, known.verdict = False, 'the model does not fit'
    text = ' '.join(write_learned(known, path, '2026-11-26').read_text().split())
    assert 'bodies and friction of the drives; the model does not fit' in text
    known.std, before = known.std / 0.5, path.read_text()  # as before
    with pytest.raises(InfeasibleParametersError, match='nothing is learned yet'):
        write_learned(known, path, '2026-11-26')
    assert path.read_text() == before


def test_bodies_of_one_leg_and_bodies_that_all_legs_share_are_told_apart() -> None:
    """A parameter with a leg's name is of that leg; one with the name of all legs is of each that has none."""
    machine = known_machine('srs')
    rod = machine.legs[1].joints[2].body.name
    shared = f'leg_{rod.partition("_")[2]}'
    names = tuple(f'{body}.{kind}' for body in (rod, shared) for kind in INERTIAL_PARAMETERS)
    found = machine_with(machine, names, np.concatenate([BODY, 2.0 * BODY]))
    masses = [leg.joints[2].body.mass for leg in found.legs]
    assert masses == pytest.approx([8.0, 4.0, 8.0, 8.0, 8.0, 8.0])
    assert found.platform.mass == machine.platform.mass
