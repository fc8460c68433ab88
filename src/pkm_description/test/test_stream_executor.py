"""The executor of nodes that take samples at a kilohertz."""

from __future__ import annotations

import threading
import time

import pytest

rclpy = pytest.importorskip('rclpy')

from node_processes import PATIENCE, ros_domain  # noqa: E402
from pkm_description.ros.node_main import StreamExecutor  # noqa: E402
from pkm_description.ros.qos import LOSSLESS_QOS  # noqa: E402
from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from rclpy.node import Node  # noqa: E402
from rclpy.serialization import deserialize_message  # noqa: E402
from std_msgs.msg import Float64, Int64  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402


@pytest.fixture
def nodes():
    """A node to be spun, and one that speaks to it from threads of its own."""
    with ros_domain():
        listener, speaker = rclpy.create_node('listener'), rclpy.create_node('speaker')
        yield listener, speaker
        listener.destroy_node()
        speaker.destroy_node()


def spin(node):
    """Spin until a callback raises SystemExit; a test that hangs is ended by its timer."""
    executor = StreamExecutor()
    executor.add_node(node)
    started = time.monotonic()

    def give_up():
        if time.monotonic() - started > PATIENCE:
            pytest.fail(f'not done within {PATIENCE} s')

    node.create_timer(1.0, give_up)
    with pytest.raises(SystemExit):
        executor.spin()


def in_background(work):
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def wait_for(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert condition()


def test_two_topics_arrive_whole_and_in_order(nodes):
    listener, speaker = nodes
    heard = {'numbers': [], 'values': []}

    def take(topic, message):
        heard[topic].append(message.data)
        if sum(map(len, heard.values())) == 2000:
            raise SystemExit

    def take_raw(data):
        take('values', deserialize_message(data, Float64))

    listener.create_subscription(Int64, 'numbers', lambda message: take('numbers', message), LOSSLESS_QOS)
    listener.create_subscription(Float64, 'values', take_raw, LOSSLESS_QOS, raw=True)
    numbers = speaker.create_publisher(Int64, 'numbers', LOSSLESS_QOS)
    values = speaker.create_publisher(Float64, 'values', LOSSLESS_QOS)

    def speak():
        wait_for(lambda: numbers.get_subscription_count() and values.get_subscription_count())
        for k in range(1000):
            numbers.publish(Int64(data=k))
            values.publish(Float64(data=0.5 * k))

    speaking = in_background(speak)
    spin(listener)
    speaking.join()
    assert heard['numbers'] == list(range(1000))
    assert heard['values'] == [0.5 * k for k in range(1000)]


def test_timers_and_services_have_their_turn_in_a_stream_without_pause(nodes):
    listener, speaker = nodes
    numbers = speaker.create_publisher(Int64, 'numbers', LOSSLESS_QOS)
    counts = {'numbers': 0, 'timer': 0, 'answers': 0}
    deadline = time.monotonic() + PATIENCE

    def count(what):
        counts[what] += 1

    def answer(request, response):
        count('answers')
        return response

    def take(message):
        count('numbers')
        numbers.publish(Int64())  # for ever: the next one waits already when this one has been taken
        if counts['timer'] >= 5 and counts['answers'] == 3 and counts['numbers'] > 100:
            raise SystemExit
        assert time.monotonic() < deadline, counts

    listener.create_subscription(Int64, 'numbers', take, LOSSLESS_QOS)
    listener.create_timer(0.01, lambda: count('timer'))
    listener.create_service(Trigger, 'ask', answer)
    client = speaker.create_client(Trigger, 'ask')

    def speak():
        wait_for(lambda: numbers.get_subscription_count() and client.service_is_ready())
        for _ in range(3):
            numbers.publish(Int64())
            client.call_async(Trigger.Request())

    speaking = in_background(speak)
    spin(listener)
    speaking.join()


def test_an_answer_is_taken_beside_streams_without_pause(nodes):
    listener, speaker = nodes
    for topic in ('numbers', 'more_numbers'):
        publisher = listener.create_publisher(Int64, topic, LOSSLESS_QOS)
        listener.create_subscription(Int64, topic, publisher.publish, LOSSLESS_QOS)  # for ever
        wait_for(publisher.get_subscription_count)
        publisher.publish(Int64())
    speaker.create_service(Trigger, 'ask', lambda request, response: response)
    client = listener.create_client(Trigger, 'ask')
    answering = SingleThreadedExecutor()
    answering.add_node(speaker)
    in_background(answering.spin)
    wait_for(client.service_is_ready)
    executor = StreamExecutor()
    executor.add_node(listener)
    answer, deadline = client.call_async(Trigger.Request()), time.monotonic() + PATIENCE
    while not answer.done():
        assert time.monotonic() < deadline
        executor.serve(0.05)
    answering.shutdown()


def test_subscriptions_may_come_and_go(nodes):
    listener, speaker = nodes
    first = speaker.create_publisher(Int64, 'first', LOSSLESS_QOS)
    second = speaker.create_publisher(Int64, 'second', LOSSLESS_QOS)
    heard = []

    def take_first(message):
        heard.append(message.data)
        listener.destroy_subscription(subscription)
        listener.create_subscription(Int64, 'second', take_second, LOSSLESS_QOS)

    def take_second(message):
        heard.append(message.data)
        raise SystemExit

    subscription = listener.create_subscription(Int64, 'first', take_first, LOSSLESS_QOS)

    def speak():
        wait_for(first.get_subscription_count)
        first.publish(Int64(data=1))
        wait_for(second.get_subscription_count)
        second.publish(Int64(data=2))

    speaking = in_background(speak)
    spin(listener)
    speaking.join()
    assert heard == [1, 2]


class Worker(Node):
    """Queues what it hears, and works it off piece by piece."""

    is_worked_off = False

    def __init__(self):
        super().__init__('worker')
        self.waiting, self.done, self.most = [], [], 0

    def take(self, message):
        self.waiting.append(message.data)

    def work_off(self):
        self.most = max(self.most, len(self.waiting))
        self.done += self.waiting[:1]
        del self.waiting[:1]
        if len(self.done) == 500:
            raise SystemExit
        return bool(self.waiting)


def test_a_node_that_works_off_its_queue_gets_all_that_waits_before_each_piece_of_work(nodes):
    _, speaker = nodes
    worker = Worker()
    worker.create_subscription(Int64, 'numbers', worker.take, LOSSLESS_QOS)
    numbers = speaker.create_publisher(Int64, 'numbers', LOSSLESS_QOS)
    wait_for(lambda: numbers.get_subscription_count() > 0)
    for k in range(500):
        numbers.publish(Int64(data=k))
    spin(worker)
    assert worker.is_worked_off
    assert worker.done == list(range(500))
    assert worker.most > 1
    worker.destroy_node()


def test_a_shutdown_ends_it(nodes):
    listener, speaker = nodes
    executor = StreamExecutor()
    executor.add_node(listener)
    listener.create_subscription(Int64, 'numbers', lambda message: rclpy.shutdown(), LOSSLESS_QOS)
    numbers = speaker.create_publisher(Int64, 'numbers', LOSSLESS_QOS)

    def speak():
        wait_for(numbers.get_subscription_count)
        numbers.publish(Int64())

    speaking = in_background(speak)
    executor.spin()
    speaking.join()
    assert not rclpy.ok()
