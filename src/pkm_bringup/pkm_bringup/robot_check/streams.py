"""What the streams say by themselves: topics, QoS, names, values; the IMU's own numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

import numpy as np
from pkm_description.arrays import Array
from pkm_description.driver.driver import ACCELERATION

from pkm_bringup.robot_check.recorded import IMU_TYPE, JOINT_TYPE, Flags, driver_topics
from pkm_bringup.robot_check.wiring import CANNOT_TELL, OK, SUSPICIOUS, WRONG, Wiring, driver_file, put

#: part of local gravity by which the median of the specific force may be off
_GRAVITY = 0.3
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
    others = [other for other in driver_topics(seen.publishers, kind) if other != topic]
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
        wiring.numbered = all(map(_numbers, guess))
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
    missing = [name for name in wanted if name not in names]
    free = [name for name in dict.fromkeys(names) if name not in wanted]
    # names that differ in their numbers only belong together; a gripper does not
    alike = [[name for name in free if re.sub(r'\d+', '#', name) == form]
             for form in {re.sub(r'\d+', '#', name): None for name in free}]  # fmt: skip
    fitting = [family for family in alike if len(family) == len(missing)]
    free = fitting[0] if len(fitting) == 1 else free
    if len(free) != len(missing):
        return None
    if all(map(_numbers, free)):
        missing, free = sorted(missing, key=_numbers), sorted(free, key=_numbers)
    chosen = dict(zip(missing, free, strict=True))
    return [chosen.get(name, name) for name in wanted]


def _numbers(name: str) -> list[int]:
    return [int(number) for number in re.findall(r'\d+', name)]


def value_checks(wiring: Wiring) -> None:
    """Look for numbers that are missing, or never change; sets ``judged``, the quantities that can be judged."""
    if wiring.joints.log is None or wiring.columns is None:
        return
    positions = wiring.published('positions')
    noise = np.nanmedian(np.abs(np.diff(positions, n=2, axis=0)), axis=0) + 1e-12
    moves = np.nanmax(positions, axis=0) - np.nanmin(positions, axis=0) > 50.0 * noise
    interfaces = 'joint_state_broadcaster: interfaces: [position, velocity, effort]'
    for quantity, code, state, remedy in (
        ('positions', 'position', WRONG, f'let the driver publish position for every joint ({interfaces}), and nothing'
         ' before its sensors are referenced; a number that stands is an encoder\'s cable, or a value that is not read'
         ' anew (or this drive does stand still, in a simulation without noise: then move all of them)'),
        ('velocities', 'velocity', SUSPICIOUS, f'let the driver fill in velocity ({interfaces}), or leave the field'
         ' empty, not zero; estimator and identification do without, the leg controller takes it'),
        ('efforts', 'effort', WRONG, f'{interfaces}, and an effort (or current) state interface in the hardware;'
         ' identification needs it, the estimator does without'),
    ):  # fmt: skip
        values, name = wiring.published(quantity), wiring.named_drives
        lost, still = ~np.isfinite(values), _never_changes(values)
        any_lost: Flags = np.asarray(lost.any(axis=0))
        zero = still & (values == 0.0).any(axis=0)
        counts = {'position': moves[~still].any(), 'velocity': zero & moves, 'effort': True}[code]
        frozen: Flags = np.asarray(still & counts)
        number = 'zero' if code != 'position' and (zero | ~frozen).all() else 'frozen'
        missing = wiring.say(
            lost.any(), state, f'{code}_missing', f'{quantity} of {name(any_lost)} are missing or not finite'
            f' ({lost.any(axis=1).mean():.0%} of the messages)', remedy,
        )  # fmt: skip
        stands = wiring.say(frozen.any(), WRONG, f'{code}_{number}',
                            f'{quantity} of {name(frozen)} always read the same number', remedy)  # fmt: skip
        if not stands and (code == 'position' or not missing):
            wiring.judged.add(quantity)
    if np.isnan(positions).all(axis=0).any():
        wiring.columns = None


def _never_changes(values: Array) -> Flags:
    """Which columns of (N, C) always hold the same finite number."""
    return np.array([len(column) > 20 and len(np.unique(column[np.isfinite(column)])) == 1 for column in values.T])


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
        still = _never_changes(getattr(wiring, part))
        axes = ', '.join(axis for axis, yes in zip('xyz', still, strict=True) if yes)
        # a simulated planar machine feels nothing across its plane
        say(still.all() or (still.any() and not wiring.machine.planar), WRONG if still.all() else SUSPICIOUS,
            'imu_frozen', f'{name if still.all() else f"{axes} of the {name}"} always reads the same number',
            'see the IMU\'s cable and driver: no new samples are read (restart the sensor), or this part is not filled'
            ' in (or nothing moves it in a simulation without noise)')  # fmt: skip
        if still.all():
            setattr(wiring, part, None)
    if wiring.specific_force is not None:
        _acceleration_unit(wiring, force[finite])


def _acceleration_unit(wiring: Wiring, force: Array) -> None:
    """Unit of the specific force (N, 3), by the weight that it shows, if that is in it."""
    gravity, say = float(np.linalg.norm(wiring.machine.gravity)), wiring.say
    usual, mean = float(np.median(np.linalg.norm(force, axis=1))), float(np.linalg.norm(force.mean(axis=0)))
    off = {name: abs(usual * scale / gravity - 1.0) if gravity else 0.0 for name, scale in ACCELERATION.items()}
    unit = min(off, key=off.__getitem__)
    scale = ACCELERATION[unit]
    # what shakes without gravity may be as large as one g
    wiring.gravity_felt = off[unit] < _GRAVITY and (scale == 1.0 or mean > 0.9 * usual)
    if wiring.gravity_felt and wiring.specific_force is not None:
        wiring.specific_force = wiring.specific_force * scale
    removed, told = mean < _REMOVED * gravity, f'specific force is {usual:.4g}'
    figures: dict[str, float | str] = {'median': usual, 'mean': mean, 'gravity': gravity}
    say(wiring.gravity_felt and scale == 1.0, OK, 'accelerometer_unit', f'{told} m/s^2 (gravity {gravity:.4g})')
    say(wiring.gravity_felt and scale != 1.0, WRONG, 'accelerometer_unit',
        f'{told}, as if it were in {unit}; ROS wants m/s^2 ({gravity:.4g} at rest)', '', figures,
        {'imu.acceleration': unit})  # fmt: skip
    say(not wiring.gravity_felt and removed, WRONG, 'gravity_removed',
        f'the mean acceleration is {mean:.3g} m/s^2: gravity is taken off already',
        'publish the specific force as the accelerometer feels it, +g upwards at rest (REP 145), on '
        f'{wiring.seen.imu_topic}: the driver\'s raw output, not "linear" or "free" acceleration', figures)  # fmt: skip
    say(not wiring.gravity_felt and not removed, WRONG, 'accelerometer_unit',
        f'{told}, neither m/s^2 (gravity {gravity:.4g}) nor g, mg or mm/s^2',
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
