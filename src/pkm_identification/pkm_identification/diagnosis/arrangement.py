"""Unit, sign and order of the efforts, by comparison with the nominal machine's forces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from pkm_description.arrays import Array
from pkm_description.findings import Finding, State
from pkm_description.machine import Machine
from scipy.optimize import linear_sum_assignment

from pkm_identification.diagnosis.findings import named

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


@dataclass(frozen=True)
class Arrangement:
    """How efforts (N, A) become those of the drives: ``efforts[:, order] * factor``.

    Attributes
    ----------
    order : (A,) column of each drive's effort
    factor : (A,) sign and unit
    told : whether the efforts resemble those of the machine at all
    findings : what is wrong
    """

    order: Array
    factor: Array
    told: bool
    findings: tuple[Finding, ...]


def arrangement(machine: Machine, nominal: Array, efforts: Array, misfit: Misfit) -> Arrangement:
    """Find unit, sign and order of efforts (m, A) by the forces of the nominal machine (m, A).

    Where another order is only a little more like the machine (legs that move alike), the misfit of both decides.
    """
    labels, count = machine.drive_labels, machine.actuated_count
    alike = _correlation(nominal, efforts)
    order = np.argmax(np.eye(count), axis=1)
    assigned = linear_sum_assignment(-np.abs(alike))[1]
    moved = assigned != order
    own, best = np.abs(np.diag(alike)), np.abs(alike[order, assigned])
    if moved.any() and (best[moved] > _ENOUGH).all() and (best[moved] > own[moved]).all():
        clear = bool((best[moved] > own[moved] + _BETTER).all())
        usual, other = (np.where(alike[order, one] < 0.0, -1.0, 1.0) for one in (order, assigned))
        if clear or misfit(assigned, other) < _LESS * misfit(order, usual):
            order = assigned
    told = bool(np.median(np.abs(alike[np.arange(count), order])) > _ENOUGH)
    if not told:
        worst = float(np.median(best))
        what = f'efforts do not resemble what the machine needs (correlation {worst:.2f})'
        remedy = (
            'check that the file is that of this machine, that positions are those of its drives (check_robot), and '
            'what the driver publishes as effort'
        )
        finding = Finding('effort_unlike', State.SUSPICIOUS, (), what, remedy, {'correlation': worst})
        return Arrangement(order, np.ones(count), False, (finding,))
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
    factor, negative = signs.copy(), signs < 0.0
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
    scale = _scale(machine, nominal, efforts[:, order] * factor)
    if isinstance(scale, Finding):
        findings.append(scale)
        factor = factor / _common_size(nominal, efforts[:, order] * factor)
    return Arrangement(order, factor, True, tuple(findings))


def _correlation(expected: Array, measured: Array) -> Array:
    """Correlation (A, A) of what each drive needs with what each effort says, both about their means."""
    first, second = (values - values.mean(axis=0) for values in (expected, measured))
    sizes = np.outer(np.linalg.norm(first, axis=0), np.linalg.norm(second, axis=0))
    return np.asarray(first.T @ second / np.maximum(sizes, 1e-300))


def _common_size(nominal: Array, efforts: Array) -> float:
    """Median over the drives of how large efforts are, of what the nominal machine needs."""
    nominal = nominal - nominal.mean(axis=0)
    own = efforts - efforts.mean(axis=0)
    return float(np.median(np.sum(own * nominal, axis=0) / np.maximum(np.sum(nominal**2, axis=0), 1e-300)))


def _scale(machine: Machine, nominal: Array, efforts: Array) -> Finding | None:
    size = _common_size(nominal, efforts)
    if 1.0 / _SIZE < size < _SIZE:
        return None
    kind = machine.actuated_joints[0].kind
    for unit, value in _UNITS[kind].items():
        if 1.0 / _SIZE < size / value < _SIZE:
            what = f'efforts are {size:.3g} times what the machine needs: they are in {unit}'
            return Finding(
                'effort_unit', State.WRONG, (), what, f'driver file: effort: {{unit: {unit}}}', {'ratio': size}
            )
    return Finding(
        'effort_scale', State.WRONG, (),
        f'efforts are {size:.3g} times what the machine needs: no unit of force, but e.g. a current',
        f'driver file: effort: {{scale: {1.0 / size:.4g}}}, or quantity: current with gain and gear of the data sheet',
        {'ratio': size},
    )  # fmt: skip
