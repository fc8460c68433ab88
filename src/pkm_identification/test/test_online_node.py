"""The node ``online_identification`` as a process: a load is named, live as from a file, bit by bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml

pytest.importorskip('rclpy')

import rclpy
from geometry_msgs.msg import InertiaStamped
from loaded import loaded_signals
from node_processes import ros_domain, wait_for
from pkm_description.loading import load_machine
from pkm_description.machine import Machine
from pkm_description.motion.profiles import profile
from pkm_description.ros.conversions import stamp
from pkm_description.ros.qos import LATCHED_QOS, LOSSLESS_QOS
from pkm_identification.online.stream import OnlineStream
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger
from warm_programs import WarmNode


def test_a_load_is_named_live_as_from_a_file(srs: Machine, tmp_path: Path) -> None:
    motion = profile('mp1', srs, 17.0, 100.0)
    mass = 0.1 * srs.platform.mass
    positions, forces = loaded_signals(srs, motion, 13.0, mass, np.array([0.1, -0.06, 0.15]))
    names, offline = list(srs.actuated_joint_names), OnlineStream(srs)
    stamps = [10**9 + round(time * 1e9) for time in motion.time]
    for time, position, force in zip(stamps, positions, forces, strict=True):
        offline.add(time, names, position.tolist(), force.tolist())
    arguments = ['--ros-args', '-p', 'machine:=srs', '-p', 'reliability:=reliable']
    arguments += ['-p', f'output_directory:={tmp_path}']
    with ros_domain():
        node = rclpy.create_node('online_tester')
        publisher = node.create_publisher(JointState, 'joint_states', LOSSLESS_QOS)
        payloads: list[InertiaStamped] = []
        node.create_subscription(InertiaStamped, 'online_identification/payload', payloads.append, LATCHED_QOS)
        save = node.create_client(Trigger, 'online_identification/save')
        reset = node.create_client(Trigger, 'online_identification/reset')
        freeze = node.create_client(SetBool, 'online_identification/freeze')
        with WarmNode('pkm_identification', 'online_identification', arguments) as process:
            wait_for(lambda: publisher.get_subscription_count() > 0, 'the subscription', 60.0, node)
            for service in (save, reset, freeze):
                wait_for(service.service_is_ready, 'the services', 30.0, node)
            process.wait_for_output('listening to joint_states')
            for time, position, force in zip(stamps, positions, forces, strict=True):
                message = JointState(name=names, position=position.tolist(), effort=force.tolist())
                message.header.stamp = stamp(time)
                publisher.publish(message)
            process.wait_for_output('the load on the platform has changed')
            wait_for(lambda: len(payloads) > 0, 'the payload', 30.0, node)

            def saved() -> bool:
                """Whether the file has all samples: messages may still be on their way."""
                future = save.call_async(Trigger.Request())
                wait_for(future.done, 'the answer', 30.0, node)
                content = yaml.safe_load((tmp_path / 'online_parameters.yaml').read_text())
                return content['samples'] == offline.identifier.samples

            wait_for(saved, 'all samples', 60.0, node)
            assert (tmp_path / 'online_overlay.yaml').exists()
            for service, request, parts in (
                (freeze, SetBool.Request(data=True), 'parameters are held'),
                (reset, Trigger.Request(), 'starts anew'),
            ):
                answer = service.call_async(request)
                wait_for(answer.done, 'the answer', 30.0, node)
                assert answer.result().success and parts in answer.result().message
            final = yaml.safe_load((tmp_path / 'online_parameters.yaml').read_text())
            answer = save.call_async(Trigger.Request())
            wait_for(answer.done, 'the answer', 30.0, node)
            assert 'no overlay: nothing is learned yet' in answer.result().message
            assert yaml.safe_load((tmp_path / 'online_parameters.yaml').read_text())['samples'] == 0
            assert process.stop() == 0
        node.destroy_node()
    assert abs(payloads[-1].inertia.m - mass) < 0.05 * mass
    assert payloads[-1].header.frame_id == 'platform_link'
    assert load_machine('srs', tmp_path / 'online_overlay.yaml').platform.mass > 0.9 * srs.platform.mass
    assert final == yaml.safe_load(yaml.safe_dump(offline.content()))
