"""Efforts that stay at a limit, of the drive or of the measuring range."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.findings import Finding, State

from pkm_identification.diagnosis.force_model import ForceModel
from pkm_identification.diagnosis.joint_fit import JointFit
from pkm_identification.diagnosis.samples import runs_of

#: samples that read the same extreme number, and how many times more than read the next one
_SAME, _PILED = 10, 5.0
#: s, least time at the largest effort, and least lack of effort there, of the effort's range
_PLATEAU, _EXCESS = 0.02, 0.03
#: part of the drive's own limit from which a plateau is that limit
_LIMIT = 0.98


def clipped(efforts: Array) -> NDArray[np.bool_]:
    """Samples (N, A) at an extreme number that piles up, as no signal with noise does: a clipped signal."""
    found = np.zeros(efforts.shape, dtype=bool)
    for drive, column in enumerate(efforts.T):
        levels, counts = np.unique(column, return_counts=True)
        if len(levels) < 3:
            continue
        for place, neighbour in ((-1, -2), (0, 1)):
            if counts[place] >= _SAME and counts[place] > _PILED * counts[neighbour]:
                found[:, drive] |= column == levels[place]
    return found


def plateaus(efforts: Array, rate: float) -> NDArray[np.bool_]:
    """Samples (N, A) that stay near the largest or the least effort: of peaks, or of saturation below the noise."""
    found = np.zeros(efforts.shape, dtype=bool)
    for drive, column in enumerate(efforts.T):
        noise = 1.4826 * np.median(np.abs(np.diff(column, n=2))) / np.sqrt(6.0)
        width = 6.0 * noise + 1e-6 * np.ptp(column)
        for near in (column > column.max() - width, column < column.min() + width):
            for start, stop in runs_of(near):
                found[start:stop, drive] |= stop - start >= _PLATEAU * rate
    return found


def saturation_findings(
    model: ForceModel, fit: JointFit, efforts: Array, asked: Array, flat: NDArray[np.bool_], cut: NDArray[np.bool_]
) -> Iterator[Finding]:
    """Drives whose effort is clipped, or stays at its largest while the fitted machine asks for more.

    Parameters
    ----------
    asked : (N, A) what the fitted machine asks for, ripples included
    flat, cut : (N, A) of :func:`plateaus`, where friction is known, and of :func:`clipped`
    """
    rate = model.sample_rate
    inside = np.zeros(len(efforts), dtype=bool)
    inside[model.places[0] : model.places[-1] + 1] = True
    for drive, label in enumerate(model.machine.drive_labels):
        exact = bool(cut[:, drive].any())
        here = cut[:, drive] if exact else flat[:, drive] & inside
        if not exact and np.count_nonzero(here) < _PLATEAU * rate:
            continue
        column, within = efforts[here, drive], inside[here]
        lacking = (asked[here, drive] - column) * np.sign(column)
        lack = float(np.mean(lacking[within])) if within.any() else 0.0
        largest = model.machine.actuated_joints[drive].limits.effort
        limited = np.abs(column) > _LIMIT * largest
        at_limit = np.count_nonzero(limited) > _PLATEAU * rate
        if at_limit:  # of a largest and a least effort, the one that is the limit
            here, column = here & (np.abs(efforts[:, drive]) > _LIMIT * largest), column[limited]
        level = float(np.mean(np.abs(column)))
        if exact or at_limit or lack > max(_EXCESS * np.ptp(efforts[:, drive]), 4.0 * fit.deviation[drive]):
            seconds = float(np.count_nonzero(here) / rate)
            needed = f'about {lack:.3g} more is needed' if lack > 0.0 else f'the limit of the drive is {largest:.4g}'
            yield Finding(
                'effort_saturation', State.WRONG, (label,),
                f'the effort of {label} stays at {level:.4g} for {seconds:.2g} s in all, where {needed}: '
                'saturation of drive or sensor',
                'scale the motion down, raise the limit of drive or measuring range, or leave these samples out',
                {'level': level, 'seconds': seconds, 'lacking': lack},
            )  # fmt: skip
