"""What the gains of the efforts mean: sign, unit, current in place of force, one axis unlike the others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import Finding

from pkm_bringup.robot_check.findings import ok, suspicious, wrong
from pkm_bringup.robot_check.recorded import Flags
from pkm_bringup.robot_check.wiring import Wiring

#: gains within these are those of a machine file whose masses are nearly right
_LOW, _HIGH = 0.7, 1.43
#: beyond these no payload explains them
_WRONG_LOW, _WRONG_HIGH = 0.4, 2.5
#: part by which axes may differ from each other, and a known unit from its size
_ALIKE, _UNIT_SLACK = 0.3, 0.15
#: part of an effort's power that the model must explain
_EXPLAINED = 0.7


def gain_findings(
    wiring: Wiring, gain: Array, explained: Array, slack: Array, told: Flags, moves: bool
) -> Iterator[Finding]:
    """Findings from efforts as multiples of what the machine file expects.

    Parameters
    ----------
    gain, explained, slack, told : (A,) see :class:`pkm_bringup.robot_check.effort_checks.EffortFit`
    moves : whether the gains come from a motion
    """
    how = 'inverse dynamics' if moves else 'the weight that they hold'
    sound = told & (explained > _EXPLAINED)
    if not sound.any():
        yield suspicious(
            'effort_model',
            f'efforts do not follow {how} (at most {explained[told].max():.0%} explained)',
            'what does the driver publish as effort: a set-point, a filtered current, the effort of other joints? Else'
            ' the masses of the machine file are those of another machine',
            explained=float(explained[told].max()),
        )
        return
    figures = {f'gain_{leg}': float(value) for leg, value in zip(wiring.machine.drive_labels, gain, strict=True)}
    negative = sound & (gain < 0.0)
    size = np.abs(gain)
    usual = float(np.median(size[sound]))
    alike = np.abs(size / usual - 1.0) < _ALIKE + slack
    keys: dict[str, object] = {}
    if negative.any():
        share = np.count_nonzero(negative) / np.count_nonzero(sound)
        who = 'all drives' if share == 1.0 else wiring.named(negative)
        signs = -np.ones(len(gain)) if share == 1.0 else np.where(negative, -1.0, 1.0)
        yield wrong(
            'effort_sign',
            (
                f'efforts of {who} have the opposite sign: they do not hold the weight, but push it down'
                if not moves
                else f'efforts of {who} have the opposite sign of {how}'
            ),
            _lines(wiring, {'effort.sign': wiring.patch.by_leg(signs)}),
            **figures,
        )
    common = _LOW - 0.5 * float(slack[sound].min()) < usual < _HIGH + 0.5 * float(slack[sound].min())
    if not common:
        yield _scale(wiring, size, usual, sound, alike, figures, how)
    odd = sound & ~alike
    if odd.any() and (common or not _is_per_axis(alike, sound)):
        keys['effort.scale'] = wiring.patch.by_leg(np.where(odd, usual / size, 1.0))
        yield suspicious(
            'effort_gain',
            f'efforts of {wiring.named(odd)} are {_list(size[odd] / usual)} times those of the other drives, '
            f'compared with {how}',
            'the gain of this axis (or its friction, or a payload off the centre):\n' + _lines(wiring, keys),
            **figures,
        )
    if common and not negative.any() and not odd.any():
        if _turns_positions_alone(wiring):
            wiring.patch.add('effort.sign', 1)
        yield ok('effort', f'efforts agree with {how} (gains {_list(gain[sound])})')


def _scale(
    wiring: Wiring, size: Array, usual: float, sound: Flags, alike: Flags, figures: dict[str, float], how: str
) -> Finding:
    """Finding about a scale that all axes have more or less."""
    turning = wiring.machine.actuated_joints[0].kind == 'revolute'
    newton = 'N m' if turning else 'N'
    units = {'kN m': 1e-3, 'N mm': 1e3} if turning else {'kN': 1e-3}
    even = not (sound & ~alike).any()
    for unit, gain in units.items():
        if even and abs(np.log10(usual / gain)) < np.log10(1.0 + _UNIT_SLACK):
            return wrong(
                'effort_unit',
                f'efforts are {usual:.3g} times what {how} asks for: they are in {unit}',
                _lines(wiring, {'effort.unit': unit}),
                **figures,
            )
    if not _WRONG_LOW < usual < _WRONG_HIGH or not even:
        unit, factor = ('A', 1.0) if usual < 1.0 else ('mA', 1e3)
        per_unit = factor / np.where(sound, size, usual)
        return wrong(
            'effort_unit',
            f'efforts are {_list(size[sound])} times what {how} asks for, drive by drive: no force in {newton}, but '
            'e.g. a current',
            f'take the gains from the data sheet; by this comparison they are about ({newton} per {unit})\n'
            + _lines(
                wiring,
                {'effort.quantity': 'current', 'effort.unit': unit, 'effort.gain': wiring.patch.by_leg(per_unit)},
            ),
            **figures,
        )
    return suspicious(
        'effort_scale',
        f'efforts are {usual:.3g} times what {how} asks for',
        'a payload that the machine file does not have, other masses, or another gain of the force measurement: weigh'
        ' the platform, or identify (pkm_identification); as a gain it would be\n'
        + _lines(wiring, {'effort.scale': wiring.patch.by_leg(np.full(len(size), 1.0 / usual))}),
        **figures,
    )


def _is_per_axis(alike: Flags, sound: Flags) -> bool:
    return bool((sound & ~alike).any())


def _lines(wiring: Wiring, keys: dict) -> str:
    if wiring.machine.driver.effort is not None:
        return f'change in {wiring.machine.driver.path}, on top of what stands there: ' + ', '.join(
            f'{key}: {value}' for key, value in keys.items()
        )
    if _turns_positions_alone(wiring):
        keys = {'effort.sign': 1, **keys}
    return 'in a driver file (--driver, driver:=)\n' + wiring.patch.add_all(keys)


def _turns_positions_alone(wiring: Wiring) -> bool:
    """Whether the proposed file would turn efforts with the positions, because it gives them no sign of their own."""
    content = wiring.patch.content
    turned = 'sign' in content.get('position', {}) and 'sign' not in content.get('effort', {})
    return turned and wiring.machine.driver.effort is None


def _list(values: Array) -> str:
    return ', '.join(f'{value:.3g}' for value in values)
