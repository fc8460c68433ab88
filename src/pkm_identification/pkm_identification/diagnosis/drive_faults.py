"""Gain and delay of the efforts: what the fit of all drives together says."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from pkm_description.findings import Finding, State
from pkm_description.machine import Machine
from scipy.stats import t as student

from pkm_identification.diagnosis.findings import named
from pkm_identification.diagnosis.joint_fit import JointFit

#: least error of a gain that is named, and in its standard deviations; the least one that must be told
_GAIN, _GAIN_SIGMAS, _GAIN_TOLD = 0.08, 5.0, 0.2
#: the same in deviations by what the bodies leave open
_GAIN_SLACKS = 3.0
#: s, the same of a delay
_DELAY, _DELAY_SIGMAS, _DELAY_TOLD = 0.001, 6.0, 0.004
#: probability that what the drives disagree about makes such a delay; few drives tell their spread badly (Student)
_DELAY_CHANCE = 0.03
#: what tells more
_LIVELIER = 'record a motion in which every drive has several frequencies and large accelerations (design_excitation)'


def gain_findings(machine: Machine, fit: JointFit) -> Iterator[Finding]:
    """Drives whose gain is unlike that of the others, and those of which this recording does not tell it."""
    unsure = []
    limits = np.maximum(_GAIN, np.maximum(_GAIN_SIGMAS * fit.gain_std, _GAIN_SLACKS * fit.gain_slack))
    for label, gain, std, limit in zip(machine.drive_labels, fit.gain, fit.gain_std, limits, strict=True):
        if abs(gain - 1.0) <= limit and limit > _GAIN_TOLD:
            unsure.append(label)
        if abs(gain - 1.0) > limit:
            yield Finding(
                'effort_gain', State.WRONG, (label,),
                f'the effort of {label} is {gain:.3f} +- {std:.3f} times what it should be beside the other drives',
                f'calibrate its torque constant or force sensor; driver file: effort: {{scale: {{{label}: '
                f'{1.0 / gain:.4f}}}}}',
                {'gain': float(gain), 'gain_std': float(std)},
            )  # fmt: skip
    if unsure:
        least = float(limits.max())
        yield Finding(
            'effort_gain', State.CANNOT_TELL, tuple(unsure),
            f'gains of {named(unsure)} cannot be told beside the others: friction and each drive alone are nearly all '
            f'of the force; an error below {100.0 * least:.0f} % would not be seen', _LIVELIER, {'least': least},
        )  # fmt: skip


def delay_findings(fit: JointFit) -> Iterator[Finding]:
    """Efforts that are late, or early, against the positions."""
    spreads = float(student.ppf(1.0 - 0.5 * _DELAY_CHANCE, max(len(fit.gain) - 1, 1)))
    limit = max(_DELAY, _DELAY_SIGMAS * fit.delay_std, spreads * fit.delay_spread)
    if abs(fit.delay) > limit:
        std = float(np.hypot(fit.delay_std, fit.delay_spread))
        late = 'late' if fit.delay > 0.0 else 'early'
        yield Finding(
            'effort_delay', State.WRONG, (),
            f'efforts are {1e3 * abs(fit.delay):.2f} +- {1e3 * std:.2f} ms {late} against the positions',
            'stamp positions and efforts at the instant of their measurement, or remove the filter of the effort in '
            f'the drive; until then shift the efforts by {1e3 * -fit.delay:.2f} ms before identifying',
            {'delay_s': fit.delay, 'delay_s_std': std},
        )  # fmt: skip
    elif limit > _DELAY_TOLD:
        yield Finding(
            'effort_delay', State.CANNOT_TELL, (),
            f'a delay of the efforts of less than {1e3 * limit:.1f} ms cannot be told from friction',
            _LIVELIER, {'least_s': limit},
        )  # fmt: skip
