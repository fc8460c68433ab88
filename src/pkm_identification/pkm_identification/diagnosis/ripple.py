"""Forces that come and go with the position of a drive: cogging of motors, pitch of screws, eccentric gears."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.errors import Finding, State
from pkm_description.machine import Machine

from pkm_identification.diagnosis.force_model import ForceModel
from pkm_identification.diagnosis.joint_fit import JointFit

#: waves over the travel of a drive between which ripple is looked for
_FEWEST, _MOST = 6.0, 300.0
#: places over the travel at which residuals are collected, many more than waves
_PLACES = 8192
#: amplitude of a ripple above the median of all periods; the same at a period that another drive has
_ABOVE, _KNOWN = 10.0, 4.0
#: least amplitude, in the residual's robust standard deviations and of the friction, which is never modelled exactly
_NOISE, _FRICTION = 0.25, 0.03


@dataclass(frozen=True)
class Ripple:
    """A wave over the position of one drive.

    Attributes
    ----------
    drive : its place
    amplitude : N or N m
    period : m or rad
    ratio : amplitude to the median of all periods
    forces : (N,) the wave at the recording's samples
    """

    drive: int
    amplitude: float
    period: float
    ratio: float
    forces: Array


def ripples(
    model: ForceModel, fit: JointFit, positions: Array, efforts: Array, excluded: NDArray[np.bool_]
) -> list[Ripple]:
    """Strongest wave of each drive that has one; positions, efforts (N, A) of the recording."""
    residual, late = efforts - fit.expected(model), fit.delayed(model, positions)
    friction = model.friction.forces(fit.friction)
    full = slice(model.places[0], model.places[-1] + 1)
    found: dict[int, Ripple] = {}
    for periods in (False, True):  # drives of one kind have ripples of one period
        known = [one.period for one in found.values()] if periods else None
        if known == []:
            break
        for drive in set(range(efforts.shape[1])) - set(found):
            good = ~excluded[full][:, drive]
            wave = _strongest_wave(late[full][good, drive], residual[full][good, drive], known)
            least = _FRICTION * float(np.sqrt(np.mean(friction[:, drive] ** 2)))
            if wave is not None and wave.amplitude > least:
                forces = wave.forces(late[:, drive])
                found[drive] = Ripple(drive, wave.amplitude, wave.period, wave.ratio, forces)
    return [found[drive] for drive in sorted(found)]


def ripple_findings(machine: Machine, found: Iterable[Ripple]) -> Iterator[Finding]:
    """Findings about ripples."""
    for one in found:
        label = machine.drive_labels[one.drive]
        unit = 'rad' if machine.actuated_joints[one.drive].kind == 'revolute' else 'm'
        yield Finding(
            'effort_ripple', State.SUSPICIOUS, (label,),
            f'the effort of {label} has a ripple of {one.amplitude:.3g} with a period of {one.period:.4g} {unit} in '
            f'its position, {one.ratio:.0f} times what other periods have',
            'identify with columns for ripple of this period, or compensate cogging in the drive; a ripple harms where '
            'the motion is slow',
            {'amplitude': one.amplitude, 'period': one.period},
        )  # fmt: skip


@dataclass(frozen=True)
class _Wave:
    amplitude: float
    period: float
    ratio: float
    cosine: float
    sine: float

    def forces(self, place: Array) -> Array:
        phase = 2.0 * np.pi * place / self.period
        return np.asarray(self.cosine * np.cos(phase) + self.sine * np.sin(phase))


def _strongest_wave(place: Array, left: Array, periods: list[float] | None) -> _Wave | None:
    """Strongest of all waves, or of those near some periods."""
    if len(place) < 500 or not np.ptp(place) > 0.0:
        return None
    travel, values = float(np.ptp(place)), left - np.median(left)
    spread = 1.4826 * float(np.median(np.abs(values)))
    values = np.clip(values, -4.0 * spread, 4.0 * spread)
    bins = np.round((place - place.min()) * ((_PLACES - 1) / travel)).astype(int)
    half = len(values) // 2
    parts = np.array([_spectrum(bins[own], values[own]) for own in (slice(None, half), slice(half, None))])
    waves = np.arange(parts.shape[1]) * (0.5 * (_PLACES - 1) / _PLACES)
    chosen = (waves >= _FEWEST) & (waves <= _MOST)
    parts, waves = parts[:, chosen], waves[chosen] / travel
    whole = parts.mean(axis=0)
    usual = float(np.median(np.abs(whole)))
    size = np.abs(whole)
    if periods is not None:
        size = np.where(np.abs(waves[:, None] - 1.0 / np.array(periods)).min(axis=1) * travel < 1.0, size, 0.0)
    best = int(np.argmax(size))
    ratio = float(np.abs(whole[best])) / max(usual, 1e-300)
    # the same wave with the same phase in both halves of the recording
    agree = np.abs(parts[0, best] - parts[1, best]) < 0.8 * np.abs(whole[best])
    if ratio < (_ABOVE if periods is None else _KNOWN) or not agree:
        return None
    near = np.linspace(waves[best] - 0.5 / travel, waves[best] + 0.5 / travel, 41)
    peak = float(near[np.argmax(np.abs(_amplitudes(place, values, near)))])
    phase = 2.0 * np.pi * peak * place
    columns = np.stack([np.cos(phase), np.sin(phase), np.ones_like(phase)], axis=1)
    cosine, sine, _ = np.linalg.lstsq(columns, values, rcond=None)[0].tolist()
    amplitude = float(np.hypot(cosine, sine))
    return _Wave(amplitude, 1.0 / peak, ratio, cosine, sine) if amplitude > _NOISE * spread else None


def _spectrum(bins: NDArray[np.int_], values: Array) -> NDArray[np.complex128]:
    """Complex amplitudes of 0, 1/2, 1 ... waves over the travel, of values collected in bins of the position."""
    collected = np.bincount(bins, weights=values, minlength=_PLACES)
    return np.asarray(2.0 / len(values) * np.fft.rfft(collected, 2 * _PLACES))


def _amplitudes(place: Array, values: Array, waves: Array) -> NDArray[np.complex128]:
    """Complex amplitudes of waves [1/m, 1/rad] over the position."""
    return np.asarray(2.0 / len(values) * np.exp(-2j * np.pi * np.outer(waves, place)) @ values)
