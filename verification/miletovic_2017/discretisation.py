"""S3-45 and S3-46: integrators and Monte-Carlo runs beside the figures of an independent prototype."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from verification.check import Check, at_most, holds, within
from verification.miletovic_2017.filter_run import in_band, mean_nis, pooled_rms
from verification.miletovic_2017.laboratory import Laboratory
from verification.miletovic_2017.scenario import PRINTED, Scenario

STATES = ('x', 'y', 'z', 'u', 'v', 'w', 'ex', 'ey', 'ez', 'lx', 'ly', 'lz', 'lp', 'lq', 'lr')

#: m, m/s, 1 in 1e-6; m/s^2 in 1e-5; rad/s in 1e-6
SCALES = np.array([1e6] * 9 + [1e5] * 3 + [1e6] * 3)

#: of the prototype: motion, integrator, truth; u [mm/s], z [um], mean NIS, least and greatest share of a leg in band
INTEGRATOR_FIGURES = (
    ('mp1', 'euler', 'exact', 3.0, 14.0, 330.0, 0.11, 0.29),
    ('mp2', 'euler', 'exact', 0.060, 2.3, 96.0, 0.24, 0.58),
    ('mp1', 'heun', 'exact', 0.037, 2.1, 5.40, 0.965, 0.965),
    ('mp1', 'rk4', 'exact', 0.031, 2.1, 5.39, 0.965, 0.965),
    ('mp1', 'euler', 'euler', 0.031, 2.1, 5.46, 0.964, 0.964),
)

#: of the prototype: title, motion, integrator, truth, rms errors of the fifteen states
MONTE_CARLO_FIGURES = (
    ('MP1, Heun, exact truth', 'mp1', 'heun', 'exact',
     (4.6, 5.0, 2.1, 37, 41, 24, 1.10, 1.30, 1.52, 3.8, 1.4, 1.3, 1.5, 2.1, 2.5)),
    ('MP1, Euler, Euler truth', 'mp1', 'euler', 'euler',
     (4.3, 4.8, 2.1, 31, 37, 24, 1.13, 1.32, 1.56, 3.8, 1.4, 0.9, 1.5, 2.1, 2.5)),
    ('MP2 surrogate, Heun', 'mp2', 'heun', 'exact',
     (4.3, 4.8, 1.9, 31, 37, 23, 1.13, 1.28, 1.51, 4.0, 1.4, 1.0, 1.6, 2.1, 2.6)),
)  # fmt: skip
FINAL_SIGMA = (4.5, 4.9, 2.3, 31, 38, 25, 1.18, 1.40, 1.62, 0.70, 0.90, 0.73, 1.6, 1.9, 1.9)

TOLERANCE = 0.15
#: s, left out of the statistics; the runs last 100 s, also in quick mode
SETTLING = 20.0
#: runs of the prototype
PROTOTYPE_RUNS = 6


def truths(lab: Laboratory) -> Iterator[Check]:
    """S3-45: 100 s as the prototype, all its figures; the prototype's surrogate of MP2 had other random phases."""
    for motion, integrator, truth, u, z, nis, least, greatest in INTEGRATOR_FIGURES:
        runs = lab.filters(_runs(motion, integrator, truth)[: 2 if lab.quick else PROTOTYPE_RUNS])
        rms = pooled_rms(runs, SETTLING)
        name = f'{motion}, {integrator}, {truth} truth'
        band = in_band(runs, SETTLING)
        for what, expected, found, unit in (
            ('u', u, 1e3 * rms[3], 'mm/s'),
            ('z', z, 1e6 * rms[2], 'um'),
            ('mean NIS', nis, mean_nis(runs, SETTLING), ''),
            ('least share of a leg in band', least, band.min(), ''),
            ('greatest share of a leg in band', greatest, band.max(), ''),
        ):
            low, high = (1.0 - TOLERANCE) * expected, (1.0 + TOLERANCE) * expected
            yield within('S3-45', f'{name}: {what}, prototype {expected:g}', low, high, float(found), unit)


def monte_carlo(lab: Laboratory) -> Iterator[Check]:
    """S3-46: printed start, six runs like the prototype's.

    A bias hardly changes within a run, so six runs are six samples of it. All else is averaged well within a run.
    """
    rows = MONTE_CARLO_FIGURES[:1] if lab.quick else MONTE_CARLO_FIGURES
    lab.filters([one for _, motion, integrator, truth, _ in rows for one in _runs(motion, integrator, truth)])
    for title, motion, integrator, truth, printed in rows:
        runs = lab.filters(_runs(motion, integrator, truth))
        rms = pooled_rms(runs, SETTLING) * SCALES
        fast, slow = slice(0, 9), slice(9, 15)
        expected, found = np.array(printed), rms
        for group, rows_of_group in (('position, velocity, quaternion', fast), ('biases', slow)):
            what = f"{title}: rms of {group}, off the prototype's, relative"
            note = f'{_row(found[rows_of_group])}; prototype: {_row(expected[rows_of_group])}'
            off = found[rows_of_group] / expected[rows_of_group] - 1.0
            yield at_most('S3-46', what, TOLERANCE, off, note=note)
        text = (
            f'NIS {mean_nis(runs, SETTLING):.2f}, in band '
            f'{100 * in_band(runs, SETTLING).min():.1f} to {100 * in_band(runs, SETTLING).max():.1f} %'
        )
        good = 5.2 <= mean_nis(runs, SETTLING) <= 5.7
        yield holds('S3-46', f'{title}: innovations of {len(runs)} runs', 'NIS 5.2 .. 5.7', text, good)
    runs = lab.filters(_runs('mp1', 'heun', 'exact'))
    sigma = runs[0].std[-1] * SCALES
    good = bool((np.abs(sigma / FINAL_SIGMA - 1.0) <= TOLERANCE).all())
    yield holds('S3-46', "MP1: the filter's own sigma at the end", f'{_row(FINAL_SIGMA)} +- 15 %', _row(sigma), good)
    # the printed start leaves the filter overconfident
    ratios = [float(np.mean([run.error[row, 9] / run.std[row, 9] for run in runs])) for row in (50, 200, 1000)]
    what = 'MP1, printed start: error of bias x over its sigma after 0.5, 2, 10 s, mean of the runs'
    good = bool((np.abs(np.array(ratios) / (50.0, 14.0, 6.0) - 1.0) <= TOLERANCE).all())
    yield holds('S3-46', what, '50 14 6 +- 15 %', _row(ratios), good)


def _row(values: ArrayLike) -> str:
    return ' '.join(f'{value:.3g}' for value in np.asarray(values))


def _runs(motion: str, integrator: str, truth: str) -> list[Scenario]:
    scenario = Scenario(
        motion=motion,
        duration=100.0,
        truth=truth,
        config=replace(PRINTED, integrator=integrator),
        start='printed',
    )
    return [replace(scenario, seed=seed) for seed in range(1, PROTOTYPE_RUNS + 1)]
