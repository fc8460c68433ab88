"""What a servo tells and takes over topics and services: references, trip, stop, reset, diagnosis."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pkm_description.errors import PkmError
from pkm_description.loading import load_machine
from pkm_description.machine import Machine
from pkm_description.ros.conversions import nanoseconds
from pkm_description.ros.diagnostics import Level
from pkm_description.ros.frames import Frames
from pkm_description.ros.qos import LATCHED_QOS
from rclpy.node import Node
from std_msgs.msg import Bool
from std_srvs.srv import Trigger
from trajectory_msgs.msg import MultiDOFJointTrajectory

from pkm_bringup.control import LegServo, ServoState
from pkm_bringup.ros.reference_message import motion_from_message
from pkm_bringup.ros.rejections import Rejections


class ServoInterface:
    """Topic ``~/tripped``, services ``~/stop`` and ``~/reset_trip`` of a node with a servo, and its references.

    Parameters
    ----------
    node : the node
    servo : what it runs
    now_ns : the servo's time
    frames : of the references

    Attributes
    ----------
    rejections : of messages to the node
    """

    def __init__(self, node: Node, servo: LegServo, now_ns: Callable[[], int], frames: Frames) -> None:
        self._servo, self._now_ns, self._frames = servo, now_ns, frames
        self._logger, self.rejections = node.get_logger(), Rejections(node)
        self._tripped = node.create_publisher(Bool, '~/tripped', LATCHED_QOS)
        self._told: bool | None = None
        node.create_service(Trigger, '~/stop', self._stop)
        node.create_service(Trigger, '~/reset_trip', self._reset)
        self.update()

    def follow(self, message: MultiDOFJointTrajectory) -> bool:
        """Take a reference; whether it can be followed."""
        try:
            motion = motion_from_message(message, self._frames)
            reference = self._servo.add_reference(motion, nanoseconds(message.header.stamp), self._now_ns())
        except PkmError as error:
            self.rejections.add('platform/reference', error)
            return False
        times = f't = {reference.start_ns * 1e-9:.3f} s to {reference.end_ns * 1e-9:.3f} s'
        self._logger.info(f'reference of {len(motion)} points, {times}')
        return True

    def update(self) -> None:
        """Publish the trip signal if it has changed, and log the reason; cheap enough for every control period."""
        tripped = bool(self._servo.trip_reason)
        if tripped == self._told:
            return
        if tripped:
            self._logger.error(f'stopped: {self._servo.trip_reason}; call ~/reset_trip when the cause is removed')
        self._told = tripped
        self._tripped.publish(Bool(data=tripped))

    def diagnosis(self) -> tuple[Level, str, Mapping[str, object]]:
        """Status for /diagnostics."""
        servo = self._servo
        values = {
            'state': servo.state.value,
            'tracking error': [round(float(error), 7) for error in servo.tracking_error],
            'saturated control periods': servo.saturation_count.tolist(),
        }
        if servo.trip_reason:
            return Level.ERROR, f'{servo.state.value}, stopped: {servo.trip_reason}', values
        return Level.OK, 'controlling', values

    def _stop(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._servo.trip('the service ~/stop was called', self._now_ns())
        self.update()
        response.success, response.message = True, 'braking to rest; references are refused until ~/reset_trip'
        return response

    def _reset(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if not self._servo.trip_reason and self._servo.state is ServoState.FOLLOWING:
            response.success, response.message = True, 'was not stopped'
            return response
        try:
            self._servo.reset()
        except PkmError as error:
            response.success, response.message = False, str(error)
            return response
        self.update()
        self._logger.info('reset: holding the present pose')
        response.success, response.message = True, 'holding the present pose; references are taken again'
        return response


def controller_belief(machine: Machine, controller_overlay: str) -> Machine:
    """Machine that the controller believes in.

    Parameters
    ----------
    machine : what the node's other parameters name
    controller_overlay : path of an overlay, ``'machine_file'`` for the file without overlay, empty for ``machine``
    """
    if not controller_overlay:
        return machine
    return load_machine(machine.path, None if controller_overlay == 'machine_file' else controller_overlay)
