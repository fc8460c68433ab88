"""What the best arrangement of the drives means, and its remedy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from pkm_description.errors import Finding

from pkm_bringup.robot_check.arrangement import Judged, LegAssignment, shifts
from pkm_bringup.robot_check.axes_findings import axes_words
from pkm_bringup.robot_check.findings import ok, wrong
from pkm_bringup.robot_check.wiring import Wiring


def name_findings(wiring: Wiring, rivals: list[Judged] | None) -> Iterator[Finding]:
    """Names that are not the machine's, with the likely map.

    Parameters
    ----------
    rivals : other arrangements that explain the IMU as well; None where the motion tells nothing of the order
    """
    log = wiring.joints
    if not wiring.names_guessed or log is None or wiring.columns is None:
        return
    order = (
        wiring.best.arrangement.order if wiring.best is not None and rivals is not None else range(len(wiring.columns))
    )
    names = [log.names[wiring.columns[entry]] for entry in order]
    labels = wiring.machine.drive_labels
    entries = {'joints': [{name: label} for name, label in zip(names, labels, strict=True)]}
    others = [name for name in log.names if name not in names and name not in wiring.machine.joint_names]
    if others:
        entries['ignore'] = others  # type: ignore[assignment]
    if rivals is None:
        how = 'by the numbers in the names, which is a guess: move the platform to have it confirmed'
    elif rivals:
        how = (
            'by agreement with the IMU; '
            + ' or '.join(_order_words(wiring, one) for one in rivals[:2])
            + ' fits as well'
        )
    else:
        assert wiring.best is not None
        how = (
            f'by agreement of forward kinematics with the IMU ({1.0 - wiring.best.agreement.rate_misfit:.0%} explained)'
        )
    missing = [name for name in wiring.drive_names if name not in log.names]
    yield wrong(
        'joint_names',
        f'no entry for {", ".join(missing)}; the joint states have {", ".join(log.names)}. The likely map: '
        + ', '.join(f'{name} is {leg}' for name, leg in zip(names, wiring.machine.drive_labels, strict=True))
        + f' ({how})',
        'in a driver file (--driver, driver:=)\n' + wiring.patch.add_all(entries),
    )


def arrangement_findings(
    wiring: Wiring,
    best: Judged,
    base: Judged | None,
    rivals: list[Judged],
    equal: list[tuple[int, ...]],
    other: str = '',
) -> Iterator[Finding]:
    """Order and signs of the legs.

    Parameters
    ----------
    best, base : the best arrangement, and the one that the names say
    rivals : others that are as good as the best
    equal : orders that this motion does not tell from the plain one
    other : another cause that explains the same; empty: none
    """
    arrangement, fit = best.arrangement, best.agreement
    moved = arrangement.order != tuple(range(len(arrangement.order))) and not wiring.names_guessed
    flipped = np.array(arrangement.flipped)
    before = float('nan') if base is None else base.agreement.rate_misfit
    evidence = {'unexplained_as_it_is': before, 'unexplained_mended': fit.rate_misfit}
    either = _either(wiring, rivals, other)
    if moved:
        assert wiring.joints is not None
        assert wiring.columns is not None
        names = [wiring.joints.names[wiring.columns[entry]] for entry in arrangement.order]
        yield wrong(
            'leg_order',
            f'the legs are in another order than the names say: {_order_words(wiring, best)}{either}',
            'exchange the plugs, or map the names in a driver file (--driver, driver:=)\n' + wiring.patch.joints(names),
            **evidence,
        )
    if flipped.any():
        yield wrong(
            'position_sign',
            f'positions of {wiring.named(flipped)} count the other way round{either}',
            _sign_lines(wiring, arrangement),
            **evidence,
        )
    if not moved and not flipped.any() and not wiring.names_guessed:
        note = ''
        if equal:
            legs = wiring.machine.drive_labels
            pairs = [[legs[a] for a, b in enumerate(order) if a != b] for order in equal]
            note = (
                '; this motion does not tell '
                + ', '.join(' from '.join(pair) for pair in pairs[:4])
                + ' (turn the platform more)'
            )
        yield ok(
            'leg_order',
            f'order and signs of the legs agree with the IMU ({1.0 - fit.rate_misfit:.1%} of its angular rate '
            f'explained by forward kinematics{note})',
        )


def _either(wiring: Wiring, rivals: list[Judged], other: str) -> str:
    words = [other] if other else []
    for one in rivals[:3]:
        parts = []
        if one.arrangement.order != tuple(range(len(one.arrangement.order))):
            parts.append(_order_words(wiring, one))
        if any(one.arrangement.flipped):
            parts.append(f'{wiring.named(np.array(one.arrangement.flipped))} counts the other way round')
        if one.agreement.axes_cost:
            parts.append(axes_words(one.agreement))
        words.append(' and '.join(parts))
    return f'. Or else: {"; or ".join(filter(None, words))} (this motion does not tell which)' if any(words) else ''


def _order_words(wiring: Wiring, one: Judged) -> str:
    legs, order = wiring.machine.drive_labels, one.arrangement.order
    if wiring.joints is None or wiring.columns is None:
        return ''
    names = [wiring.joints.names[wiring.columns[entry]] for entry in order]
    moved = [
        (name, leg) for entry, (name, leg) in enumerate(zip(names, legs, strict=True)) if order[entry] != entry
    ]
    return ', '.join(f'{name} is that of {leg}' for name, leg in moved) or 'the order of the names'


def _sign_lines(wiring: Wiring, arrangement: LegAssignment) -> str:
    assert wiring.position_scale is not None
    assert wiring.position_offset is not None
    flipped = np.array(arrangement.flipped)
    sign = np.where(flipped, -1.0, 1.0)
    scale = sign * wiring.position_scale
    shift = shifts(wiring.machine, arrangement)
    offset = np.where(flipped, shift - wiring.position_offset, wiring.position_offset)
    keys: dict[str, object] = {'position.sign': wiring.patch.by_leg(np.sign(scale))}
    if offset.any() and 'quantity' not in wiring.patch.content.get('position', {}):
        keys['position.offset'] = wiring.patch.by_leg(offset)
    other_end = '; the offset is that of a count from the other end of the stroke' if shift.any() else ''
    return f'in a driver file (--driver, driver:={other_end})\n' + wiring.patch.add_all(keys)
