"""Who sets the time: one program does, the others follow, and two are told."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rclpy')

from diagnostic_msgs.msg import DiagnosticArray
from node_processes import ros_domain, wait_for
from pkm_description.ros.conversions import nanoseconds, stamp
from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from warm_programs import WarmNode

STEP = 10_000_000
#: as they are told once both names are known; a publisher may be known before the name of its node is
OWNERS = '/owner_of_the_clock, /right/simulator'


def start(namespace: str, **parameters: object) -> WarmNode:
    """Simulator in a namespace."""
    arguments = ['--ros-args', '-r', f'__ns:=/{namespace}']
    for name, value in {'machine': 'palida', 'use_sim_time': True, **parameters}.items():
        arguments += ['-p', f'{name}:={value}']
    return WarmNode('pkm_bringup', 'simulator', arguments)


def test_a_simulator_follows_the_clock_and_two_clocks_are_told() -> None:
    with ros_domain():
        node = Node('owner_of_the_clock')
        clock = node.create_publisher(Clock, '/clock', 10)
        stamps: list[int] = []
        node.create_subscription(
            JointState, '/left/joint_states', lambda one: stamps.append(nanoseconds(one.header.stamp)), 1000
        )
        told: dict[str, str] = {}
        node.create_subscription(
            DiagnosticArray, '/diagnostics', lambda one: told.update({s.name: s.message for s in one.status}), 100
        )
        time = 10**15

        def tick(until: int) -> bool:
            nonlocal time
            time += STEP
            clock.publish(Clock(clock=stamp(time)))
            return len(stamps) >= until

        with start('left', publish_clock=False, frame_prefix='left/') as left:
            wait_for(lambda: tick(50), 'joint states in the time of the clock', spin=node)
            # on the grid of a simulator that began at zero, beginning not before the clock and not beyond it
            assert stamps[0] > 10**15
            assert set(np.diff(stamps)) == {5_000_000}
            assert not np.any(np.array(stamps) % 5_000_000)
            assert stamps[-1] <= time
            # the owner is started again: the simulator goes on in the new time
            before, time = len(stamps), 10**12
            wait_for(lambda: tick(before + 50) and stamps[-1] < 10**13, 'joint states in the new time', spin=node)
            assert left.output.count('of the clock that it follows') == 2, left.output
            assert '/left/simulator: clock' not in told
            with start('right', publish_clock=True) as right:
                for name in ('/left/simulator: clock', '/right/simulator: clock'):
                    wait_for(lambda name=name: tick(0) and OWNERS in told.get(name, ''), name, spin=node)
                    assert 'publish_clock:=false' in told[name]
                assert right.stop() == 0
            wait_for(lambda: tick(0) and told['/left/simulator: clock'] == 'one clock', 'one clock again', spin=node)
            assert left.stop() == 0
            assert left.output.count('publish_clock:=false') == 1  # once, however long it lasts
        node.destroy_node()
