"""What the streams say by themselves: topics, QoS, names, values; the IMU's own numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

import numpy as np
from pkm_description.arrays import Array
from pkm_description.driver.driver import ACCELERATION

from pkm_bringup.robot_check.recorded import IMU_TYPE, JOINT_TYPE
from pkm_bringup.robot_check.wiring import CANNOT_TELL, OK, SUSPICIOUS, WRONG, Wiring, driver_file, put

#: part of local gravity by which the median of the specific force may be off, in m/s^2 and in another unit
_GRAVITY, _UNIT_SLACK = 0.3, 0.12
#: part of gravity below which it is not in the signal
_REMOVED = 0.35


def topic_checks(wiring: Wiring) -> None:
    """Look at both topics."""
    seen, machine, say = wiring.seen, wiring.machine, wiring.say
    for warning in seen.warnings:
        sentence = f'the recording is not whole: {warning}'
        say(True, SUSPICIOUS, 'damaged_bag', sentence, 'record again, or go on with what is left')
    _topic(wiring, seen.joint_topic, JOINT_TYPE, seen.joints is not None, 'joint')
    if machine.has_imu:
        _topic(wiring, seen.imu_topic, IMU_TYPE, seen.imu is not None, 'imu')
    say(not machine.has_imu, CANNOT_TELL, 'imu',
        f'the machine file of {machine.name} has no IMU; nothing of it is checked',
        'a section sensors.imu in the machine file (pkm_description: machine file schema)')  # fmt: skip
    say(len(seen.clock_publishers) > 1, WRONG, 'two_clocks',
        f'/clock has {len(seen.clock_publishers)} publishers: {", ".join(seen.clock_publishers)}',
        'let one of them go: publish_clock:=false for all simulators and players but one')  # fmt: skip


def _topic(wiring: Wiring, topic: str, kind: str, heard: bool, which: str) -> None:
    seen, say = wiring.seen, wiring.say
    ends = seen.publishers.get(topic, ())
    types, offered = sorted({end.topic_type for end in ends}), {end.reliability for end in ends}
    others = [other for other in seen.topics_of(kind) if other != topic]
    unheard = seen.reliability == 'reliable' and 'best_effort' in offered
    nodes = ', '.join(end.node for end in ends if end.node)
    who = f' ({nodes})' if nodes else ''
    if types != [kind]:
        there = f'topics of type {kind}: {", ".join(others)}' if others else f'no topic of type {kind} is there at all'
        remedy = _rename(wiring, which, others) if others or not types else f'publish {kind} on {topic}'
        expected = f'{topic} has type {" and ".join(types)}, expected {kind}'
        nobody = f'nobody publishes {topic}; {there}{", which is looked at instead" if heard else ""}'
        say(True, WRONG, f'{which}_topic_{"type" if types else "missing"}', expected if types else nobody, remedy)
        return
    say(not heard, WRONG, f'{which}_silent', f'{topic} has a publisher{who}, but no message came',
        'reliability:=best_effort: it is published best effort, which a reliable subscription does not get' if unheard
        else 'see whether the driver is active (ros2 lifecycle get, ros2 control list_controllers), and ros2 topic hz'
        f' {topic}')  # fmt: skip
    apart = which == 'joint' and seen.joints is not None and seen.other_layouts and all(
        not set(seen.joints.names) & set(layout) for layout in seen.other_layouts
    )  # fmt: skip
    several = f'{topic} {"has" if seen.live else "had"} {len(ends)} publishers{who}'
    say(len(ends) > 1 and apart, OK, 'joint_publishers', f'{several} with different joints')
    # a publisher that was started again counts twice in a bag
    say(len(ends) > 1 and not apart, WRONG if seen.live else SUSPICIOUS, f'{which}_two_publishers',
        f'{several}{"; their samples mix" if seen.live else " when it was recorded"}',
        'stop all but one, or give the others topics of their own (-r joint_states:=other, namespace:=...)')
    say(unheard, WRONG, f'{which}_qos', f'{topic} is published best effort; a reliable subscription gets nothing',
        'reliability:=best_effort for the nodes (the default), or let the driver publish reliable',
        {'offered': 'best_effort', 'requested': 'reliable'})  # fmt: skip
    hint = '; leave reliability:=best_effort' if 'best_effort' in offered else ''
    fits = f'{topic} is there, type and QoS fit ({ends[0].reliability}{hint})'
    say(heard and not unheard, OK, f'{which}_topic', fits)


def _rename(wiring: Wiring, which: str, others: list[str]) -> str:
    if not others:
        return 'start the driver (its broadcaster), in this ROS_DOMAIN_ID; list what is there: ros2 topic list -t'
    name, entries = others[0], {f'{which}_topic': others[0]}
    put(wiring.patch, entries)
    plural = ' (or another of them)' if len(others) > 1 else ''
    return (
        f'check again with --{which}-topic {name}{plural}; for the nodes {which}_topic:={name}, or in the driver file\n'
        + driver_file(wiring.machine, entries)
    )


def name_checks(wiring: Wiring) -> None:
    """Look at the names; sets ``columns`` where every drive has an entry, or a guess."""
    if wiring.joints.log is None:
        return
    names, machine, say = wiring.joints.names, wiring.machine, wiring.say
    wanted = machine.actuated_joint_names
    doubled = sorted({name for name in names if names.count(name) > 1} & set(wanted))
    missing = [name for name in wanted if name not in names]
    ignored = {name for name in names for pattern in machine.driver.ignore if fnmatchcase(name, pattern)}
    others = [name for name in names if name not in {*machine.joint_names, *ignored}]
    note = f'; {", ".join(others)} is not of this machine and is ignored' if others else ''
    guess = guessed_map(wanted, names)
    elsewhere = {name for layout in wiring.seen.other_layouts for name in layout} & set(missing)
    rest = f' ({", ".join(sorted(elsewhere))} comes in messages of its own)' if elsewhere else ''
    free = [name for name in names if name not in machine.joint_names]
    rest += f'; the others are {", ".join(free)}' if free else ''
    named = driver_file(machine, {'joints': [{f'NAME_OF_{leg}': leg} for leg in machine.drive_labels]})
    if not missing:
        wiring.columns = [names.index(name) for name in wanted]
    elif guess is not None and not doubled:
        wiring.columns, wiring.named = [names.index(name) for name in guess], False
        wiring.numbered = None not in {_number(name) for name in guess}
    lost = ', '.join(missing)
    if not names:
        say(True, WRONG, 'joint_names', 'joint states have no names; entries cannot be told apart',
            'fill JointState.name in the driver, in the order of its numbers: ' + ', '.join(wanted))  # fmt: skip
    elif doubled:
        say(True, WRONG, 'joint_names_doubled',
            f'{", ".join(doubled)} stands more than once in one joint state; such messages are rejected'
            + (f', and {lost} is missing' if missing else ''),
            'give every joint its own name in the driver' + (f' ({lost} is not used)' if missing else ''))  # fmt: skip
    elif missing:
        say(guess is None, WRONG, 'joint_names', f'no entry for {lost}{rest}',
            'publish all drives in one message, e.g. by one joint_state_broadcaster; or name them in a driver file:\n'
            + named)  # fmt: skip
    else:
        say(True, OK, 'joint_names', f'all {len(wanted)} drives are there by name{note}')


def guessed_map(wanted: Sequence[str], names: Sequence[str]) -> list[str] | None:
    """Entry that may belong to each wanted joint: by its own name, else by the numbers in the names, else in order.

    Returns
    -------
    Names in the order of the wanted joints; None if there are too few, or it cannot be told which belong to drives
    """
    known = [name for name in wanted if name in names]
    missing = [name for name in wanted if name not in names]
    free = [name for name in dict.fromkeys(names) if name not in wanted]
    # names that differ in their numbers only belong together; a gripper does not
    families: dict[str, list[str]] = {}
    for name in free:
        families.setdefault(re.sub(r'\d+', '#', name), []).append(name)
    fitting = [family for family in families.values() if len(family) == len(missing)]
    if len(fitting) == 1:
        free = fitting[0]
    if len(free) != len(missing):
        return None
    numbers = [_number(name) for name in free]
    if len(set(numbers)) == len(free) and None not in numbers:
        free, missing = (sorted(part, key=lambda name: _number(name) or 0) for part in (free, missing))
    chosen = dict(zip(missing, free, strict=True)) | {name: name for name in known}
    return [chosen[name] for name in wanted]


def _number(name: str) -> int | None:
    found = re.findall(r'\d+', name)
    return int(found[-1] if len(found) == 1 else found[0]) if found else None


def value_checks(wiring: Wiring) -> None:
    """Look at the positions; velocities and efforts have checks of their own."""
    if wiring.joints.log is None or wiring.columns is None:
        return
    positions = wiring.published('positions')
    finite = np.isfinite(positions)
    bad = np.asarray(~finite.all(axis=0))
    still = np.array([len(np.unique(column[np.isfinite(column)])) == 1 for column in positions.T])
    noise = np.nanmedian(np.abs(np.diff(positions, n=2, axis=0)), axis=0) + 1e-12
    moves = np.nanmax(positions, axis=0) - np.nanmin(positions, axis=0) > 50.0 * noise
    dead = (~finite).all(axis=0).any()
    wiring.say(
        bad.any(), WRONG, 'position_missing',
        f'positions of {wiring.named_drives(bad)} are missing or not finite ({(~finite).any(axis=1).mean():.0%} of the'
        ' messages); such messages are rejected',
        'let the driver publish position for every joint (joint_state_broadcaster: interfaces: [position, velocity,'
        ' effort]), and nothing before its sensors are referenced',
    )  # fmt: skip
    frozen = wiring.say(
        not dead and still.any() and moves[~still].any(), WRONG, 'position_frozen',
        f'{wiring.named_drives(still)} always reads the same number while other drives move',
        'see the encoder\'s cable and the driver\'s entry for it: the value is not read anew (or this drive does stand'
        ' still, in a simulation without noise: then move all of them)',
    )  # fmt: skip
    wiring.poses_trusted = not frozen
    if dead:
        wiring.columns = None


def imu_checks(wiring: Wiring) -> None:
    """Look at the IMU's own numbers; sets ``specific_force`` and ``angular_rate`` in SI units."""
    log, say = wiring.seen.imu, wiring.say
    if log is None or not wiring.machine.has_imu:
        return
    _header(wiring)
    own, rows = wiring.machine.driver.imu, wiring.imu.rows
    force, rate = own.specific_force(log.specific_force)[rows], own.angular_rate(log.angular_rate)[rows]
    finite = np.isfinite(np.hstack([force, rate])).all(axis=1)
    few, lost = np.count_nonzero(finite) < 10, float((~finite).mean())
    say(not finite.all(), WRONG, 'imu_not_finite', f'{lost:.0%} of the IMU messages have values that are not finite',
        'publish nothing before the sensor has a sample', {'part': lost})  # fmt: skip
    say(few and finite.all(), CANNOT_TELL, 'imu', f'{len(force)} IMU messages are too few', 'a longer --duration')
    if few:
        return
    wiring.specific_force, wiring.angular_rate = force, rate
    for part, name in (('specific_force', 'acceleration'), ('angular_rate', 'angular velocity')):
        values = getattr(wiring, part)[finite]
        still = np.ptp(values, axis=0) == 0.0
        if not still.any() or (wiring.machine.planar and not still.all()):
            continue  # a simulated planar machine feels nothing across its plane
        axes = ', '.join(axis for axis, yes in zip('xyz', still, strict=True) if yes)
        what = name if still.all() else f'{axes} of the {name}'
        say(True, WRONG if still.all() else SUSPICIOUS, 'imu_frozen',
            f'{what} always {"reads the same number" if values[0, still].any() else "is zero"}',
            'see the IMU\'s cable and driver: no new samples are read (restart the sensor), or this part is not filled'
            ' in (or nothing moves it in a simulation without noise)')  # fmt: skip
        if still.all():
            setattr(wiring, part, None)
    if wiring.specific_force is not None:
        _acceleration_unit(wiring, force, force[finite])


def _acceleration_unit(wiring: Wiring, force: Array, good: Array) -> None:
    gravity, say = float(np.linalg.norm(wiring.machine.gravity)), wiring.say
    usual, mean = float(np.median(np.linalg.norm(good, axis=1))), float(np.linalg.norm(good.mean(axis=0)))
    fits = gravity == 0.0 or abs(usual / gravity - 1.0) < _GRAVITY
    unit = next((
        unit for unit, scale in ACCELERATION.items()
        if scale != 1.0 and not fits and mean > 0.9 * usual and abs(usual * scale / gravity - 1.0) < _UNIT_SLACK
    ), '')  # fmt: skip
    if unit:
        wiring.specific_force = force * ACCELERATION[unit]
    wiring.gravity_felt = bool(fits or unit)
    figures: dict[str, float | str] = {'median': usual, 'gravity': gravity}
    removed = not wiring.gravity_felt and mean < _REMOVED * gravity
    say(fits, OK, 'accelerometer_unit', f'specific force {usual:.4g} m/s^2 (gravity {gravity:.4g})')
    say(unit, WRONG, 'accelerometer_unit',
        f'specific force is {usual:.4g}, as if it were in {unit}; ROS wants m/s^2 ({gravity:.4g} at rest)', '', figures,
        {'imu.acceleration': unit})  # fmt: skip
    say(removed, WRONG, 'gravity_removed', f'the mean acceleration is {mean:.3g} m/s^2: gravity is taken off already',
        'publish the specific force as the accelerometer feels it, +g upwards at rest (REP 145), on '
        f'{wiring.seen.imu_topic}: the driver\'s raw output, not "linear" or "free" acceleration',
        {'mean': mean})  # fmt: skip
    say(not wiring.gravity_felt and not removed, WRONG, 'accelerometer_unit',
        f'specific force is {usual:.4g}, neither m/s^2 (gravity {gravity:.4g}) nor g, mg or mm/s^2',
        'find the unit of the driver\'s acceleration; ROS wants m/s^2', figures)  # fmt: skip


def _header(wiring: Wiring) -> None:
    machine, frames, say = wiring.machine, list(wiring.seen.frames), wiring.say
    frame, own = machine.imu.frame, frames[0] if frames else ''
    same = own.split('/')[-1] == frame.split('/')[-1]
    say(len(frames) > 1, WRONG, 'imu_frames',
        f'{wiring.seen.imu_topic} has messages of several frames: {", ".join(map(repr, frames))}; two sensors publish'
        ' on it?', 'give each IMU a topic of its own (-r imu/data_raw:=imu2/data_raw)')  # fmt: skip
    say(len(frames) == 1 and same, OK, 'imu_frame', f'IMU frame {own!r}')
    say(len(frames) == 1 and not same, SUSPICIOUS, 'imu_frame',
        f'the IMU\'s frame is {own or "empty"!r}, in the machine file it is {frame!r}',
        f'set the driver\'s parameter frame_id: {frame}, or sensors.imu.link: {own or frame} in {machine.path.name}; a'
        ' frame of another place needs its own sensors.imu.xyz and rpy')  # fmt: skip
    for name, covariance in wiring.seen.covariances.items():
        first, *others = covariance.reshape(3, 3).diagonal().tolist()
        bad = not np.isfinite(covariance).all() or min(others) < 0.0 or (first < 0.0 and first != -1.0)
        say(bad, SUSPICIOUS, 'imu_covariance', f'{name}_covariance has a diagonal of {[first, *others]}',
            'variances are not negative; all zero means unknown, -1 in the first entry that there is no such value')
        say(not bad and first == -1.0 and name != 'orientation', SUSPICIOUS, 'imu_covariance',
            f'{name}_covariance says (-1) that there is no {name.replace("_", " ")}',
            'set it to zeros if unknown; -1 belongs to orientation_covariance of an IMU without orientation')
