"""Topics: are they there, of the right type, from one publisher, with a QoS that fits."""

from __future__ import annotations

from collections.abc import Iterator

from pkm_description.errors import Finding

from pkm_bringup.robot_check.bag_source import IMU_TYPE, JOINT_TYPE
from pkm_bringup.robot_check.findings import cannot_tell, ok, suspicious, wrong
from pkm_bringup.robot_check.wiring import Wiring


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
        yield wrong(
            f'{which}_silent',
            f'{topic} has a publisher{_of(ends[0].node)}, but no message came',
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
        others = wiring.seen.joints.other_layouts
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
    wiring.patch.add(f'{which}_topic', name)
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


def _of(node: str) -> str:
    return f' ({node})' if node else ''
