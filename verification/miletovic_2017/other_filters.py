"""S3-62 and S3-64: other hexapods, and the extended filters on the same model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from verification.check import Check, at_most, equal, holds, within
from verification.miletovic_2017.accuracy import MP1_LINES, innovation_checks, spectral_line
from verification.miletovic_2017.consistency import consistent
from verification.miletovic_2017.filter_run import mean_nis, pooled_rms
from verification.miletovic_2017.initialisation import SETTLED_AFTER, converged
from verification.miletovic_2017.laboratory import Laboratory
from verification.miletovic_2017.scenario import DEFAULT, PRINTED, Scenario, machine_named

#: machines of other sizes, with their own sensors
GEOMETRIES = ('palida', 'msi')

EXTENDED = ('ekf', 'iekf')


def other_geometries(lab: Laboratory) -> Iterator[Check]:
    """S3-62: what of S3-18 to S3-30 does not depend on SIMONA's numbers; MP1 scaled to the machine."""
    for name in GEOMETRIES:
        for motion in ('mp1', 'mp2'):
            yield from _geometry(lab, name, motion)


def _geometry(lab: Laboratory, machine: str, motion: str) -> Iterator[Check]:
    legs, name = machine_named(machine).leg_count, f'{machine}, {motion}'
    printed = lab.monte_carlo(Scenario(machine, motion, config=PRINTED))
    own = lab.monte_carlo(Scenario(machine, motion, config=DEFAULT))
    yield within('S3-62', f'{name}: mean NIS, printed filter (S3-18)', 5.2, 5.7, mean_nis(printed, lab.settling))
    sigma = np.sqrt(np.mean([run.std[run.time >= lab.settling] ** 2 for run in own], axis=(0, 1)))
    rms = pooled_rms(own, lab.settling)
    for quantity, rows in (('position', slice(0, 3)), ('velocity', slice(3, 6)), ('quaternion', slice(6, 9))):
        what = f'{name}: {quantity}, rms error over sigma, minus 1 (S3-19 to 21)'
        yield at_most('S3-62', what, 0.1, rms[rows] / sigma[rows] - 1.0, note=f'largest rms {rms[rows].max():.2g}')
    lost = sum(bool(run.lost) for run in printed + own)
    yield equal('S3-62', f'{name}: covariances lost (S3-25)', 0, lost)
    yield equal('S3-62', f'{name}: sigma points outside (S3-26)', 0, sum(run.outside for run in printed + own))
    if motion == 'mp1':
        lines = [spectral_line(own, row, line, lab.settling) for row in (2, 5, 11) for line in MP1_LINES]
        yield at_most('S3-62', f'{name}: lines at 0.2, 0.4 Hz in z, w, bias z over noise floor (S3-28)', 2.0, lines)
    yield from innovation_checks('S3-62', name, own, lab.settling)
    yield from consistent('S3-62', name, own, legs, lab.settling, len(lab.seeds))


def extended_filters(lab: Laboratory) -> Iterator[Check]:
    """S3-64: settled errors beside the UKF's, then different starts."""
    for motion in ('mp1', 'mp2'):
        reference = pooled_rms(lab.monte_carlo(Scenario(motion=motion)), lab.settling)
        for name in EXTENDED:
            runs = lab.monte_carlo(Scenario(motion=motion, config=replace(PRINTED, filter=name)))
            ratio = pooled_rms(runs, lab.settling) / reference - 1.0
            yield at_most('S3-64', f'{motion}, {name}: settled rms of all 15 states over the UKF, minus 1', 0.05, ratio)
    filters = {'paper': PRINTED, **{name: replace(PRINTED, filter=name) for name in EXTENDED}, 'manifold': DEFAULT}
    for title, kind, begin in (
        ('printed start', 'printed', 0.0),
        ("drawn from the printed start's distribution", 'printed_drawn', 0.0),
        ('pose known, velocity and biases drawn', 'pose_known', 12.0),
    ):
        counts = {}
        for name, config in filters.items():
            scenario = Scenario(duration=SETTLED_AFTER, begin=begin, config=config, start=kind)
            runs = lab.filters([replace(scenario, seed=2000 + n) for n in range(lab.starts)])
            counts[name] = sum(converged(run) for run in runs)
        text = ', '.join(f'{name} {count}' for name, count in counts.items())
        if kind == 'printed_drawn':
            # the printed UKF: 16 of 40 with an independent prototype; the counts of two such samples differ by chance
            spread = 2.0 * float(np.sqrt(0.4 * 0.6 * (1.0 / 40.0 + 1.0 / lab.starts)))
            good = abs(counts['paper'] / lab.starts - 0.4) <= spread
            required = f'paper {100 * 0.4:.0f} +- {100 * spread:.0f} % (16 of 40 with the prototype)'
            yield holds('S3-64', f'{title}: converged to 0.1 mm of {lab.starts}', required, text, good)
            continue
        everyone = f'the UKFs {lab.starts}'
        good = counts['paper'] == counts['manifold'] == lab.starts
        yield holds('S3-64', f'{title}: converged to 0.1 mm of {lab.starts}', everyone, text, good)
