"""Unit, sign and order of the efforts, by comparison with the nominal machine's forces."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.errors import Finding, State
from pkm_description.machine import Machine
from scipy.optimize import linear_sum_assignment

from pkm_identification.blocks import runs_of
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
#: samples in a row that read exactly zero: a drop-out, where both neighbours are this many steps or changes away
_RUN, _JUMP = 5, 6.5

NO_EFFORT = (
    'joint_state_broadcaster: interfaces: [position, velocity, effort], with an effort or current interface in the '
    'hardware; then record again'
)
#: correlation from which an effort belongs to a drive, and by which another must beat the own one
_ENOUGH, _BETTER = 0.6, 0.15
#: part of the misfit of the files' order that another order must not exceed
_LESS = 0.7
#: factor by which wrong masses and friction may change the size of the efforts
_SIZE = 2.5
#: size of a unit in N or N m
_UNITS = {'prismatic': {'kN': 1e-3, 'mN': 1e3}, 'revolute': {'kN m': 1e-3, 'N mm': 1e3}}


#: misfit of the machine with efforts in an order (A,) and with signs (A,)
Misfit = Callable[[Array, Array], float]


def arrangement(machine: Machine, nominal: Array, efforts: Array, misfit: Misfit) -> tuple[Array, list[Finding]]:
    """Find unit, sign and order of efforts (m, A) by the forces of the nominal machine (m, A).

    Where another order is only a little more like the machine (legs that move alike), the misfit of both decides.

    Returns
    -------
    order : (A,) column of each drive's effort; as it is where the efforts do not resemble the machine's at all
    findings : what is wrong
    """
    labels, count = machine.drive_labels, machine.actuated_count
    alike = _correlation(nominal, efforts)
    order = as_it_is = np.argmax(np.eye(count), axis=1)
    assigned = linear_sum_assignment(-np.abs(alike))[1]
    moved = assigned != order
    own, best = np.abs(np.diag(alike)), np.abs(alike[order, assigned])
    if moved.any() and (best[moved] > _ENOUGH).all() and (best[moved] > own[moved]).all():
        clear = bool((best[moved] > own[moved] + _BETTER).all())
        usual, other = (np.where(alike[order, one] < 0.0, -1.0, 1.0) for one in (order, assigned))
        if clear or misfit(assigned, other) < _LESS * misfit(order, usual):
            order = assigned
    if not np.median(np.abs(alike[np.arange(count), order])) > _ENOUGH:
        worst = float(np.median(best))
        what = f'efforts do not resemble what the machine needs (correlation {worst:.2f})'
        remedy = (
            'check that the file is that of this machine, that positions are those of its drives (check_robot), and '
            'what the driver publishes as effort'
        )
        return as_it_is, [Finding('effort_unlike', State.SUSPICIOUS, (), what, remedy, {'correlation': worst})]
    findings = []
    swapped = np.flatnonzero(order != np.arange(count))
    if len(swapped):
        names = tuple(labels[drive] for drive in swapped)
        entries = ', '.join(f'{labels[drive]} has that of {labels[order[drive]]}' for drive in swapped)
        findings.append(
            Finding(
                'effort_order', State.WRONG, names, f'efforts of {named(names)} are swapped: {entries}',
                'set the order of the joints in the driver file (joints: driver name -> leg), or effort.entry',
                {'correlation_own': float(own[swapped].max()), 'correlation_swapped': float(best[swapped].min())},
            )
        )
    signs = np.where(alike[np.arange(count), order] < -_ENOUGH, -1.0, 1.0)
    negative = signs < 0.0
    if negative.any():
        names = () if negative.all() else tuple(np.array(labels)[negative].tolist())
        who = 'all efforts have' if negative.all() else f'the effort of {named(names)} has'
        value = '-1' if negative.all() else '{' + ', '.join(f'{name}: -1' for name in names) + '}'
        findings.append(
            Finding(
                'effort_sign', State.WRONG, names, f'{who} the opposite sign of what the machine needs',
                f'driver file: effort: {{sign: {value}}}',
                {'correlation': float(alike[np.arange(count), order][negative].max())},
            )
        )
    findings += _scale(machine, nominal, efforts[:, order] * signs)
    return order, findings


def _correlation(expected: Array, measured: Array) -> Array:
    """Correlation (A, A) of what each drive needs with what each effort says, both about their means."""
    first, second = (values - values.mean(axis=0) for values in (expected, measured))
    sizes = np.outer(np.linalg.norm(first, axis=0), np.linalg.norm(second, axis=0))
    return np.asarray(first.T @ second / np.maximum(sizes, 1e-300))


def _scale(machine: Machine, nominal: Array, efforts: Array) -> Iterator[Finding]:
    """Finding where efforts are many times what the nominal machine needs, by the median over the drives."""
    nominal, own = nominal - nominal.mean(axis=0), efforts - efforts.mean(axis=0)
    size = float(np.median(np.sum(own * nominal, axis=0) / np.maximum(np.sum(nominal**2, axis=0), 1e-300)))
    what = f'efforts are {size:.3g} times what the machine needs'
    for unit, value in ({'': 1.0} | _UNITS[machine.actuated_joints[0].kind]).items():
        if 1.0 / _SIZE < size / value < _SIZE:
            if unit:
                remedy = f'driver file: effort: {{unit: {unit}}}'
                yield Finding('effort_unit', State.WRONG, (), f'{what}: they are in {unit}', remedy, {'ratio': size})
            return
    yield Finding(
        'effort_scale', State.WRONG, (), f'{what}: no unit of force, but e.g. a current',
        f'driver file: effort: {{scale: {1.0 / size:.4g}}}, or quantity: current with gain and gear of the data sheet',
        {'ratio': size},
    )  # fmt: skip


def dead_drives(machine: Machine, recording: Recording) -> tuple[NDArray[np.bool_], list[Finding]]:
    """Drives (A,) whose effort never changes, and the findings about them."""
    forces = recording.forces
    dead = np.asarray(np.ptp(forces, axis=0) == 0.0)
    zero = dead & (forces[0] == 0.0)
    findings = []
    if zero.any():
        labels = tuple(np.array(machine.drive_labels)[zero].tolist())
        what = 'all efforts are' if zero.all() else f'the effort of {named(labels)} is'
        findings.append(Finding('effort_zero', State.WRONG, labels, f'{what} exactly zero: not measured', NO_EFFORT))
    for drive in np.flatnonzero(dead & ~zero).tolist():
        label = machine.drive_labels[drive]
        what = f'the effort of {label} always reads {forces[0, drive]:.4g}: a frozen signal'
        findings.append(Finding('effort_frozen', State.WRONG, (label,), what, NO_EFFORT))
    return dead, findings


def drop_outs(machine: Machine, recording: Recording, dead: NDArray[np.bool_]) -> Iterator[Finding]:
    """Efforts that read exactly zero for a while, unlike their neighbours: a signal in steps passes zero, too."""
    usual = 1.4826 * np.median(np.abs(np.diff(recording.forces, axis=0)), axis=0)
    least = _JUMP * np.maximum(usual, recording.effort_steps)
    for drive in np.flatnonzero(~dead).tolist():
        own = np.abs(np.concatenate([[np.inf], recording.forces[:, drive], [np.inf]]))
        runs = [
            stop - start for start, stop in runs_of(own[1:-1] == 0.0)
            if stop - start >= _RUN and min(own[start], own[stop + 1]) > least[drive]
        ]  # fmt: skip
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
            'identifying',
            {'count': float(count), 'largest': largest},
        )  # fmt: skip


def without(values: Array, found: NDArray[np.bool_]) -> Array:
    """Values (N, A) with the outliers replaced by what their neighbours say."""
    return values - np.where(found, _apart(values), 0.0)


def text_of(findings: Iterable[Finding]) -> str:
    """All findings for a terminal, one line each; says so if there are none."""
    return '\n'.join(str(finding) for finding in findings) or 'no fault found in this recording'


def named(labels: Iterable[str]) -> str:
    """Labels as a list in a sentence."""
    names = list(labels)
    return names[0] if len(names) == 1 else f'{", ".join(names[:-1])} and {names[-1]}'
