"""Requirements on consistency and convergence, each with its measured figure."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pkm_description.machine import load_machine
from pkm_description.verification.check import Check, equal, holds

from pkm_estimation.consistency.convergence import from_broad_prior, from_forward_kinematics, start_scenario
from pkm_estimation.consistency.monte_carlo import Normalised, consistency
from pkm_estimation.consistency.scenarios import Scenario, all_scenarios
from pkm_estimation.pipeline import EstimatorConfig

#: the filter as printed, to compare with
PAPER = EstimatorConfig(filter='paper', noise_inflation=1.1, integrator='heun')

#: s after the start until claims are compared with the truth
SETTLING = 1.0

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
    cautious = scenario.imu_noise_ratio > 1.0
    return [
        _judge('NEES', 'state errors', result.nees, cautious),
        _judge('NIS', 'innovations', result.nis, cautious),
    ]


def _judge(id: str, what: str, normalised: Normalised, cautious: bool) -> Check:
    """Mean over seeds and times within the 95 % bounds of the mean over the seeds at one time.

    How many times have their own mean inside is printed, too, but not judged: state errors are correlated over seconds,
    so that few times of a run are independent.

    An IMU sample acts half in the step before it and half in the step behind it. The filter takes steps as independent:
    right in the long run, but a little cautious for one step. Where the IMU's noise in a step is greater than the legs'
    (``cautious``), that shows, and only the upper bound is required.
    """
    freedoms = normalised.freedoms
    lower, upper = normalised.bounds()
    wanted = f'{freedoms.mean():g}' if freedoms.min() == freedoms.max() else f'{freedoms.min()}-{freedoms.max()}'
    mean = normalised.mean
    return holds(
        id,
        f'mean of the normalised {what}, {wanted} expected{"; noisy IMU: upper bound only" if cautious else ""}',
        f'<= {upper:.4g}' if cautious else f'{lower:.4g} .. {upper:.4g}',
        f'{mean:.4g}, {100.0 * normalised.part_inside():.0f} % of the times within {lower:.4g} .. {upper:.4g}',
        mean <= upper and (cautious or mean >= lower),
    )


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
