"""Motion of the tree of joints: pose, velocity and acceleration of every body, from base to platform."""

from __future__ import annotations

import math

from pkm_description.arrays import Array
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.model import REVOLUTE, ModelData, ScratchData
from pkm_description.kernels.vectors import cross, minus, plus, store, times, turned, vector


@kernel
def body_pose(model: ModelData, scratch: ScratchData, joint: int, position: float) -> None:
    """Pose of the body behind a joint at a position [rad, m]; the body before it must be placed already."""
    parent = model.parent[joint]
    rotation = scratch.rotation
    # the joint frame at zero position, in base axes
    for i in range(3):
        for k in range(3):
            rotation[joint, i, k] = (
                rotation[parent, i, 0] * model.rotation[joint, 0, k]
                + rotation[parent, i, 1] * model.rotation[joint, 1, k]
                + rotation[parent, i, 2] * model.rotation[joint, 2, k]
            )
    origin = plus(vector(scratch.origin, parent), turned(rotation, parent, vector(model.translation, joint)))
    axis = turned(rotation, joint, vector(model.axis, joint))
    store(scratch.axis, joint, axis)
    if model.kind[joint] == REVOLUTE:
        turn_about(rotation, joint, axis, position)
    else:
        origin = plus(origin, times(position, axis))
    store(scratch.origin, joint, origin)


@kernel
def turn_about(rotations: Array, index: int, axis: tuple[float, float, float], angle: float) -> None:
    """Turn a rotation about a unit vector in base axes: Rodrigues' formula for each of its columns."""
    sine, cosine = math.sin(angle), math.cos(angle)
    for column in range(3):
        a = rotations[index, 0, column], rotations[index, 1, column], rotations[index, 2, column]
        along = (1.0 - cosine) * (axis[0] * a[0] + axis[1] * a[1] + axis[2] * a[2])
        across = cross(axis, a)
        for i in range(3):
            rotations[index, i, column] = cosine * a[i] + sine * across[i] + along * axis[i]


@kernel
def leg_poses(model: ModelData, scratch: ScratchData, leg: int) -> None:
    """Poses of the bodies of a leg at ``scratch.joints``."""
    for joint in range(model.joint_start[leg], model.joint_start[leg + 1]):
        body_pose(model, scratch, joint, scratch.joints[joint])


@kernel
def set_platform(
    model: ModelData, scratch: ScratchData, position: Array, rotation: Array, row: int
) -> None:
    """Place the platform at one row of poses (N, 3) m, (N, 3, 3)."""
    platform = len(model.kind)
    for i in range(3):
        scratch.origin[platform, i] = position[row, i]
        for k in range(3):
            scratch.rotation[platform, i, k] = rotation[row, i, k]


@kernel
def set_platform_twist(model: ModelData, scratch: ScratchData, linear: Array, angular: Array, row: int) -> None:
    """Velocity of the platform, one row of (N, 3) m/s and (N, 3) rad/s, base axes."""
    platform = len(model.kind)
    for i in range(3):
        scratch.velocity[platform, i] = linear[row, i]
        scratch.spin[platform, i] = angular[row, i]


@kernel
def set_platform_acceleration(model: ModelData, scratch: ScratchData, linear: Array, angular: Array, row: int) -> None:
    """Acceleration of the platform, one row of (N, 3) m/s^2 and (N, 3) rad/s^2, base axes."""
    platform = len(model.kind)
    for i in range(3):
        scratch.acceleration[platform, i] = linear[row, i]
        scratch.spin_rate[platform, i] = angular[row, i]


@kernel
def body_velocities(model: ModelData, scratch: ScratchData, rates: Array) -> None:
    """Velocities of all leg bodies from joint rates (J,)."""
    for joint in range(len(model.kind)):
        parent = model.parent[joint]
        arm = minus(vector(scratch.origin, joint), vector(scratch.origin, parent))
        spin = vector(scratch.spin, parent)
        velocity = plus(vector(scratch.velocity, parent), cross(spin, arm))
        own = times(rates[joint], vector(scratch.axis, joint))
        if model.kind[joint] == REVOLUTE:
            spin = plus(spin, own)
        else:
            velocity = plus(velocity, own)
        store(scratch.spin, joint, spin)
        store(scratch.velocity, joint, velocity)


@kernel
def body_acceleration(model: ModelData, scratch: ScratchData, joint: int, rate: float, acceleration: float) -> None:
    """Acceleration of the body behind a joint; the velocities are known."""
    parent = model.parent[joint]
    arm = minus(vector(scratch.origin, joint), vector(scratch.origin, parent))
    spin, axis = vector(scratch.spin, parent), vector(scratch.axis, joint)
    spin_rate = vector(scratch.spin_rate, parent)
    linear = plus(
        vector(scratch.acceleration, parent), plus(cross(spin_rate, arm), cross(spin, cross(spin, arm)))
    )
    coupling = cross(spin, times(rate, axis))
    own = times(acceleration, axis)
    if model.kind[joint] == REVOLUTE:
        spin_rate = plus(spin_rate, plus(own, coupling))
    else:
        linear = plus(linear, plus(own, times(2.0, coupling)))
    store(scratch.spin_rate, joint, spin_rate)
    store(scratch.acceleration, joint, linear)


@kernel
def body_accelerations(model: ModelData, scratch: ScratchData, rates: Array, accelerations: Array) -> None:
    """Accelerations of all leg bodies from joint rates and accelerations (J,)."""
    for joint in range(len(model.kind)):
        body_acceleration(model, scratch, joint, rates[joint], accelerations[joint])
