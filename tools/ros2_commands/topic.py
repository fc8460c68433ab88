"""``topic list|echo|hz|info|type|pub``."""

from __future__ import annotations

import argparse
import itertools
import statistics
import time
from typing import Any

import rclpy
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy, qos_profile_sensor_data

from ros2_commands.errors import CommandError
from ros2_commands.graph import Graph
from ros2_commands.message_text import Style, csv_line, filled, sub_field, type_class, yaml_text


def list_(graph: Graph, options: argparse.Namespace) -> None:
    """Print names."""
    graph.settle()
    print_names(graph.topics(options.hidden), options)


def print_names(found: dict[str, list[str]], options: argparse.Namespace) -> None:
    """Names, with types if they are asked for, or only how many there are."""
    if options.count:
        print(len(found))
        return
    for name, types in found.items():
        print(f'{name} [{", ".join(types)}]' if options.show_types else name)


def type_(graph: Graph, options: argparse.Namespace) -> None:
    """Print the type."""
    print(graph.topic_type(graph.absolute(options.topic)))


def info_(graph: Graph, options: argparse.Namespace) -> None:
    """Print type and counts."""
    topic = graph.absolute(options.topic)
    kind = graph.topic_type(topic)
    graph.settle()
    end = '\n\n' if options.verbose else '\n'
    print(f'Type: {kind}', end=end)
    for noun, ends in (
        ('Publisher', graph.node.get_publishers_info_by_topic(topic)),
        ('Subscription', graph.node.get_subscriptions_info_by_topic(topic)),
    ):
        print(f'{noun} count: {len(ends)}', end=end)
        for one in ends if options.verbose else ():
            print(one, end=end)


def echo_(graph: Graph, options: argparse.Namespace) -> int:
    """Print messages as they come."""
    topic = graph.absolute(options.topic)
    kind = type_class(options.type or graph.topic_type(topic), 'msg')
    style = Style(None if options.full_length else options.truncate_length, not options.no_arr, not options.no_str)
    done: rclpy.task.Future[bool] = rclpy.task.Future()

    def show(message: Any) -> None:
        if done.done():
            return
        try:
            value = sub_field(message, options.field) if options.field else message
        except CommandError as error:
            done.set_exception(error)
            return
        if options.csv:
            print(csv_line(value, style), flush=True)
        else:
            print(f'{yaml_text(value, style, options.flow_style)}---', flush=True)
        if options.once:
            done.set_result(True)

    graph.node.create_subscription(kind, topic, show, _qos_of(graph, topic, options))
    rclpy.spin_until_future_complete(graph.node, done, timeout_sec=options.timeout)
    if done.done():
        done.result()
    return 0 if done.done() or not options.once else 1


def _qos_of(graph: Graph, topic: str, options: argparse.Namespace) -> QoSProfile:
    """QoS that connects to all publishers of a topic, as far as the options leave it open."""
    offered = [one.qos_profile for one in graph.node.get_publishers_info_by_topic(topic)]
    reliable = bool(offered) and all(one.reliability == ReliabilityPolicy.RELIABLE for one in offered)
    latched = bool(offered) and all(one.durability == DurabilityPolicy.TRANSIENT_LOCAL for one in offered)
    chosen = options.qos_reliability or ('reliable' if reliable else 'best_effort')
    durability = options.qos_durability or ('transient_local' if latched else 'volatile')
    return QoSProfile(
        depth=options.qos_depth,
        reliability=ReliabilityPolicy[chosen.upper()],
        durability=DurabilityPolicy[durability.upper()],
    )


def hz_(graph: Graph, options: argparse.Namespace) -> None:
    """Print the rate once per second."""
    topic = graph.absolute(options.topic)
    kind = type_class(graph.topic_type(topic), 'msg')
    arrivals: list[float] = []
    graph.node.create_subscription(
        kind, topic, lambda message: arrivals.append(time.monotonic()), qos_profile_sensor_data, raw=True
    )
    shown = 0.0
    due = time.monotonic() + 1.0
    while True:
        rclpy.spin_once(graph.node, timeout_sec=max(due - time.monotonic(), 0.0))
        if time.monotonic() < due:
            continue
        due += 1.0
        del arrivals[: -options.window - 1]
        if len(arrivals) > 1 and arrivals[-1] != shown:
            shown = arrivals[-1]
            print(_rate(arrivals), flush=True)


def _rate(arrivals: list[float]) -> str:
    periods = [after - before for before, after in itertools.pairwise(arrivals)]
    mean = statistics.fmean(periods)
    return (
        f'average rate: {1.0 / mean:.3f}\n\tmin: {min(periods):.3f}s max: {max(periods):.3f}s '
        f'std dev: {statistics.pstdev(periods):.5f}s window: {len(periods) + 1}'
    )


def pub_(graph: Graph, options: argparse.Namespace) -> None:
    """Publish at a rate."""
    if not options.rate > 0.0:
        raise CommandError('rate must be greater than zero')
    kind = type_class(options.type, 'msg')
    message, stamps = filled(kind, options.values)
    topic = graph.absolute(options.topic)
    graph.wait(lambda: topic in graph.topics(True), 1.0)
    _check_type(graph, topic, options.type)
    qos = QoSProfile(
        depth=options.qos_depth,
        reliability=ReliabilityPolicy[(options.qos_reliability or 'reliable').upper()],
        durability=DurabilityPolicy[(options.qos_durability or 'volatile').upper()],
    )
    publisher = graph.node.create_publisher(kind, topic, qos)
    times = 1 if options.once else options.times
    wanted = options.wait if options.wait is not None else int(times > 0)
    if publisher.get_subscription_count() < wanted:
        print(f'Waiting for at least {wanted} matching subscription(s)...', flush=True)
    while not graph.wait(lambda: publisher.get_subscription_count() >= wanted, 1.0):
        _check_type(graph, topic, options.type)
    print('publisher: beginning loop', flush=True)
    number, due = 0, time.monotonic()
    while not times or number < times:
        number += 1
        now = graph.node.get_clock().now().to_msg()
        for stamp in stamps:
            stamp.sec, stamp.nanosec = now.sec, now.nanosec
        publisher.publish(message)
        if options.print_nth and number % options.print_nth == 0:
            print(f'publishing #{number}: {message!r}\n', flush=True)
        due += 1.0 / options.rate
        if number != times:
            time.sleep(max(due - time.monotonic(), 0.0))
    # the message is on its way only once the subscribers have acknowledged it
    if options.qos_reliability != 'best_effort':
        publisher.wait_for_all_acked(rclpy.duration.Duration(seconds=1.0))


def _check_type(graph: Graph, topic: str, wanted: str) -> None:
    """Refuse to publish what nobody on the topic can read."""
    for name in graph.topics(True).get(topic, ()):
        if type_class(name, 'msg') is not type_class(wanted, 'msg'):
            raise CommandError(f"topic '{topic}' has the type {name}, not {wanted}")
