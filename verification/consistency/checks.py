"""Requirements on claims, convergence, late IMUs, failing legs and constants, each with its measured figure."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass

from pkm_description.loading import load_machine
from pkm_estimation.stream import EstimatorConfig

from verification.check import Check, equal, holds
from verification.consistency.calibration import calibration_lines
from verification.consistency.convergence import from_broad_prior, from_forward_kinematics, start_scenario
from verification.consistency.delay_checks import delay_checks, delay_scenarios
from verification.consistency.leg_fault_checks import leg_fault_checks
from verification.consistency.monte_carlo import consistency
from verification.consistency.normalised_check import normalised_check
from verification.consistency.scenarios import Scenario, all_scenarios

#: the filter as printed, to compare with
PAPER = EstimatorConfig(filter='paper', noise_inflation=1.1, integrator='heun')

#: s after the start until claims are compared with the truth
SETTLING = 1.0

#: whose legs fail
FAULTY_MACHINES = 'srs', 'palida'

Report = Callable[[str], None]


@dataclass(frozen=True)
class Extent:
    """How much is run.

    Attributes
    ----------
    seeds : of each scenario
    starts : drawn from the broad prior, and from forward kinematics
    duration : s, of each scenario
    delay_seeds, leg_seeds, constant_seeds : of each delay of the IMU; of each leg and fault; of each group of constants
    fault_duration : s, of each run with a delay, and of each fault of a leg
    """

    seeds: int = 50
    starts: int = 100
    duration: float = 15.0
    delay_seeds: int = 5
    leg_seeds: int = 1
    constant_seeds: int = 10
    fault_duration: float = 20.0


QUICK = Extent(seeds=8, starts=20, duration=6.0, delay_seeds=1, constant_seeds=2, fault_duration=12.0)

Checks = Iterator[tuple[str, list[Check]]]


def all_checks(sections: Container[str], extent: Extent, report: Report) -> Checks:
    """Yield a title and its checks, one scenario after the other; ``report`` is told what is being done."""
    for name, section in SECTIONS.items():
        if name in sections:
            yield from section(extent, report)


def _nees(extent: Extent, report: Report) -> Checks:
    for scenario in all_scenarios(extent.duration):
        report(f'{scenario.title}: {extent.seeds} seeds')
        yield scenario.title, consistency_checks(scenario, extent.seeds)


def _starts(extent: Extent, report: Report) -> Checks:
    report(f'starts: {extent.starts} each')
    yield 'srs, starts', convergence_checks(extent.starts, extent.duration)


def _delay(extent: Extent, report: Report) -> Checks:
    for scenario in delay_scenarios(extent.fault_duration):
        report(f'{scenario.title}: {extent.delay_seeds} seeds')
        yield scenario.title, delay_checks(scenario, extent.delay_seeds, extent.fault_duration)


def _legs(extent: Extent, report: Report) -> Checks:
    for name in FAULTY_MACHINES:
        report(f'{name}, legs that fail: every leg, {extent.leg_seeds} seeds')
        machine = load_machine(name)
        yield f'{name}, MP1, legs that fail', leg_fault_checks(machine, extent.leg_seeds, extent.fault_duration)


def _constants(extent: Extent, report: Report) -> Checks:
    report(f'constants estimated beside the motion: {extent.constant_seeds} seeds')
    yield from calibration_lines(extent.constant_seeds)


#: what can be chosen
SECTIONS: dict[str, Callable[[Extent, Report], Checks]] = {
    'nees': _nees,
    'starts': _starts,
    'delay': _delay,
    'legs': _legs,
    'constants': _constants,
}


def consistency_checks(scenario: Scenario, seeds: int, config: EstimatorConfig | None = None) -> list[Check]:
    """Normalised errors and innovations of the default filter, or of another one."""
    result = consistency(scenario, seeds, config or EstimatorConfig(), SETTLING)
    cautious = scenario.imu_noise_ratio > 1.0
    return [
        normalised_check('NEES', 'state errors', result.nees, cautious),
        normalised_check('NIS', 'innovations', result.nis, cautious),
    ]


def convergence_checks(starts: int, duration: float) -> list[Check]:
    """Starts from the paper's prior and from forward kinematics."""
    scenario, default = start_scenario(load_machine('srs'), duration), EstimatorConfig()
    found = sum(from_broad_prior(scenario, seed, default) for seed in range(starts))
    printed = sum(from_broad_prior(scenario, seed, PAPER) for seed in range(starts))
    kinematic = sum(from_forward_kinematics(scenario, seed, default) for seed in range(starts))
    return [
        holds('start', 'starts drawn from the broad prior that converge', '>= 98 %', f'{found} of {starts}',
              found >= 0.98 * starts),
        holds('start', 'of the same starts, with the filter as printed (16 of 40 with an independent prototype)',
              f'< {found}', f'{printed} of {starts}', printed < found),
        equal('start', f'starts from forward kinematics that converge, of {starts}', starts, kinematic),
    ]  # fmt: skip
