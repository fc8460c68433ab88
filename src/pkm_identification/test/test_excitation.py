"""Excitation: series that meet their conditions, and motions that are better than random ones and inside all limits."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from known_machines import known_machine
from pkm_description.errors import ConfigurationError, KinematicsError
from pkm_description.machine import Machine
from pkm_description.motion.limits import check_motion
from pkm_identification.errors import ExcitationError
from pkm_identification.excitation.coordinates import coordinates_of
from pkm_identification.excitation.design import ExcitationDesign, design_excitation
from pkm_identification.excitation.objective import END_CONDITIONS, ExcitationSettings, SeriesSpace
from pkm_identification.excitation.problem import ExcitationProblem, drive_weights
from pkm_identification.excitation.search import dask_executor
from pkm_identification.excitation.uses import SharedGuideways

#: few draws and iterations: enough to be better than random
SMALL = ExcitationSettings(harmonics=3, starts=1, draws=4, iterations=20, periods=2)


@pytest.fixture(scope='module')
def sliders() -> Machine:
    """Return the planar machine whose sliders share a guideway."""
    return known_machine('khalifa_3prr')


@pytest.fixture(scope='module')
def design(sliders: Machine) -> ExcitationDesign:
    """Return a small design in the plane."""
    return design_excitation(sliders, SMALL, ThreadPoolExecutor(1))


@pytest.mark.parametrize('conditions', [(), ('velocity',), ('position', 'velocity', 'acceleration')])
def test_every_series_meets_the_end_conditions(conditions: tuple[str, ...]) -> None:
    """Random variables, no search: values, rates and accelerations at both ends are zero to rounding."""
    space = SeriesSpace(np.array([0.2, 0.1, 0.3]), 5, conditions)
    assert space.shape == (3, 11 - len(conditions))
    variables = np.random.default_rng(0).normal(size=space.shape)
    series = space.series(variables, 0.25)
    ends = series.periodic(np.array([0.0, series.period]))
    for name, value in zip(('position', 'velocity', 'acceleration'), ends, strict=True):
        assert np.abs(value[0] - value[1]).max() < 1e-12
        assert (np.abs(value).max() < 1e-12) == (name in conditions)


def test_series_and_its_shapes_are_one(sliders: Machine) -> None:
    """What the search looks at is the exported series; derivatives against differences."""
    space = SeriesSpace(np.array([0.2, 0.1]), 4, ('velocity',))
    variables = np.random.default_rng(1).normal(size=space.shape)
    series = space.series(variables, 0.3)
    time = np.linspace(0.0, 3.0, 50)
    speed = 2.0 * np.pi * 0.3
    value, rate, second = series.periodic(time)
    for order, found in enumerate((value, rate, second)):
        shape = space.shapes(speed * time)[order] * speed**order
        assert np.abs(shape @ (space.scale[:, None] * variables).T - found).max() < 1e-12
    later, sooner = series.periodic(time + 1e-5), series.periodic(time - 1e-5)
    assert np.abs((later[0] - sooner[0]) / 2e-5 - rate).max() < 1e-8
    assert np.abs((later[1] - sooner[1]) / 2e-5 - second).max() < 1e-7


def test_better_than_random_and_inside_all_limits(sliders: Machine, design: ExcitationDesign) -> None:
    """On a grid of its own, with the machine's friction; it begins and ends at home at rest."""
    assert design.objective < 0.55 * design.random_objective
    assert design.objective < design.start_objective
    motion = design.sampled(333.0)
    assert check_motion(sliders, motion) == []
    for end in (motion[:1], motion[-1:]):
        assert np.abs(end.position - sliders.home.position).max() < 1e-12
        for part in (end.linear_velocity, end.angular_velocity, end.linear_acceleration, end.angular_acceleration):
            assert np.abs(part).max() < 1e-9
    assert design.tightest.use <= 1.0 - design.settings.margin
    assert {one.limit for one in design.margins} == {'position', 'speed', 'force', 'regularity', 'guideway'}
    joints = SharedGuideways(sliders)
    problem = ExcitationProblem(sliders, SMALL)
    uses = problem.uses_of(design.series, motion.time)
    order = next(use for use in uses if use.limit == 'guideway')
    assert order.names == joints.names == ('leg2_prismatic - leg1_prismatic', 'leg1_prismatic - leg3_prismatic')
    assert order.values.max() < 1.0


@pytest.mark.campaign
def test_same_result_in_any_number_of_processes() -> None:
    machine, settings = known_machine('five_bar'), replace(SMALL, starts=2, draws=2, iterations=4)
    lines: list[str] = []
    one = design_excitation(machine, settings, workers=1)
    two = design_excitation(machine, settings, workers=2, progress=lines.append)
    assert np.array_equal(one.variables, two.variables)
    assert one.objective == two.objective
    assert sum(line.startswith('start') for line in lines) == 2
    assert '(2 of 2 done)' in ' '.join(lines)


def test_own_executor_and_end_conditions(sliders: Machine) -> None:
    """Any executor will do; a period that begins and ends at home at rest needs no run-in."""
    settings = replace(SMALL, draws=2, iterations=3, end_conditions=END_CONDITIONS, coordinates='drives')
    found = design_excitation(sliders, settings, ThreadPoolExecutor(1))
    assert found.series.fade_in == 0.0
    ends = found.evaluate(np.array([0.0, found.duration]))
    assert np.abs(ends.linear_velocity).max() < 1e-12
    assert np.abs(ends.linear_acceleration).max() < 1e-11


def test_no_feasible_start_is_refused(sliders: Machine) -> None:
    weak = known_machine('msi')
    with pytest.raises(ExcitationError, match=r'no feasible start: at rest at home leg\d_.* uses \d+% of its'):
        design_excitation(weak, replace(SMALL, margin=0.9, draws=1), ThreadPoolExecutor(1))
    with pytest.raises(KinematicsError, match='apart at home on their common guideway'):
        design_excitation(sliders, replace(SMALL, guideway_clearance=0.2))


def test_settings_that_do_not_fit_are_refused(sliders: Machine) -> None:
    cases = [
        ('valencia_3rps', {'coordinates': 'platform'}, "use coordinates='drives'"),
        ('octopod_8ups', {'coordinates': 'drives'}, '8 drives for 6 degrees of freedom'),
        ('octopod_8ups', {'max_acceleration': 1.0}, 'redundant drives'),
        ('valencia_3rps', {'coordinates': 'planar'}, 'does not move in a plane'),
        ('double_pendulum', {}, 'open chain'),
        ('khalifa_3prr', {'harmonics': 1, 'end_conditions': END_CONDITIONS}, 'nothing to choose'),
    ]
    for name, changes, message in cases:
        with pytest.raises(ConfigurationError, match=message):
            ExcitationProblem(known_machine(name), replace(SMALL, **changes))
    with pytest.raises(ConfigurationError, match='at least 12'):
        ExcitationSettings(harmonics=3, samples=10)


def test_dask_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, 'distributed', None)
    with pytest.raises(ConfigurationError, match='pip install distributed'), dask_executor('tcp://nowhere:8786'):
        pass


def test_weights_and_coordinates() -> None:
    """Weights by effort noise are 1 in the mean; coordinates have as many names as freedoms."""
    weights = drive_weights(known_machine('tricept'), 'noise')
    assert weights.shape == (3,)
    assert weights.mean() == pytest.approx(1.0)
    assert coordinates_of(known_machine('four_rrr')).names == ('x', 'y', 'theta_z')
    assert len(coordinates_of(known_machine('delta'))) == 3
