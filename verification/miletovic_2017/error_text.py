"""Standard deviations of filter and baseline against a reference, as in Figs 15 to 17."""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array

from verification.miletovic_2017.pipeline_run import PipelineRun, PoseErrors, pose_errors, truth_of
from verification.miletovic_2017.scenario import Scenario, profile_named

#: columns of the figures
_QUANTITIES = (
    ('position', 'x, y, z', 'um', 1e6),
    ('attitude', 'roll, pitch, yaw', 'urad', 1e6),
    ('velocity', 'u, v, w', 'mm/s', 1e3),
)


def errors_against(run: PipelineRun, scenario: Scenario, lag: float) -> tuple[PoseErrors, PoseErrors]:
    """Errors of filter and baseline against the truth (lag 0) or against set-points that are ``lag`` s ahead of it.

    The paper had set-points only (section 5.5). Its platform follows them 32 to 36 ms later, as its errors of x show,
    which is no error of an estimator.
    """
    stamps = run.result.motion.stamps
    evaluate = profile_named(scenario.machine, scenario.motion)
    reference = truth_of(evaluate(scenario.time[0] + run.time + lag), stamps)
    return pose_errors(run.result.motion, reference), pose_errors(run.result.baseline, reference)


def error_text(run: PipelineRun, scenario: Scenario, lag: float, begin: int) -> tuple[Array, str]:
    """Standard deviations (18,) from a row on, and a line of text: filter | baseline per quantity."""
    pair = [errors.std(begin) for errors in errors_against(run, scenario, lag)]
    figures, parts = [], []
    for name, axes, unit, scale in _QUANTITIES:
        values = [scale * getattr(deviations, name) for deviations in pair]
        figures += [*values[0], *values[1]]
        columns = ' | '.join(' '.join(f'{value:.3g}' for value in row) for row in values)
        parts.append(f'{axes} [{unit}] {columns}')
    return np.array(figures), '; '.join(parts) + ' (filter | Gauss-Newton)'
