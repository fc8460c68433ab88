"""Friction laws against the papers' formulas and figures, and against finite differences."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pkm_description.errors import FrictionLawError
from pkm_description.friction_laws import (
    DeadBand,
    FrictionLaw,
    LoadDependentStribeck,
    PowerLaw,
    Sign,
    StaticCoulomb,
    Stribeck,
    ViscousCoulomb,
    friction_law,
    friction_law_names,
    guide_loads,
)

# one example of every law, and the same law as the papers write it: a function of one velocity and one load
EXAMPLES = {
    'viscous_coulomb': (
        {'viscous': 80.0, 'coulomb': 30.0},
        lambda v, n: 80.0 * v + math.copysign(30.0, v),
    ),
    'asymmetric_coulomb': (
        {'viscous': 80.0, 'coulomb_positive': 30.0, 'coulomb_negative': 20.0},
        lambda v, n: 80.0 * v + 30.0 if v > 0 else -20.0 - 80.0 * abs(v),
    ),
    'asymmetric': (
        {'viscous_positive': 80.0, 'viscous_negative': 50.0, 'coulomb_positive': 30.0, 'coulomb_negative': 20.0},
        lambda v, n: 80.0 * v + 30.0 if v > 0 else -20.0 - 50.0 * abs(v),
    ),
    'static_coulomb': (
        {'viscous': 80.0, 'coulomb': 30.0, 'static': 45.0, 'static_velocity': 0.01},
        lambda v, n: 80.0 * v + math.copysign(45.0 if abs(v) <= 0.01 else 30.0, v),
    ),
    'dead_band': (
        {'viscous': 305.0, 'coulomb': 155.0, 'width': 0.002},
        lambda v, n: 305.0 * v + math.copysign(155.0, v) if abs(v) > 0.002 else 2.0 * 155.0 / 0.004 * v,
    ),
    'atan': (
        {'viscous': 80.0, 'coulomb': 30.0, 'saturation': 12.0, 'slope': 40.0},
        lambda v, n: math.copysign(30.0, v) + 80.0 * v + 12.0 * math.atan(40.0 * v),
    ),
    'power': (
        {'viscous': 80.0, 'coulomb': 30.0, 'exponent': 0.4},
        lambda v, n: math.copysign(30.0 + 80.0 * abs(v) ** 0.4, v),
    ),
    'asymmetric_power': (
        {'viscous': 80.0, 'coulomb_positive': 30.0, 'coulomb_negative': 20.0, 'exponent': 0.4},
        lambda v, n: 30.0 + 80.0 * v**0.4 if v > 0 else -20.0 - 80.0 * abs(v) ** 0.4,
    ),
    'stribeck': (
        {'viscous': 80.0, 'coulomb': 30.0, 'static': 45.0, 'stribeck_velocity': 0.05, 'exponent': 1.6},
        lambda v, n: math.copysign(30.0 + 15.0 * math.exp(-((abs(v) / 0.05) ** 1.6)), v) + 80.0 * v,
    ),
    'asymmetric_stribeck': (
        {'viscous': 80.0, 'coulomb': 30.0, 'static_positive': 45.0, 'static_negative': 37.0, 'stribeck_velocity': 0.05,
         'exponent': 1.6},
        lambda v, n: (
            math.copysign(30.0 + (15.0 if v > 0 else 7.0) * math.exp(-((abs(v) / 0.05) ** 1.6)), v) + 80.0 * v
        ),
    ),
    'load_dependent_stribeck': (
        {
            'viscous': 83.0,
            'coulomb_coefficient': 0.145,
            'static_coefficient': 0.3,
            'stribeck_velocity': 0.33,
            'exponent': 1.2,
            'additional_load': 400.0,
        },
        lambda v, n: (
            math.copysign((0.145 + 0.155 * math.exp(-((abs(v) / 0.33) ** 1.2))) * abs(n) + 0.145 * 400.0, v) + 83.0 * v
        ),
    ),
}
LAWS = {name: friction_law({'law': name, **parameters}) for name, (parameters, _) in EXAMPLES.items()}
SIGNS = [Sign(), Sign('tanh', 1e-3), Sign('dead_band', 2e-3)]

# Rosyid & El-Khasawneh 2020, Table 1, estimates
TABLE_1 = {'coulomb_coefficient': 0.1449, 'static_coefficient': 0.3016, 'stribeck_velocity': 0.3281}
VISCOUS = 83.1797


@pytest.mark.parametrize('name', EXAMPLES)
def test_every_law_is_the_formula_of_its_paper(name):
    velocities = np.array([-1.3, -0.2, -0.0021, -0.002, -1e-4, 3e-5, 0.002, 0.0021, 0.05, 0.7])
    loads = np.linspace(-150.0, 80.0, len(velocities))
    expected = [EXAMPLES[name][1](v, n) for v, n in zip(velocities, loads, strict=True)]
    np.testing.assert_allclose(LAWS[name].force(velocities, loads), expected, rtol=1e-13)


def test_every_law_has_an_example():
    assert set(EXAMPLES) == set(friction_law_names())


@pytest.mark.parametrize('sign', SIGNS, ids=lambda sign: sign.kind)
@pytest.mark.parametrize('name', EXAMPLES)
def test_force_is_regressor_times_linear_parameters(name, sign):
    law = LAWS[name].with_sign(sign)
    random = np.random.default_rng(5)
    velocity, load = random.uniform(-0.01, 0.01, (40, 6)), random.normal(0.0, 100.0, 6)
    values = random.uniform(0.0, 50.0, len(law.linear_parameter_names))
    # every parameter by its name, so that columns and names cannot be mixed up
    named = friction_law({**law.mapping(), **dict(zip(law.linear_parameter_names, values, strict=True))})
    regressor = law.regressor(velocity, load)
    assert regressor.shape == (40, 6, len(values))
    np.testing.assert_allclose(named.force(velocity, load), regressor @ values, rtol=1e-12)
    np.testing.assert_array_equal(law.with_linear_parameters(values).linear_parameters(), values)


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(sorted(EXAMPLES)),
    sign=st.sampled_from(SIGNS),
    scale=st.lists(st.floats(0.0, 1e3), min_size=4, max_size=4),
    velocity=st.floats(-10.0, 10.0),
    load=st.floats(-1e4, 1e4),
)
def test_friction_never_drives(name, sign, scale, velocity, load):
    law = LAWS[name].with_sign(sign)
    count = len(law.linear_parameter_names)
    law = law.with_linear_parameters(law.linear_parameters() * np.array(scale[:count]))
    assert law.dissipated_power(velocity, load) >= 0.0
    assert law.force(0.0, load) == 0.0
    if 'asymmetric' not in name:
        assert law.force(-velocity, load) == -law.force(velocity, load)
    np.testing.assert_array_equal(law.force(velocity, -load), law.force(velocity, load))


@pytest.mark.parametrize(
    ('velocity', 'coefficient'),
    [(0.05, 0.2795), (0.1, 0.2604), (0.2, 0.2301), (0.3281, 0.2025), (0.5, 0.1790), (1.0, 0.1523)],
)
def test_stribeck_coefficient_of_rosyid(velocity, coefficient):
    law = LoadDependentStribeck(viscous=0.0, **TABLE_1)
    assert law.force(velocity, 1.0) == pytest.approx(coefficient, abs=5e-5)
    assert law.force(-velocity, 250.0) == pytest.approx(-250.0 * coefficient, abs=250.0 * 5e-5)


def test_viscous_part_of_rosyid_counts_once_or_twice_and_ignores_the_load():
    once = LoadDependentStribeck(viscous=VISCOUS, **TABLE_1)
    twice = LoadDependentStribeck(viscous=VISCOUS, viscous_count=2, **TABLE_1)
    assert once.force(1.0, 0.0) == pytest.approx(83.18, abs=5e-3)
    assert twice.force(1.0, 0.0) == pytest.approx(166.36, abs=1e-2)
    assert once.force(1.0, 400.0) - once.force(1.0, 0.0) == pytest.approx(0.1523 * 400.0, abs=0.02)


def test_guide_loads_of_rosyid():
    shares = [0.7, 0.2, 0.1]
    estimate = guide_loads(7.2614, [12.1299, 10.0817, 14.4665], 31.3359, shares, gravity=9.81)
    design = guide_loads(6.255, [11.128, 9.08, 13.372], 30.351, shares, gravity=9.81)
    np.testing.assert_allclose(estimate, [405.41, 231.62, 243.89], atol=5e-3)
    np.testing.assert_allclose(design, [378.95, 209.99, 222.32], atol=5e-3)
    assert estimate.sum() == pytest.approx(880.92, abs=5e-3)
    laws = [LoadDependentStribeck(viscous=0.0, additional_load=load, **TABLE_1) for load in estimate]
    # the paper's levels: Coulomb in motion, static where motion begins
    np.testing.assert_allclose([law.force(0.2, 0.0) for law in laws], [58.74, 33.56, 35.34], atol=6e-3)
    np.testing.assert_allclose([law.breakaway_force(1.0, 0.0) for law in laws], [122.27, 69.86, 73.56], atol=6e-3)
    with pytest.raises(ValueError, match=r'sum 0\.9: give one share >= 0 per guide, with sum 1'):
        guide_loads(7.0, 12.0, 31.0, [0.7, 0.1, 0.1])


def test_additional_load_may_follow_the_stribeck_curve():
    separate = LoadDependentStribeck(viscous=VISCOUS, additional_load=300.0, additional_level='stribeck', **TABLE_1)
    together = LoadDependentStribeck(viscous=VISCOUS, **TABLE_1)
    velocity = np.linspace(-0.4, 0.4, 17)
    np.testing.assert_allclose(separate.force(velocity, 80.0), together.force(velocity, 380.0), rtol=1e-13)


def test_limit_of_slow_motion():
    stribeck = LAWS['stribeck']
    assert stribeck.force(1e-12) == pytest.approx(45.0, rel=1e-9)
    assert stribeck.force(-1e-12) == pytest.approx(-45.0, rel=1e-9)
    assert stribeck.breakaway_force() == pytest.approx(45.0, rel=1e-12)
    assert LAWS['asymmetric'].breakaway_force(-1.0) == -20.0
    assert LAWS['power'].breakaway_force() == pytest.approx(30.0)
    # the static level of Rosyid's Fig. 4a stands at zero speed alone
    paper = StaticCoulomb(viscous=80.0, coulomb=30.0, static=45.0)
    assert paper.breakaway_force() == 45.0
    assert paper.force(1e-9) == pytest.approx(30.0, rel=1e-6)


def test_dead_band_of_oh_jumps_as_printed_and_is_continuous_on_request():
    printed = DeadBand(viscous=305.0, coulomb=155.0)
    continuous = DeadBand(viscous=305.0, coulomb=155.0, form='continuous')
    for edge in (0.002, -0.002):
        outside = np.nextafter(edge, np.sign(edge))
        assert printed.force(outside) - printed.force(edge) == pytest.approx(0.002 * 305.0 * np.sign(edge), rel=1e-9)
        assert continuous.force(outside) - continuous.force(edge) == pytest.approx(0.0, abs=1e-9)
    assert printed.force(0.001) == pytest.approx(77.5)
    assert continuous.force(0.001) == pytest.approx(77.5 + 0.305)


def test_sensitivity_to_nonlinear_parameters():
    velocity = np.array([-0.7, -0.05, -0.0015, 0.0, 0.0015, 0.02, 0.4])
    speed, sign = np.abs(velocity), np.sign(velocity)
    power = PowerLaw(viscous=3.0, coulomb=5.0, exponent=0.6).nonlinear_sensitivity(velocity)
    logarithm = np.log(np.where(speed > 0.0, speed, 1.0))
    np.testing.assert_allclose(power[:, 0], 3.0 * sign * speed**0.6 * logarithm, rtol=1e-8)
    law = LoadDependentStribeck(
        viscous=0.3, coulomb_coefficient=0.1, static_coefficient=0.15, stribeck_velocity=0.2, additional_load=7.0,
    )  # fmt: skip
    found = law.nonlinear_sensitivity(velocity, 120.0)
    fading = np.exp(-speed / 0.2)
    np.testing.assert_allclose(found[:, 0], 0.05 * sign * 120.0 * fading * speed / 0.2**2, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(found[:, 2], 0.1 * sign, rtol=1e-8)


def test_signs_are_smooth_where_asked():
    velocity = np.array([-1.0, -5e-4, 0.0, 5e-4, 1.0])
    law = ViscousCoulomb(viscous=0.0, coulomb=10.0)
    np.testing.assert_array_equal(law.force(velocity), [-10.0, -10.0, 0.0, 10.0, 10.0])
    np.testing.assert_allclose(law.with_sign(Sign('dead_band', 1e-3)).force(velocity), [-10, -5, 0, 5, 10], rtol=1e-12)
    tanh = 10.0 * math.tanh(0.5)
    np.testing.assert_allclose(law.with_sign(Sign('tanh', 1e-3)).force(velocity), [-10, -tanh, 0, tanh, 10], rtol=1e-12)


@pytest.mark.parametrize('sign', SIGNS, ids=lambda sign: sign.kind)
@pytest.mark.parametrize('name', EXAMPLES)
def test_law_and_mapping_are_the_same(name, sign):
    law = LAWS[name].with_sign(sign)
    assert friction_law(law.mapping()) == law


@pytest.mark.parametrize(
    ('change', 'key', 'reason'),
    [
        ({'law': 'stribek'}, 'law', "did you mean 'stribeck'?"),
        ({'law': 7}, 'law', 'choose one of viscous_coulomb'),
        ({'law': None}, 'law', 'unknown law'),
        ({'viscus': 1.0}, 'viscus', "unknown parameter of law 'stribeck'; did you mean 'viscous'?"),
        ({'static': -1.0}, 'static', 'must be at least 0'),
        ({'static': '4'}, 'static', 'must be a number'),
        ({'static': True}, 'static', 'must be a number'),
        ({'viscous': math.nan}, 'viscous', 'must be finite'),
        ({'stribeck_velocity': 0.0}, 'stribeck_velocity', 'must be greater than 0'),
        ({'exponent': -2.0}, 'exponent', 'must be greater than 0'),
        ({'sign': 'smooth'}, 'sign', 'choose exact, tanh, dead_band'),
        ({'sign': 'tanh'}, 'sign_width', 'needs a velocity greater than 0'),
        ({'sign_width': 0.1}, 'sign_width', 'an exact sign has no width'),
        ({'sign_width': 'narrow'}, 'sign_width', 'must be a number'),
    ],
)
def test_bad_parameters_are_refused_by_name(change, key, reason):
    good = {'law': 'stribeck', 'viscous': 1.0, 'coulomb': 1.0, 'static': 2.0, 'stribeck_velocity': 0.1}
    assert isinstance(friction_law(good), Stribeck)
    with pytest.raises(FrictionLawError) as error:
        friction_law({**good, **change})
    assert error.value.key == key
    assert reason in str(error.value)
    if key in change and change[key] is not None:
        assert repr(change[key]) in str(error.value)


def test_missing_parameters_options_and_loads_are_named():
    with pytest.raises(FrictionLawError, match=r"static = None: is missing; law 'stribeck' needs viscous, coulomb"):
        friction_law({'law': 'stribeck', 'viscous': 1.0, 'coulomb': 1.0})
    with pytest.raises(FrictionLawError, match=r'law = None: is missing; choose one of'):
        friction_law({'viscous': 1.0})
    with pytest.raises(FrictionLawError, match=r'form = .other.: unknown; choose printed, continuous'):
        DeadBand(viscous=1.0, coulomb=1.0, form='other')
    with pytest.raises(FrictionLawError, match=r'viscous_count = 3: unknown; choose 1, 2'):
        LoadDependentStribeck(viscous=1.0, viscous_count=3, **TABLE_1)
    with pytest.raises(FrictionLawError, match='needs the normal force in the joint'):
        LAWS['load_dependent_stribeck'].force(0.1)
    with pytest.raises(ValueError, match='give 2 values'):
        LAWS['viscous_coulomb'].with_linear_parameters([1.0])


def test_a_law_without_an_equation_is_refused():
    class Own(FrictionLaw):
        law = 'own'

    with pytest.raises(FrictionLawError, match='Own.*equation'):
        Own()
