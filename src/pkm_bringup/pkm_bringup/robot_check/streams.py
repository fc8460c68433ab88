"""What the streams say by themselves: topics, QoS, names, values; the IMU's own numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import Finding

from pkm_bringup.robot_check.recorded import IMU_TYPE, JOINT_TYPE
from pkm_bringup.robot_check.report import DriverPatch, Wiring, cannot_tell, ok, suspicious, wrong

#: part of local gravity by which the median of the specific force may be off
_GRAVITY = 0.3
#: unit of a driver file -> m/s^2
_UNITS = {'g': 9.80665, 'mg': 9.80665e-3, 'mm/s2': 1e-3}
#: part by which the median may be off in another unit
_UNIT_SLACK = 0.12
#: part of gravity below which it is not in the signal
_REMOVED = 0.35


def topic_checks(wiring: Wiring) -> Iterator[Finding]:
    """Findings about both topics."""
    seen = wiring.seen
    for warning in seen.warnings:
        yield suspicious(
            'damaged_bag', f'the recording is not whole: {warning}', 'record again, or go on with what is left'
        )
    yield from _topic(wiring, seen.joint_topic, JOINT_TYPE, seen.joints is not None, 'joint')
    if wiring.machine.has_imu:
        yield from _topic(wiring, seen.imu_topic, IMU_TYPE, seen.imu is not None, 'imu')
    else:
        yield cannot_tell(
            'imu',
            f'the machine file of {wiring.machine.name} has no IMU; nothing of it is checked',
            'a section sensors.imu in the machine file (pkm_description: machine file schema)',
        )
    if len(seen.clock_publishers) > 1:
        yield wrong(
            'two_clocks',
            f'/clock has {len(seen.clock_publishers)} publishers: {", ".join(seen.clock_publishers)}',
            'let one of them go: publish_clock:=false for all simulators but one, clock_rate:=0 for players',
        )


def _topic(wiring: Wiring, topic: str, kind: str, heard: bool, which: str) -> Iterator[Finding]:
    seen = wiring.seen
    ends = seen.publishers.get(topic, ())
    types = sorted({end.topic_type for end in ends})
    if types and types != [kind]:
        others = [other for other in seen.topics_of(kind) if other != topic]
        yield wrong(
            f'{which}_topic_type',
            f'{topic} has type {" and ".join(types)}, expected {kind}',
            _rename(wiring, which, others) if others else f'publish {kind} on {topic}',
        )
    elif ends and not heard:
        node = f' ({ends[0].node})' if ends[0].node else ''
        yield wrong(
            f'{which}_silent',
            f'{topic} has a publisher{node}, but no message came',
            _why_silent(wiring, ends[0].reliability, topic),
        )
    elif not ends:
        others = seen.topics_of(kind)
        there = f'topics of type {kind}: {", ".join(others)}' if others else f'no topic of type {kind} is there at all'
        looked = ', which is looked at instead' if heard else ''
        yield wrong(
            f'{which}_topic_missing', f'nobody publishes {topic}; {there}{looked}', _rename(wiring, which, others)
        )
    if not ends or types != [kind]:
        return
    if len(ends) > 1:
        yield from _several(wiring, topic, which, len(ends), ', '.join(end.node for end in ends if end.node))
    if seen.reliability == 'reliable' and any(end.reliability == 'best_effort' for end in ends):
        yield wrong(
            f'{which}_qos',
            f'{topic} is published best effort; a reliable subscription gets nothing',
            'reliability:=best_effort for the nodes (the default), or let the driver publish reliable',
            offered='best_effort',
            requested='reliable',
        )
    elif heard:
        hint = '; leave reliability:=best_effort' if any(end.reliability == 'best_effort' for end in ends) else ''
        yield ok(f'{which}_topic', f'{topic} is there, type and QoS fit ({ends[0].reliability}{hint})')


def _several(wiring: Wiring, topic: str, which: str, count: int, nodes: str) -> Iterator[Finding]:
    who = f' ({nodes})' if nodes else ''
    if which == 'joint' and wiring.seen.joints is not None:
        others = wiring.seen.other_layouts
        wanted = set(wiring.seen.joints.names)
        if others and all(not wanted & set(layout) for layout in others):
            yield ok('joint_publishers', f'{topic} has {count} publishers{who} with different joints')
            return
    remedy = 'stop all but one, or give the others topics of their own (-r joint_states:=other, namespace:=...)'
    if wiring.seen.live:
        yield wrong(f'{which}_two_publishers', f'{topic} has {count} publishers{who}; their samples mix', remedy)
    else:  # a publisher that was started again counts twice in a bag
        yield suspicious(f'{which}_two_publishers', f'{topic} had {count} publishers when it was recorded', remedy)


def _rename(wiring: Wiring, which: str, others: list[str]) -> str:
    option = f'--{which}-topic'
    if not others:
        return 'start the driver (its broadcaster), in this ROS_DOMAIN_ID; list what is there: ros2 topic list -t'
    name = others[0]
    wiring.patch.add({f'{which}_topic': name})
    plural = ' (or another of them)' if len(others) > 1 else ''
    return (
        f'check again with {option} {name}{plural}; for the nodes {which}_topic:={name}, or in the driver file\n'
        + f'driver: {{machine: {wiring.machine.name}, {which}_topic: {name}}}'
    )


def _why_silent(wiring: Wiring, reliability: str, topic: str) -> str:
    if wiring.seen.reliability == 'reliable' and reliability == 'best_effort':
        return 'reliability:=best_effort: it is published best effort, which a reliable subscription does not get'
    return (
        'see whether the driver is active (ros2 lifecycle get, ros2 control list_controllers), and ros2 topic hz'
        f' {topic}'
    )


def name_checks(wiring: Wiring) -> Iterator[Finding]:
    """Findings about the names; sets ``columns`` where every drive has an entry, or a guess."""
    log = wiring.joints
    if log is None:
        return
    names, wanted = log.names, wiring.machine.actuated_joint_names
    if not names:
        yield wrong(
            'joint_names',
            'joint states have no names; entries cannot be told apart',
            'fill JointState.name in the driver, in the order of its numbers: ' + ', '.join(wanted),
        )
        wiring.columns = None
        return
    doubled = sorted({name for name in names if names.count(name) > 1})
    missing = [name for name in wanted if name not in names]
    if doubled and set(doubled) & set(wanted):
        yield wrong(
            'joint_names_doubled',
            f'{", ".join(doubled)} stands more than once in one joint state; such messages are rejected'
            + (f', and {", ".join(missing)} is missing' if missing else ''),
            'give every joint its own name in the driver' + (f' ({", ".join(missing)} is not used)' if missing else ''),
        )
        if missing:
            return
    if not missing:
        wiring.columns = [names.index(name) for name in wanted]
        ignored = {name for name in names for pattern in wiring.machine.driver.ignore if fnmatchcase(name, pattern)}
        others = [name for name in names if name not in {*wiring.machine.joint_names, *ignored}]
        note = f'; {", ".join(others)} is not of this machine and is ignored' if others else ''
        if not doubled:
            yield ok('joint_names', f'all {len(wanted)} drives are there by name{note}')
        return
    free = [name for name in names if name not in wanted and name not in wiring.machine.joint_names]
    guess = guessed_map(wanted, names)
    if guess is None:
        rest = f'; the others are {", ".join(free)}' if free else ''
        elsewhere = {name for layout in wiring.seen.other_layouts for name in layout} & set(missing)
        named = [{f'NAME_OF_{leg}': leg} for leg in wiring.machine.drive_labels]
        split = f' ({", ".join(sorted(elsewhere))} comes in messages of its own)' if elsewhere else ''
        yield wrong(
            'joint_names',
            f'no entry for {", ".join(missing)}{split}{rest}',
            'publish all drives in one message, e.g. by one joint_state_broadcaster; or name them in a driver file:\n'
            + DriverPatch(wiring.machine).add({'joints': named}),
        )
        return
    wiring.columns, wiring.named = [names.index(name) for name in guess], False
    wiring.numbered = None not in {_number(name) for name in guess}


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
        free = [name for _, name in sorted(zip(numbers, free, strict=True), key=lambda pair: pair[0] or 0)]
        missing = sorted(missing, key=lambda name: _number(name) or 0)
    chosen = dict(zip(missing, free, strict=True)) | {name: name for name in known}
    return [chosen[name] for name in wanted]


def _number(name: str) -> int | None:
    found = re.findall(r'\d+', name)
    return int(found[-1] if len(found) == 1 else found[0]) if found else None


def value_checks(wiring: Wiring) -> Iterator[Finding]:
    """Findings about the positions; velocities and efforts have checks of their own."""
    log = wiring.joints
    if log is None or wiring.columns is None:
        return
    positions = wiring.published('positions')
    finite = np.isfinite(positions)
    if not finite.all():
        bad = np.asarray(~finite.all(axis=0))
        how = f'{(~finite).any(axis=1).mean():.0%} of the messages'
        yield wrong(
            'position_missing',
            f'positions of {wiring.named_drives(bad)} are missing or not finite ({how}); such messages are rejected',
            'let the driver publish position for every joint (joint_state_broadcaster: interfaces: [position, '
            'velocity, effort]), and nothing before its sensors are referenced',
        )
        if (~finite).all(axis=0).any():
            wiring.columns = None
            return
    still = np.array([len(np.unique(column[np.isfinite(column)])) == 1 for column in positions.T])
    if 0 < np.count_nonzero(still) < len(still) and _moves(positions[:, ~still]):
        yield wrong(
            'position_frozen',
            f'{wiring.named_drives(still)} always reads the same number while other drives move',
            'see the encoder\'s cable and the driver\'s entry for it: the value is not read anew (or this drive does'
            ' stand still, in a simulation without noise: then move all of them)',
        )
        wiring.poses_trusted = False


def _moves(positions: np.ndarray) -> bool:
    """Whether one of the drives moves by much more than its samples scatter."""
    noise = np.nanmedian(np.abs(np.diff(positions, n=2, axis=0)), axis=0) + 1e-12
    return bool((np.nanmax(positions, axis=0) - np.nanmin(positions, axis=0) > 50.0 * noise).any())


def imu_checks(wiring: Wiring) -> Iterator[Finding]:
    """Findings about the IMU's own numbers; sets ``specific_force`` and ``angular_rate`` in SI units."""
    log, axis = wiring.imu, wiring.times.imu
    if log is None or axis is None or not wiring.machine.has_imu:
        return
    yield from _header(wiring)
    force, rate = log.specific_force[axis.rows], log.angular_rate[axis.rows]
    finite = np.isfinite(force).all(axis=1) & np.isfinite(rate).all(axis=1)
    if not finite.all():
        yield wrong(
            'imu_not_finite',
            f'{(~finite).mean():.0%} of the IMU messages have values that are not finite',
            'publish nothing before the sensor has a sample',
            part=float((~finite).mean()),
        )
        if np.count_nonzero(finite) < 10:
            return
    wiring.specific_force, wiring.angular_rate = force, rate
    force, rate = force[finite], rate[finite]
    if len(force) < 10:
        yield cannot_tell('imu', f'{len(force)} IMU messages are too few', 'a longer --duration')
        return
    for part, name, values in (('specific_force', 'acceleration', force), ('angular_rate', 'angular velocity', rate)):
        still = np.ptp(values, axis=0) == 0.0
        if not still.any() or (wiring.machine.planar and not still.all()):
            continue  # a simulated planar machine feels nothing across its plane
        axes = ', '.join(axis for axis, yes in zip('xyz', still, strict=True) if yes)
        what = name if still.all() else f'{axes} of the {name}'
        yield (wrong if still.all() else suspicious)(
            'imu_frozen',
            f'{what} always {"reads the same number" if values[0, still].any() else "is zero"}',
            'see the IMU\'s cable and driver: no new samples are read (restart the sensor), or this part is not'
            ' filled in (or nothing moves it in a simulation without noise)',
        )
        if still.all():
            setattr(wiring, part, None)
    if wiring.specific_force is None:
        return
    yield from _acceleration_unit(wiring, force)


def _acceleration_unit(wiring: Wiring, force: Array) -> Iterator[Finding]:
    gravity = float(np.linalg.norm(wiring.machine.gravity))
    size = np.linalg.norm(force, axis=1)
    usual, mean = float(np.median(size)), float(np.linalg.norm(force.mean(axis=0)))
    if gravity == 0.0 or abs(usual / gravity - 1.0) < _GRAVITY:
        yield ok('accelerometer_unit', f'specific force {usual:.4g} m/s^2 (gravity {gravity:.4g})')
        return
    for unit, scale in _UNITS.items():
        steady = mean > 0.9 * usual
        if abs(usual * scale / gravity - 1.0) < _UNIT_SLACK and steady:
            assert wiring.specific_force is not None
            wiring.specific_force = wiring.specific_force * scale
            yield wrong(
                'accelerometer_unit',
                f'specific force is {usual:.4g}, as if it were in {unit}; ROS wants m/s^2 ({gravity:.4g} at rest)',
                'in the driver file\n' + wiring.patch.add({'imu.acceleration': unit}),
                median=usual,
                gravity=gravity,
            )
            return
    wiring.gravity_felt = False
    if mean < _REMOVED * gravity:
        yield wrong(
            'gravity_removed',
            f'the mean acceleration is {mean:.3g} m/s^2: gravity is taken off already',
            'publish the specific force as the accelerometer feels it, +g upwards at rest (REP 145), on '
            f'{wiring.seen.imu_topic}: the driver\'s raw output, not "linear" or "free" acceleration',
            mean=mean,
        )
        return
    yield wrong(
        'accelerometer_unit',
        f'specific force is {usual:.4g}, neither m/s^2 (gravity {gravity:.4g}) nor g, mg or mm/s^2',
        'find the unit of the driver\'s acceleration; ROS wants m/s^2',
        median=usual,
        gravity=gravity,
    )


def _header(wiring: Wiring) -> Iterator[Finding]:
    frame, machine = wiring.machine.imu.frame, wiring.machine
    if len(wiring.seen.frames) > 1:
        yield wrong(
            'imu_frames',
            f'{wiring.seen.imu_topic} has messages of several frames: {", ".join(map(repr, wiring.seen.frames))}; '
            'two sensors publish on it?',
            'give each IMU a topic of its own (-r imu/data_raw:=imu2/data_raw)',
        )
    elif wiring.seen.frames:
        (own,) = wiring.seen.frames
        if own.split('/')[-1] == frame.split('/')[-1]:
            yield ok('imu_frame', f'IMU frame {own!r}')
        else:
            yield suspicious(
                'imu_frame',
                f'the IMU\'s frame is {own or "empty"!r}, in the machine file it is {frame!r}',
                f'set the driver\'s parameter frame_id: {frame}, or sensors.imu.link: {own or frame} in'
                f' {machine.path.name}; a frame of another place needs its own sensors.imu.xyz and rpy',
            )
    for name, covariance in wiring.seen.covariances.items():
        diagonal = covariance.reshape(3, 3).diagonal()
        if (
            not np.isfinite(covariance).all()
            or (diagonal < 0.0)[1:].any()
            or (diagonal[0] < 0.0 and diagonal[0] != -1.0)
        ):
            yield suspicious(
                'imu_covariance',
                f'{name}_covariance has a diagonal of {diagonal.tolist()}',
                'variances are not negative; all zero means unknown, -1 in the first entry that there is no such value',
            )
        elif diagonal[0] == -1.0 and name != 'orientation':
            yield suspicious(
                'imu_covariance',
                f'{name}_covariance says (-1) that there is no {name.replace("_", " ")}',
                'set it to zeros if unknown; -1 belongs to orientation_covariance of an IMU without orientation',
            )
