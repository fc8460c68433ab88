"""Where the iterations of forward kinematics start, and the assembly branch that they should stay on."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from pkm_description.arrays import Array
from pkm_description.errors import ShapeError
from pkm_description.kernels.continuation import DETERMINANT, REPORT_COLUMNS
from pkm_description.kernels.forward import struts_alone
from pkm_description.kernels.forward_samples import solve_samples
from pkm_description.kinematics.arguments import poses
from pkm_description.kinematics.forward_result import ForwardKinematicsResult
from pkm_description.kinematics.joint_motion import joint_positions
from pkm_description.machine import Machine, Pose

Start = ForwardKinematicsResult | Pose

#: base joints nearer to their common plane than this fraction of their spread are taken for coplanar
COPLANAR = 1e-6

#: a branch that every configuration lies on
ANY_BRANCH = np.zeros(5)


def starts(machine: Machine, initial: Start | None, count: int) -> tuple[Array, Array, Array]:
    """Fresh arrays (N, J), (N, 3), (N, 3, 3) of the configurations from which N samples start."""
    model = machine.model
    if initial is None:
        configuration = model.home_joints[None], model.home_position[None], model.home_rotation[None]
    elif isinstance(initial, ForwardKinematicsResult):
        configuration = initial.joint_positions, initial.position, initial.rotation_base_platform
    else:
        position, rotation, _ = poses(initial.position, initial.rotation_base_platform)
        # of struts the pose is enough, be it one to which the joint angles are undefined
        alone = struts_alone(machine.compiled_model)
        joints = model.home_joints[None] if alone else joint_positions(machine, position, rotation)
        joints = np.broadcast_to(joints, (len(position), len(model.kind)))
        configuration = joints, position, rotation
    if len(configuration[1]) not in (1, count):
        raise ShapeError('initial', f'one start or {count}, as many as samples', configuration[1].shape)
    joints, position, rotation = (
        np.array(np.broadcast_to(one, (count, *one.shape[1:])), order='C') for one in configuration
    )
    return joints, position, rotation


_HOME_BRANCHES: WeakKeyDictionary[Machine, Array] = WeakKeyDictionary()


def home_branch(machine: Machine) -> Array:
    """Branch (5,) of the machine's home configuration, worked out once; see ``kernels.assembly.on_branch``."""
    if machine not in _HOME_BRANCHES:
        _HOME_BRANCHES[machine] = branch_of(machine, *starts(machine, None, 1))
    return _HOME_BRANCHES[machine]


def branch_of(machine: Machine, joints: Array, position: Array, rotation: Array) -> Array:
    """Branch (5,) of any configuration (1, J), (1, 3), (1, 3, 3)."""
    model, report = machine.model, np.empty((1, REPORT_COLUMNS))
    drives = joints[:, model.drive_joint]
    solve_samples(
        machine.compiled_model, machine.scratch[1], drives, joints.copy(), position.copy(), rotation.copy(), 0, 0.0,
        np.inf, ANY_BRANCH, False, False, report,
    )  # fmt: skip
    sign = report[0, DETERMINANT]
    normal, level = np.zeros(3), 0.0
    if struts_alone(machine.compiled_model):
        points = model.translation[model.joint_start[:-1]]
        center = points.mean(axis=0)
        _, spread, axes = np.linalg.svd(points - center)
        if spread[-1] <= COPLANAR * spread[0]:
            normal = axes[-1] * np.sign((position[0] - center) @ axes[-1])
            level = float(center @ normal)
    return np.array([sign, *normal, level])
