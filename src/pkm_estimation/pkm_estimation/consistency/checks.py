"""Requirements on consistency and convergence, each with its measured figure."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pkm_description.machine import load_machine
from pkm_description.verification.check import Check, at_least, equal, holds, within

from pkm_estimation.consistency.convergence import from_broad_prior, from_forward_kinematics, start_scenario
from pkm_estimation.consistency.monte_carlo import Normalised, consistency
from pkm_estimation.consistency.scenarios import Scenario, all_scenarios
from pkm_estimation.pipeline import EstimatorConfig

#: the filter as printed, to compare with
PAPER = EstimatorConfig(filter='paper', noise_inflation=1.1, integrator='heun')

#: s after the start until claims are compared with the truth
SETTLING = 1.0

#: least part of the times whose mean over the seeds lies within the 95 % bounds, see :func:`_judge`
INSIDE = 0.85

Report = Callable[[str], None]


def all_checks(seeds: int, starts: int, duration: float, report: Report) -> Iterator[tuple[str, list[Check]]]:
    """Yield a title and its checks, one scenario after the other.

    Parameters
    ----------
    seeds : of each scenario
    starts : drawn from the broad prior, and from forward kinematics
    duration : s, of each scenario
    report : is told what is being done
    """
    for scenario in all_scenarios(duration):
        report(f'{scenario.title}: {seeds} seeds')
        yield scenario.title, consistency_checks(scenario, seeds)
    report(f'starts: {starts} each')
    yield 'srs, starts', convergence_checks(starts, duration)


def consistency_checks(scenario: Scenario, seeds: int, config: EstimatorConfig | None = None) -> list[Check]:
    """Normalised errors and innovations of the default filter, or of another one."""
    result = consistency(scenario, seeds, config or EstimatorConfig(), SETTLING)
    return [*_judge('NEES', 'state errors', result.nees), *_judge('NIS', 'innovations', result.nis)]


def _judge(id: str, what: str, normalised: Normalised) -> list[Check]:
    """Mean over all times within the bounds of one time, and most times within them.

    Each time's mean over the seeds lies within its bounds with 95 %. Errors of neighbouring times are correlated over
    seconds, so that of a motion of 15 s a tenth outside is no sign of anything.
    """
    freedoms = normalised.freedoms
    lower, upper = normalised.bounds()
    wanted = f'{freedoms.mean():g}' if freedoms.min() == freedoms.max() else f'{freedoms.min()}-{freedoms.max()}'
    return [
        within(id, f'mean of the normalised {what} ({wanted} expected)', lower, upper, normalised.mean),
        at_least(id, 'part of the times with the mean over the seeds in its 95 % bounds', INSIDE,
                 normalised.part_inside()),
    ]  # fmt: skip


def convergence_checks(starts: int, duration: float) -> list[Check]:
    """Starts from the paper's prior and from forward kinematics."""
    scenario, default = start_scenario(load_machine('srs'), duration), EstimatorConfig()
    found = sum(from_broad_prior(scenario, seed, default) for seed in range(starts))
    printed = sum(from_broad_prior(scenario, seed, PAPER) for seed in range(starts))
    kinematic = sum(from_forward_kinematics(scenario, seed, default) for seed in range(starts))
    return [
        holds('start', 'starts drawn from the broad prior that converge', '>= 98 %', f'{found} of {starts}',
              found >= 0.98 * starts),
        holds('start', 'of the same starts, with the filter as printed (16 of 40 in the specification)',
              f'< {found}', f'{printed} of {starts}', printed < found),
        equal('start', f'starts from forward kinematics that converge, of {starts}', starts, kinematic),
    ]  # fmt: skip
