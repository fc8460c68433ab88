"""The text of a new machine file."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from math import ceil, log10
from pathlib import Path

import numpy as np

from pkm_description.arrays import Array
from pkm_description.bounded_yaml import bounded_yaml
from pkm_description.dynamics import gravity_forces, inverse_dynamics
from pkm_description.kinematics import motion_from_drives
from pkm_description.kinematics.admissible_home import admissible_home
from pkm_description.loading.load import machine_of_content, unchecked_machine
from pkm_description.machine import Machine, Pose
from pkm_description.machine.variants import with_gravity
from pkm_description.skeleton.file_parts import Drives, file_text
from pkm_description.skeleton.kinds import sketch_of
from pkm_description.skeleton.sizes import sizes_of
from pkm_description.skeleton.sketch import Sketch, two_digits

#: least force [N] or torque [N m] of a drive, and how many times the force that holds home it gets
_LEAST_EFFORT, _RESERVE = {'prismatic': 100.0, 'revolute': 20.0}, 5.0

#: 1/s, bandwidth of the servo's damping in the lightest direction, and of its stiffness over the damping
_SERVO_BANDWIDTH, _STIFFNESS_OVER_DAMPING = 200.0, 25.0


def skeleton_text(kind: str, name: str | None = None, sizes: Mapping[str, float] | None = None) -> str:
    """Write the machine file of a new machine.

    All numbers are round, or solved: the joint positions at home close the legs. The text is that of a file that loads.

    Parameters
    ----------
    kind : one of :data:`KINDS`
    name : of the machine; default ``my_`` and the kind
    sizes : lengths in m by the names in :class:`Sizes`; the others are in proportion to the base radius

    Raises
    ------
    SkeletonError
        An unknown kind, or lengths that do not fit together.
    MachineFileError
        A name that cannot be part of link names, or a machine that cannot stand at home.
    ConvergenceError
        The legs do not close at home.
    """
    name = name or f'my_{kind}'
    sketch = sketch_of(kind, sizes_of(kind, sizes or {}))
    path = Path(f'{name}.yaml')
    rough = unchecked_machine(path, bounded_yaml(file_text(kind, name, sketch, Drives())))
    home = admissible_home(rough)
    machine = dataclasses.replace(rough, home=home.pose)
    sketch = _at_home(sketch, home.pose, home.joint_positions.reshape(machine.leg_count, -1))
    text = file_text(kind, name, sketch, _drives(machine))
    machine_of_content(path, bounded_yaml(text))
    return text


def _at_home(sketch: Sketch, pose: Pose, positions: Array) -> Sketch:
    """The sketch with solved positions (L, J) of its joints at home."""
    joints = tuple(
        dataclasses.replace(joint, home=positions[:, place]) for place, joint in enumerate(sketch.joints)
    )
    x, y, z = pose.position.tolist()
    return dataclasses.replace(sketch, joints=joints, home=(x, y, z))


def _drives(machine: Machine) -> Drives:
    """Drive force and servo gains for the machine's masses at home."""
    pose = machine.home.position[None], machine.home.rotation_base_platform[None]
    holding = float(np.abs(gravity_forces(machine, *pose)).max())
    kind = machine.actuated_joints[0].kind
    effort = _round_up(max(_LEAST_EFFORT[kind], _RESERVE * holding))
    damping = two_digits(_SERVO_BANDWIDTH * _lightest(machine))
    return Drives(effort, two_digits(_STIFFNESS_OVER_DAMPING * damping), damping)


def _round_up(value: float) -> float:
    """The next of 1, 2, 5, 10, ... from a value on."""
    decade = 10.0 ** ceil(log10(value))
    return next(step * decade for step in (0.1, 0.2, 0.5, 1.0) if step * decade >= value * (1.0 - 1e-9))


def _lightest(machine: Machine) -> float:
    """Least inertia [kg or kg m^2] that the drives feel at home: least eigenvalue of the mass matrix of the drives."""
    home, count = machine.home, machine.actuated_count
    at_home = admissible_home(machine, home).joint_positions[machine.drive_columns]
    still = np.zeros((count, count))
    motion = motion_from_drives(machine, np.arange(float(count)), still + at_home, still, np.eye(count))
    forces = inverse_dynamics(with_gravity(machine, np.zeros(3)), motion, friction=False)
    return float(np.linalg.eigvalsh(0.5 * (forces + forces.T))[0])

