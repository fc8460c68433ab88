"""Platform references as trajectory_msgs/MultiDOFJointTrajectory.

One transform, one velocity and one acceleration per point, all in ``base_link`` axes; ``header.stamp`` is the absolute
time of ``time_from_start = 0``, zero means at once. Accelerations are part of a reference here: knots at 50 Hz with
two derivatives give a motion that is smooth for any drive.
"""

from __future__ import annotations

import numpy as np
from geometry_msgs.msg import Transform, Twist
from pkm_description.arrays import Array
from pkm_description.kinematics.rotation import matrix_from_quaternion, quaternion_from_matrix
from pkm_description.machine import PlatformMotion
from pkm_description.ros.conversions import array3, array4, quaternion, stamp, vector3
from pkm_description.ros.frames import Frames
from trajectory_msgs.msg import MultiDOFJointTrajectory, MultiDOFJointTrajectoryPoint

from pkm_bringup.control import ReferenceRefusedError

#: Hz, knots of a reference message
KNOT_RATE = 50.0


def motion_from_message(message: MultiDOFJointTrajectory, frames: Frames) -> PlatformMotion:
    """Read the knots of a reference in the frames of a robot; ``time`` counts from the message's stamp.

    Raises
    ------
    ReferenceRefusedError
        Says which point or field cannot be used.
    """
    if problem := frames.problem(message.header.frame_id, frames.base):
        raise ReferenceRefusedError(f'{problem}: references are given in the frame of the base')
    # joints have no prefix; what the URDF calls the platform is the one that moves
    if list(message.joint_names) not in ([], [frames.platform_link]):
        raise ReferenceRefusedError(f'joint_names = {list(message.joint_names)}: expected [{frames.platform_link!r}]')
    # a message is a tree of objects: reading it takes a loop
    rows = []
    for place, point in enumerate(message.points):
        for name in ('transforms', 'velocities', 'accelerations'):
            if len(getattr(point, name)) != 1:
                raise ReferenceRefusedError(
                    f'point {place} of the reference has {len(getattr(point, name))} {name}, expected one'
                )
        rows.append(_row(point))
    if not rows:
        raise ReferenceRefusedError('the reference has no points')
    values = np.array(rows)
    try:
        rotation = matrix_from_quaternion(values[:, 4:8])
    except ValueError:
        bad = int(np.argmin(np.nan_to_num(np.linalg.norm(values[:, 4:8], axis=1), nan=-1.0)))
        raise ReferenceRefusedError(f'point {bad} of the reference: {values[bad, 4:8]} is no quaternion') from None
    return PlatformMotion(
        time=values[:, 0], position=values[:, 1:4], rotation_base_platform=rotation,
        linear_velocity=values[:, 8:11], angular_velocity=values[:, 11:14],
        linear_acceleration=values[:, 14:17], angular_acceleration=values[:, 17:20],
    )  # fmt: skip


def message_from_motion(motion: PlatformMotion, start_ns: int, frames: Frames) -> MultiDOFJointTrajectory:
    """Write a motion whose ``time`` 0 is at ``start_ns``, in the frames of a robot."""
    message = MultiDOFJointTrajectory()
    message.header.frame_id = frames.base
    message.header.stamp = stamp(start_ns)
    message.joint_names = [frames.platform_link]
    quaternions = quaternion_from_matrix(motion.rotation_base_platform)
    message.points = [_point(motion, quaternions[i], i) for i in range(len(motion))]
    return message


def _row(point: MultiDOFJointTrajectoryPoint) -> Array:
    after, transform = point.time_from_start, point.transforms[0]
    vectors = [
        array3(part)
        for twist in (point.velocities[0], point.accelerations[0])
        for part in (twist.linear, twist.angular)
    ]
    time = after.sec + after.nanosec * 1e-9
    return np.hstack([time, array3(transform.translation), array4(transform.rotation), *vectors])


def _point(motion: PlatformMotion, xyzw: Array, index: int) -> MultiDOFJointTrajectoryPoint:
    velocity, acceleration = (
        Twist(linear=vector3(linear[index]), angular=vector3(angular[index]))
        for linear, angular in (
            (motion.linear_velocity, motion.angular_velocity), (motion.linear_acceleration, motion.angular_acceleration)
        )
    )  # fmt: skip
    transform = Transform(translation=vector3(motion.position[index]), rotation=quaternion(xyzw))
    point = MultiDOFJointTrajectoryPoint(transforms=[transform], velocities=[velocity], accelerations=[acceleration])
    after = point.time_from_start
    after.sec, after.nanosec = divmod(round(motion.time[index] * 1e9), 10**9)
    return point
