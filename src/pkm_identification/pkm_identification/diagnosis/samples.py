"""Faults that single samples show, without a model: zero, frozen and interrupted efforts, outliers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.findings import Finding, State
from pkm_description.machine import Machine

from pkm_identification.diagnosis.findings import named
from pkm_identification.recording.recording import Recording

#: standard deviations from which a sample is an outlier
_FAR = 6.5
#: the same in steps of an encoder
_STEPS = 2.5
#: standard deviations of efforts and positions are at least this part of their range: less does no harm
FLOORS = {'effort': 2e-3, 'position': 1e-7}
#: an outlier makes its neighbours' interpolations wrong by two thirds of itself, with the other sign; a jump of
#: friction does so on one side only
_NEIGHBOURS = 0.5
#: samples in a row that read exactly zero: a drop-out
_RUN = 5

NO_EFFORT = (
    'joint_state_broadcaster: interfaces: [position, velocity, effort], with an effort or current interface in the '
    'hardware; then record again'
)


def dead_drives(machine: Machine, recording: Recording) -> tuple[NDArray[np.bool_], list[Finding]]:
    """Drives (A,) whose effort never changes, and the findings about them."""
    forces = recording.forces
    dead = np.asarray(np.ptp(forces, axis=0) == 0.0)
    zero = dead & (forces[0] == 0.0)
    findings = []
    if zero.any():
        labels = _labels(machine, zero)
        what = 'all efforts are' if zero.all() else f'the effort of {named(labels)} is'
        findings.append(
            Finding('effort_zero', State.WRONG, labels, f'{what} exactly zero: not measured', NO_EFFORT)
        )
    for drive in np.flatnonzero(dead & ~zero).tolist():
        label = machine.drive_labels[drive]
        what = f'the effort of {label} always reads {forces[0, drive]:.4g}: a frozen signal'
        findings.append(Finding('effort_frozen', State.WRONG, (label,), what, NO_EFFORT))
    return dead, findings


def drop_outs(machine: Machine, recording: Recording, dead: NDArray[np.bool_]) -> Iterator[Finding]:
    """Efforts that read exactly zero for a while."""
    for drive in np.flatnonzero(~dead).tolist():
        runs = [stop - start for start, stop in runs_of(recording.forces[:, drive] == 0.0) if stop - start >= _RUN]
        if runs:
            seconds = sum(runs) / recording.sample_rate
            label = machine.drive_labels[drive]
            yield Finding(
                'effort_drop_out', State.WRONG, (label,),
                f'the effort of {label} reads exactly zero {len(runs)} times, for {seconds:.3g} s in all',
                'a driver that writes zero where a value is missing: repair it, or identify a part without these',
                {'seconds': seconds, 'times': float(len(runs))},
            )  # fmt: skip


def outliers(values: Array, kind: str) -> NDArray[np.bool_]:
    """Samples (N, A) of ``kind`` in :data:`FLOORS` that stand alone, far from what their four neighbours say."""
    apart = _apart(values)
    usual = 1.4826 * np.median(np.abs(apart), axis=0)
    # of coarse encoders, and at rest, most samples equal their neighbours
    rough = np.sqrt(np.mean(np.minimum(np.abs(apart), np.quantile(np.abs(apart), 0.99, axis=0)) ** 2, axis=0))
    scale = np.maximum(np.maximum(usual, rough), FLOORS[kind] * np.ptp(values, axis=0) + 1e-300)
    steps = np.abs(np.diff(values, axis=0))
    least = np.min(np.where(steps > 0.0, steps, np.inf), axis=0)
    far = np.maximum(_FAR * scale, np.where(np.isfinite(least), _STEPS * least, 0.0))
    before, after = np.zeros_like(apart), np.zeros_like(apart)
    before[1:], after[:-1] = apart[:-1], apart[1:]
    alone = np.maximum(before * np.sign(apart), after * np.sign(apart)) < -_NEIGHBOURS * np.abs(apart)
    return np.asarray((np.abs(apart) > far) & alone)


def _apart(values: Array) -> Array:
    """Samples (N, A) less the cubic through two neighbours on either side; 0 at the ends."""
    apart = np.zeros_like(values)
    near, far = values[1:-3] + values[3:-1], values[:-4] + values[4:]
    apart[2:-2] = values[2:-2] - (4.0 * near - far) / 6.0
    return apart


def outlier_findings(machine: Machine, kind: str, values: Array, found: NDArray[np.bool_]) -> Iterator[Finding]:
    """Findings about the outliers of positions or efforts (N, A)."""
    apart = np.abs(_apart(values))
    for drive in np.flatnonzero(found.any(axis=0)).tolist():
        label, count = machine.drive_labels[drive], int(found[:, drive].sum())
        largest = float(apart[found[:, drive], drive].max())
        turning = machine.actuated_joints[drive].kind == 'revolute'
        unit = {'position': 'rad' if turning else 'm', 'effort': 'N m' if turning else 'N'}[kind]
        yield Finding(
            f'{kind}_outliers', State.SUSPICIOUS, (label,),
            f'{count} samples of the {kind} of {label} lie far from their neighbours, by up to {largest:.3g} {unit}',
            f'look for interference or lost frames in the {kind} signal of {label}; remove these samples before '
            'identifying, or use a robust estimator',
            {'count': float(count), 'largest': largest},
        )  # fmt: skip


def without(values: Array, found: NDArray[np.bool_]) -> Array:
    """Values (N, A) with the outliers replaced by what their neighbours say."""
    return values - np.where(found, _apart(values), 0.0)


def runs_of(flags: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Start and stop of all runs of flags (N,)."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(int)))
    return [(int(start), int(stop)) for start, stop in edges.reshape(-1, 2)]


def _labels(machine: Machine, chosen: NDArray[np.bool_]) -> tuple[str, ...]:
    return tuple(label for label, own in zip(machine.drive_labels, chosen, strict=True) if own)
