"""What arrangement of the drives and axes of the IMU mean, and the remedy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from pkm_description.errors import Finding
from pkm_description.kinematics.rotation_formats import rpy_from_rotation

from pkm_bringup.robot_check.agreement import AXES, Agreement, axes_text, is_rotation
from pkm_bringup.robot_check.arrangement import Judged, LegAssignment, shifts
from pkm_bringup.robot_check.wiring import IN_DRIVER_FILE, Wiring, cannot_tell, ok, suspicious, wrong


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
        IN_DRIVER_FILE + wiring.patch.add_all(entries),
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


_REP = 'ROS wants specific force, +g upwards at rest (REP 145)'


def axes_findings(wiring: Wiring, best: Judged, turns: bool, rivals: list[Judged]) -> Iterator[Finding]:
    """Findings about mounting and signs of the IMU.

    Parameters
    ----------
    best : the arrangement of the legs on which the axes were found
    turns : whether the gyroscope takes part
    rivals : other arrangements that explain the IMU as well
    """
    fit = best.agreement
    felt = not np.isnan(fit.force_misfit)
    gyroscope, accelerometer = fit.gyroscope, fit.accelerometer
    plain = [np.array_equal(one, AXES[0]) for one in (gyroscope, accelerometer)]
    if all(plain):
        yield from _plain(wiring, fit, turns, felt)
        return
    either = ' (or else the legs are numbered otherwise, see leg_order)' if rivals else ''
    figures = {'unexplained_rate': fit.rate_misfit, 'force_error_m_s2': fit.force_error}
    if not turns:
        yield from _at_rest(wiring, best, figures)
    elif not felt or np.array_equal(accelerometer, gyroscope):
        yield _mounting_or_mirrored(wiring, gyroscope, figures, either)
    elif np.array_equal(accelerometer, -gyroscope):
        if plain[0]:
            yield _gravity_down(wiring, figures)
        else:
            # an axis that points the other way changes the sign of its acceleration, and of the rates about the others
            yield _mounting_or_mirrored(wiring, accelerometer, figures, either)
    elif plain[0] or plain[1]:
        which = 'accelerometer' if plain[0] else 'gyroscope'
        odd = accelerometer if plain[0] else gyroscope
        yield wrong(
            f'{which}_axes',
            f'the {which} has other axes than the other sensor: {axes_text(odd)} (measured = of the machine file)',
            f'let the IMU\'s driver publish both sensors in one right-handed frame; the {which}\'s axes are now'
            f' {axes_text(odd)}',
            **figures,
        )
    else:
        yield wrong(
            'imu_axes',
            f'gyroscope and accelerometer have axes of their own: {axes_text(gyroscope)}, and'
            f' {axes_text(accelerometer)}',
            'let the IMU\'s driver publish both sensors in one right-handed frame',
            **figures,
        )


def _plain(wiring: Wiring, fit: Agreement, turns: bool, felt: bool) -> Iterator[Finding]:
    if felt and fit.force_misfit > 1.0:
        angle = np.degrees(np.arcsin(min(1.0, fit.force_error / float(np.linalg.norm(wiring.machine.gravity)))))
        yield suspicious(
            'imu_tilt',
            f'the specific force is {fit.force_error:.2g} m/s^2 off what forward kinematics and the machine file say '
            f'(like a tilt of {angle:.1f} deg): zero of a leg, mounting of the IMU, or its bias',
            'reference (home) the drives; give the mounting in sensors.imu.rpy and the bias in '
            'sensors.imu.accelerometer.bias (tune BAG --static measures it)'
            + ('' if turns else '; a motion tells more'),
            force_error_m_s2=fit.force_error,
        )
    elif felt and turns:
        yield ok(
            'imu_axes',
            f'axes and gravity of the IMU agree with the legs (specific force within {fit.force_error:.2g} m/s^2)',
        )
    elif felt:
        yield ok('imu_gravity', f'gravity points where the legs say (within {fit.force_error:.2g} m/s^2)')
        yield cannot_tell(
            'imu_axes',
            'at rest nothing tells how the IMU is turned about the vertical',
            'any motion that turns the platform',
        )
    elif turns:
        yield ok('imu_axes', 'axes of the gyroscope agree with the legs')


def _at_rest(wiring: Wiring, best: Judged, figures: dict[str, float]) -> Iterator[Finding]:
    """Gravity alone: upside down, or its sign."""
    fit, machine = best.agreement, wiring.machine
    expected = best.prediction.specific_force.mean(axis=0)
    pointing = fit.accelerometer @ expected
    cosine = float(pointing @ expected / max(expected @ expected, 1e-12))
    if cosine > -0.8 and wiring.names_guessed:
        yield cannot_tell(
            'imu_axes',
            'which joint belongs to which leg is a guess, and with it the tilt of the platform',
            'any motion',
        )
        return
    if cosine < -0.8:
        yield wrong(
            'imu_gravity_sign',
            'gravity points the other way than the legs say: the IMU publishes gravity in place of specific '
            f'force ({_REP}), or it is mounted upside down; a motion that turns the platform tells which',
            'if it is the sign, in the driver file\n'
            + wiring.patch.add('imu.gravity', 'down')
            + f'\nif it is upside down, in {machine.path.name}\n'
            + _rpy_lines(wiring, np.diag([1.0, -1.0, -1.0])),
            **figures,
        )
        return
    yield wrong(
        'imu_axes',
        'gravity lies on another axis of the IMU than the legs and the machine file say: '
        f'{axes_text(fit.accelerometer)} would fit, as others would that differ by a turn about the vertical',
        f'set the mounting in {machine.path.name} (a motion that turns the platform tells which one it is)\n'
        + _rpy_lines(wiring, fit.accelerometer if is_rotation(fit.accelerometer) else _proper(wiring, best)),
        **figures,
    )


def _proper(wiring: Wiring, best: Judged) -> np.ndarray:
    """Proper rotation that explains the direction of gravity as well as a mirrored one does."""
    expected = best.prediction.specific_force.mean(axis=0)
    wanted = best.agreement.accelerometer @ expected
    proper = [one for one in AXES if is_rotation(one)]
    return min(proper, key=lambda one: float(np.linalg.norm(one @ expected - wanted)))


def _gravity_down(wiring: Wiring, figures: dict[str, float]) -> Finding:
    return wrong(
        'imu_gravity_sign',
        f'the accelerometer has the opposite sign: it publishes gravity in place of specific force; {_REP}',
        'in the driver file\n' + wiring.patch.add('imu.gravity', 'down'),
        **figures,
    )


def _mounting_or_mirrored(wiring: Wiring, axes: np.ndarray, figures: dict[str, float], either: str) -> Finding:
    if not is_rotation(axes):
        return wrong(
            'imu_left_handed',
            f'the IMU\'s axes are those of a left-handed frame: {axes_text(axes)} (measured = of the machine '
            f'file); no mounting explains them{either}. The same is seen if the legs are numbered the other way round',
            'negate one axis in the IMU\'s driver so that x, y, z are right-handed (and the rates about the others'
            ' accordingly), or number the legs the other way round',
            **figures,
        )
    upside = ', upside down' if axes[2, 2] < 0.0 else ''
    return wrong(
        'imu_axes',
        f'the IMU is mounted otherwise than the machine file says{upside}: {axes_text(axes)} (measured = of the '
        f'machine file){either}',
        f'turn the IMU, or in {wiring.machine.path.name}\n' + _rpy_lines(wiring, axes),
        **figures,
    )


def _rpy_lines(wiring: Wiring, axes: np.ndarray) -> str:
    """Lines of the machine file for an IMU whose measured axes are ``axes`` @ those of the file."""
    angles = rpy_from_rotation(wiring.machine.imu.rotation_platform_imu @ axes.T)
    return f'sensors: {{imu: {{rpy: [{", ".join(f"{angle + 0.0:.4f}" for angle in angles)}]}}}}'


def turned_finding(wiring: Wiring, rotation: np.ndarray) -> Finding:
    """The IMU is turned by angles that are not right ones."""
    return wrong(
        'imu_axes',
        f'the IMU is mounted otherwise than the machine file says, turned by {_angle(rotation):.0f} deg (or else'
        ' several legs are numbered otherwise, which can look the same)',
        f'turn the IMU, or in {wiring.machine.path.name} (tune BAG --motion refines it)\n'
        + _rpy_lines(wiring, rotation),
        turned_deg=_angle(rotation),
    )


def turned_words(wiring: Wiring, rotation: np.ndarray) -> str:
    """That an IMU turned so would explain the same."""
    return (
        f'the legs are as they are named, and the IMU is turned by {_angle(rotation):.0f} deg:'
        f' {_rpy_lines(wiring, rotation)}'
    )


def _angle(rotation: np.ndarray) -> float:
    return float(np.degrees(np.arccos(np.clip(0.5 * (np.trace(rotation) - 1.0), -1.0, 1.0))))


def axes_words(fit: Agreement) -> str:
    """What the axes mean, in a few words."""
    if np.array_equal(fit.gyroscope, fit.accelerometer):
        return f'the IMU is mounted with {axes_text(fit.gyroscope)}'
    return (
        f'the IMU\'s axes are {axes_text(fit.gyroscope)} (gyroscope) and {axes_text(fit.accelerometer)} (accelerometer)'
    )
