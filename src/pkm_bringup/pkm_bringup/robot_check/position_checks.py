"""Positions of the drives: unit, direction and zero by the strokes, and whether they have a pose."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.errors import Finding
from pkm_description.kinematics import drive_positions, forward_kinematics, measured_tolerance
from pkm_description.machine import Leg, Machine
from pkm_description.machine.model_data import leg_reach

from pkm_bringup.robot_check.hypotheses import is_solvable
from pkm_bringup.robot_check.recorded import Flags
from pkm_bringup.robot_check.wiring import Wiring, cannot_tell, ok, suspicious, wrong

#: part of a stroke by which positions may lie beyond its ends
_SLACK = 0.03
#: part of the samples that must lie in the stroke
_INSIDE = 0.98
#: part of a stroke below which values say nothing about their unit
SMALL = 0.02
#: samples of which forward kinematics is asked
_SAMPLES = 60
#: part of its stroke that a drive may be away from home on the mean
_NEAR = 0.35


def position_checks(wiring: Wiring) -> Iterator[Finding]:
    """Findings about unit, sign and zero; sets ``positions`` in the suite's convention."""
    if wiring.joints is None or wiring.columns is None:
        return
    published = wiring.joints.positions[wiring.leg_rows][:, wiring.columns]
    finite = np.isfinite(published).all(axis=1)
    some = published[finite][:: max(1, np.count_nonzero(finite) // 400)]
    machine, count = wiring.machine, wiring.machine.actuated_count
    scale, offset = np.ones(count), np.zeros(count)
    if len(some) == 0:
        return
    units = position_units(machine)
    fits = np.array([inside(machine, unit.position(some)) for unit in units])
    good: Flags = fits[0]
    common = [unit for unit, fit in zip(units[1:], fits[1:], strict=True) if fit.all()]
    lower, upper = strokes(machine)
    if good.all():
        if (np.abs(some) < SMALL * (upper - lower)).all():  # any smaller unit would fit, too
            yield cannot_tell(
                'position_unit', 'all positions are nearly zero: any unit would fit', 'a pose away from zero'
            )
        else:
            yield ok('position_unit', f'positions lie within the strokes ({_figures(wiring, some)["published"]})')
    elif common and not (0 < np.count_nonzero(~good) <= count // 2):
        unit = _likeliest(wiring, common, some)
        scale, offset = unit.scale, unit.offset
        yield _common_unit(wiring, unit, common, some)
    else:
        for drive in np.flatnonzero(~good).tolist():
            # one drive in another unit is rare: it must come to where the machine usually is, not just into its stroke
            near = {
                abs(float(unit.position(some)[:, drive].mean()) - _home(machine)[drive]) / (upper - lower)[drive]: unit
                for unit, fit in reversed(list(zip(units, fits[:, drive], strict=True)))
                if fit and 'quantity' not in unit.keys
            }
            if near and min(near) < _NEAR:
                unit = near[min(near)]
                scale[drive], offset[drive] = unit.scale[drive], unit.offset[drive]
        yield from _single_drives(wiring, some, good, scale, offset)
    wiring.position_scale, wiring.position_offset = scale, offset
    wiring.positions = published * scale + offset


def _likeliest(wiring: Wiring, units: list[PositionUnit], some: Array) -> PositionUnit:
    """Usual units first; but one that uses more of the stroke and has poses counts before one that does not."""
    machine = wiring.machine
    lower, upper = strokes(machine)

    def doubt(unit: PositionUnit) -> float:
        positions = unit.position(some)
        middle = np.abs(positions.mean(axis=0) - 0.5 * (lower + upper)) / (upper - lower)
        lost = 0.0
        if not is_solvable(machine):
            few = positions[:: max(1, len(some) // 20)]
            found = forward_kinematics(machine, few, tolerance=measured_tolerance(machine))
            lost = 1.0 - float(found.trusted.mean())
        # half of a stroke from its middle is its end: values in too large a unit lie there
        return lost + max(0.0, 4.0 * (float(middle.mean()) - 0.4)) + 0.05 * units.index(unit)

    return min(units, key=doubt)


def _common_unit(wiring: Wiring, unit: PositionUnit, units: list[PositionUnit], some: Array) -> Finding:
    code = 'position_sign' if set(unit.keys) == {'sign'} else 'position_unit'
    if 'quantity' in unit.keys:
        code = 'position_length'
    others = [other.words for other in units if other is not unit]
    doubt = f' (or {", ".join(others)}, which fits the strokes, too)' if others else ''
    return wrong(
        code,
        f'positions lie outside the strokes, but fit {unit.words}{doubt}',
        wiring.driver_lines({f'position.{key}': value for key, value in unit.keys.items()}),
        **_figures(wiring, some),
    )


def _single_drives(wiring: Wiring, some: Array, good: Flags, scale: Array, offset: Array) -> Iterator[Finding]:
    """Drives that do not fit as they are, with the scale and offset found for some of them."""
    machine, figures = wiring.machine, _figures(wiring, some)
    positions = some * scale + offset
    unsolved = ~inside(machine, positions)
    changed = ~good & ~unsolved
    if changed.any():
        keys: dict[str, object] = {'position.sign': wiring.patch.by_leg(np.sign(scale))} if (scale < 0.0).any() else {}
        if (np.abs(scale) != 1.0).any():
            keys['position.scale'] = wiring.patch.by_leg(np.abs(scale))
        sign_only = set(keys) == {'position.sign'}
        yield wrong(
            'position_sign' if sign_only else 'position_unit',
            f'positions of {wiring.named(changed)} lie outside the stroke; those of the others fit. They fit '
            + ('with the opposite sign' if sign_only else 'in another unit'),
            wiring.driver_lines(keys),
            **figures,
        )
    if not unsolved.any():
        return
    wiring.poses_trusted = False
    lower, upper = strokes(machine)
    beyond = np.maximum(0.0, np.maximum(lower - positions, positions - upper)).max(axis=0)
    if unsolved.all():
        yield wrong(
            'position_stroke',
            f'positions of all drives lie outside their strokes by up to {beyond.max():.4g}, in no usual '
            'unit: another machine, or another zero of the drives',
            f'check the machine file ({machine.path.name}: origin of the driven joint, limits), or give'
            ' position.scale and position.offset per leg in a driver file',
            **figures,
        )
        return
    # the least offsets that bring the drives into their strokes
    least = np.where(unsolved, np.where(positions.mean(axis=0) > upper, -beyond, beyond), 0.0)
    offsets = ', '.join(f'{leg}: {value:.4g}' for leg, value in zip(machine.drive_labels, least, strict=True))
    yield wrong(
        'position_offset',
        f'{wiring.named(unsolved)} lies outside the stroke by up to {beyond.max():.4g}: its zero is off, or the limits '
        'of the machine file are not those of the machine',
        'reference (home) the drive anew, or give its offset, found by driving to a known stop, in a driver'
        f' file:\ndriver: {{machine: {machine.name}, position: {{offset: {{{offsets}}}}}}}',
        beyond=float(beyond.max()),
        **figures,
    )


def _home(machine: Machine) -> Array:
    """Positions (A,) of the drives at home."""
    return np.ravel(drive_positions(machine, machine.home.position, machine.home.rotation_base_platform))


def pose_checks(wiring: Wiring) -> Iterator[Finding]:
    """Whether the positions, as far as they are mended, have a pose."""
    if wiring.positions is None:
        return
    machine = wiring.machine
    why = is_solvable(machine)
    if why:
        yield cannot_tell('pose', f'the drives of {machine.name} do not tell its pose: {why}')
        return
    positions = wiring.positions[np.isfinite(wiring.positions).all(axis=1)]
    if any(wiring.arrangement.flipped):
        return  # what is known of such positions stands in the finding about signs
    some = positions[:: max(1, len(positions) // _SAMPLES), list(wiring.arrangement.order)]
    result = forward_kinematics(machine, some, tolerance=measured_tolerance(machine))
    part = float(result.trusted.mean())
    if part == 1.0:
        yield ok('pose', 'every sample has a pose')
    else:
        fits = inside(machine, some).all()
        cause = (
            'the order or the zeros of the drives, or the geometry of the machine file'
            if fits
            else 'see positions above'
        )
        say = wrong if part < 0.9 else suspicious
        yield say(
            'pose',
            f'{1.0 - part:.0%} of the samples have no pose that can be trusted: {cause}, or a singular pose',
            'check base_point, platform_point, leg_tip and the zero of the driven joint in the machine file;'
            f' inspect_machine {machine.path.name} shows strokes, reach and condition numbers',
            part=1.0 - part,
        )


def _figures(wiring: Wiring, some: Array) -> dict[str, str]:
    """Ranges of what is published, and of the strokes."""
    lower, upper = strokes(wiring.machine)
    return {'published': f'{some.min():.4g} to {some.max():.4g}', 'stroke': f'{lower.min():.4g} to {upper.max():.4g}'}


@dataclass(frozen=True)
class PositionUnit:
    """A way to publish positions: ``position = scale * published + offset``.

    Attributes
    ----------
    words : for the report
    scale, offset : (A,) SI unit per published unit, m or rad
    keys : of a driver file's section ``position``
    """

    words: str
    scale: Array
    offset: Array
    keys: dict[str, str | int]

    def position(self, published: Array) -> Array:
        """Positions (..., A) in the suite's convention."""
        result: Array = published * self.scale + self.offset
        return result


def position_units(machine: Machine) -> list[PositionUnit]:
    """Ways to publish positions, the suite's own first, then from usual to unusual."""
    count = machine.actuated_count
    ones, none = np.ones(count), np.zeros(count)
    degree = np.pi / 180.0
    table: list[tuple[str, float, dict[str, str | int]]] = [
        ('in rad', 1.0, {}),
        ('in degrees', degree, {'unit': 'deg'}),
        ('with the opposite sign', -1.0, {'sign': -1}),
        ('in degrees with the opposite sign', -degree, {'unit': 'deg', 'sign': -1}),
        ('in mrad', 1e-3, {'unit': 'mrad'}),
        ('in turns', 2.0 * np.pi, {'unit': 'turn'}),
    ]
    lengths = none
    if machine.actuated_joints[0].kind == 'prismatic':
        table = [
            ('as extensions in m', 1.0, {}),
            ('in mm', 1e-3, {'unit': 'mm'}),
            ('as absolute lengths in m', 1.0, {'quantity': 'length'}),
            ('as absolute lengths in mm', 1e-3, {'quantity': 'length', 'unit': 'mm'}),
            ('as absolute lengths in cm', 1e-2, {'quantity': 'length', 'unit': 'cm'}),
            ('with the opposite sign', -1.0, {'sign': -1}),
            ('in mm with the opposite sign', -1e-3, {'unit': 'mm', 'sign': -1}),
            ('in cm', 1e-2, {'unit': 'cm'}),
            ('in inches', 0.0254, {'unit': 'in'}),
            ('in um', 1e-6, {'unit': 'um'}),
        ]
        if all(_drives_its_length(leg) for leg in machine.legs):
            lengths = np.array([leg.length_at_zero for leg in machine.legs])
    return [
        PositionUnit(words, scale * ones, -lengths if 'quantity' in keys else none, keys)
        for words, scale, keys in table
        if 'quantity' not in keys or (lengths > 0.0).all()
    ]


def _drives_its_length(leg: Leg) -> bool:
    """Whether the drive is the leg's last joint, and the only one."""
    driven = [joint.actuated for joint in leg.joints]
    return leg.ends_at_platform and len(driven) > 1 and driven[-1] and sum(driven) == 1


def strokes(machine: Machine) -> tuple[Array, Array]:
    """Ends (A,) of the drives' strokes; where the file has none, the machine's size about home."""
    home, lower, upper = (
        values[machine.drive_columns]
        for values in (machine.home_positions, machine.position_lower, machine.position_upper)
    )
    slides = np.array([joint.kind == 'prismatic' for joint in machine.actuated_joints])
    reach = np.where(slides, max(leg_reach(leg) for leg in machine.legs), 2.0 * np.pi)
    return np.where(np.isfinite(lower), lower, home - reach), np.where(np.isfinite(upper), upper, home + reach)


def inside(machine: Machine, positions: Array) -> NDArray[np.bool_]:
    """Which drives (A,) stay within their strokes over samples (N, A)."""
    lower, upper = strokes(machine)
    slack = _SLACK * (upper - lower)
    within = (positions >= lower - slack) & (positions <= upper + slack)
    return np.asarray(within.mean(axis=0) >= _INSIDE)
