"""Requirements on claimed covariances and on convergence, each with its measured figure."""

from __future__ import annotations

from pkm_description.loading import load_machine
from pkm_estimation.stream import EstimatorConfig

from verification.check import Check, at_least, equal, holds
from verification.consistency.convergence import (
    JUDGED_AFTER,
    from_all_modes,
    from_broad_prior,
    from_forward_kinematics,
    start_scenario,
)
from verification.consistency.monte_carlo import consistency
from verification.consistency.normalised_check import normalised_check
from verification.consistency.scenarios import Scenario

#: the filter as printed, to compare with
PAPER = EstimatorConfig(filter='paper', noise_inflation=1.1, integrator='heun')

#: s after the start until claims are compared with the truth
SETTLING = 1.0


def consistency_checks(scenario: Scenario, seeds: int, config: EstimatorConfig | None = None) -> list[Check]:
    """Normalised errors and innovations of the default filter, or of another one."""
    result = consistency(scenario, seeds, config or EstimatorConfig(), SETTLING)
    return [
        normalised_check('NEES', 'state errors', result.nees),
        normalised_check('NIS', 'innovations', result.nis),
    ]


def convergence_checks(starts: int, duration: float) -> list[Check]:
    """Starts from the paper's prior and from forward kinematics."""
    scenario, default = start_scenario(load_machine('srs'), duration), EstimatorConfig()
    found = sum(from_broad_prior(scenario, seed, default) for seed in range(starts))
    printed = sum(from_broad_prior(scenario, seed, PAPER) for seed in range(starts))
    kinematic = sum(from_forward_kinematics(scenario, seed, default) for seed in range(starts))
    without = sum(from_broad_prior(scenario, seed, default, knows_mode=False) for seed in range(starts))
    few = max(2, starts // 10)
    modes = [from_all_modes(scenario, seed, default) for seed in range(few)]
    good = sum(converges for converges, _ in modes)
    least, most = (function(count for _, count in modes) for function in (min, max))
    what = f'starts at all assembly modes ({least} to {most}), the right one by innovations of {JUDGED_AFTER:g} s'
    return [
        at_least('start', f'part of {starts} starts from the broad prior that converge; it knows the home mode',
                 0.98, found / starts),
        at_least('start', f'part of the same {starts} that converge; it does not know it', 0.98, without / starts),
        holds('start', 'of the same starts, with the filter as printed (16 of 40 with an independent prototype)',
              f'< {found}', f'{printed} of {starts}', printed < found),
        equal('start', f'starts from forward kinematics that converge, of {starts}; it begins at home', starts,
              kinematic),
        equal('start', f'{what}, of {few}', few, good),
    ]  # fmt: skip
