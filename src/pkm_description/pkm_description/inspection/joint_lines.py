"""Drives and passive joints of a machine with their limits, in lines of text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pkm_description.arrays import Array
from pkm_description.machine import Joint, Machine
from pkm_description.report.words import text_table


def drive_lines(machine: Machine, positions: Array, forces: Array | None) -> list[str]:
    """Table of the drives.

    Parameters
    ----------
    positions : (J,) at home
    forces : (A,) that hold the machine at home; None for open chains
    """
    rows = [('drive', 'at home', 'range', 'speed', 'force', '' if forces is None else 'holds at home')]
    at_home = positions[machine.drive_columns]
    for number, joint in enumerate(machine.actuated_joints):
        unit, force_unit = ('m', 'N') if joint.kind == 'prismatic' else ('rad', 'N m')
        rows.append(
            (
                joint.name,
                f'{figure(at_home[number])} {unit}',
                _range_text(joint.limits.lower, joint.limits.upper, unit),
                _bound(joint.limits.velocity, f'{unit}/s'),
                _bound(joint.limits.effort, force_unit),
                '' if forces is None else f'{figure(forces[number])} {force_unit}',
            )
        )
    return table(rows)


def passive_joint_lines(machine: Machine, positions: Array) -> list[str]:
    """Table of the passive joints, those of the same name in all legs in one row; (J,) positions at home."""
    rows = [('passive joint', 'at home', 'range', 'speed')]
    alike: dict[str, list[int]] = {}
    for leg, part in zip(machine.legs, machine.leg_slices, strict=True):
        for column in range(part.start, part.stop):
            if not machine.joints[column].actuated:
                alike.setdefault(machine.joints[column].name.removeprefix(f'{leg.name}_'), []).append(column)
    for name, columns in alike.items():
        joints = [machine.joints[column] for column in columns]
        for kind in dict.fromkeys(joint.kind for joint in joints):
            own = [joint for joint in joints if joint.kind == kind]
            unit = 'm' if kind == 'prismatic' else 'rad'
            at_home = positions[[column for column in columns if machine.joints[column].kind == kind]]
            least, most = float(at_home.min()), float(at_home.max())
            ends = dict.fromkeys((figure(least), figure(most)))
            spread = f'{" to ".join(ends)} {unit}'
            for first, limits, speed in _by_limits(own, unit):
                label = name if machine.leg_count == 1 or not first else f'{name} ({first})'
                rows.append((label, spread, limits, speed))
    rows += _closure_rows(machine)
    return table(rows) if len(rows) > 1 else ['no passive joints']


def _closure_rows(machine: Machine) -> list[tuple[str, str, str, str]]:
    """One row for each kind of joint that closes loops."""
    names = {
        'ball': 'ball joint', 'universal': 'universal joint', 'fixed': 'fixed',
        'pin': 'pin at the platform' if machine.planar else 'pin',
    }  # fmt: skip
    rows = []
    for kind in dict.fromkeys(closure.kind for closure in machine.closures):
        cones = [closure.cone for closure in machine.closures if closure.kind == kind]
        if kind == 'fixed':
            rows.append((names[kind], '', 'none', ''))
        elif kind != 'ball':
            rows.append((names[kind], '', 'unlimited', 'unlimited'))
        elif np.isfinite(cones).any():
            text = _bound(min(cones), 'rad')
            text = text if min(cones) == max(cones) else f'{min(cones):.4g} to {max(cones):.4g} rad'
            rows.append((names[kind], '0.0000 rad', f'cone of {text}', 'unlimited'))
        else:
            rows.append((names[kind], '0.0000 rad', 'unlimited', 'unlimited'))
    return rows


def _by_limits(joints: list[Joint], unit: str) -> list[tuple[str, str, str]]:
    """(names, range, speed) of joints, in one row if their limits are the same."""
    rows: dict[tuple[str, str], list[str]] = {}
    for joint in joints:
        limits = joint.limits
        key = _range_text(limits.lower, limits.upper, unit), _bound(limits.velocity, f'{unit}/s')
        rows.setdefault(key, []).append(joint.name.split('_')[0])
    if len(rows) == 1:
        return [('', *next(iter(rows)))]
    return [(', '.join(names), *key) for key, names in rows.items()]


def _range_text(lower: float, upper: float, unit: str) -> str:
    if np.isinf(lower) and np.isinf(upper):
        return 'unlimited'
    return f'{figure(lower)} to {figure(upper)} {unit}'


def figure(value: float, sign: str = '') -> str:
    """Four significant digits; with a sign where that is ``+``; what rounding leaves of zero is zero."""
    return f'{value if abs(value) > 1e-12 else 0.0:{sign}#.4g}'.rstrip('.')


def _bound(value: float, unit: str) -> str:
    return f'{value:.6g} {unit}' if np.isfinite(value) else 'unlimited'


def table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Lines of a table without a rule."""
    return text_table(rows[0], rows[1:], indent='', rule=False).splitlines()
