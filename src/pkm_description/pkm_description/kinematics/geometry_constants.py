"""Constants of a machine's geometry: which there are and how exactly they are known, and a machine with others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pkm_description.arrays import Array
from pkm_description.kernels.kinematics.geometry_slopes import (
    CLOSURE_OTHER_POINT,
    CLOSURE_POINT,
    DRIVE_ZERO,
    JOINT_CENTRE,
    GeometryData,
    geometry_slopes,
)
from pkm_description.kernels.kinematics.legs import legs_where_they_are
from pkm_description.kernels.kinematics.tree import set_platform
from pkm_description.kernels.model import REVOLUTE
from pkm_description.kernels.structures import structure
from pkm_description.kinematics.closed_legs import admissible_home
from pkm_description.kinematics.rotation import rotation_about_axis, rotation_exp
from pkm_description.machine import Machine, Pose
from pkm_description.machine.machine import with_home

#: m or rad, of all constants, at which a home is sought anew
_LONGEST_STEP = 1e-4
_AXES = 'xyz'


def geometry_constants(machine: Machine) -> GeometryData:
    """Constants of the geometry of a machine that are not exact.

    Of each leg: where its first joint sits, and every revolute joint that stands away from the one before it, the ends
    of its closures, and the zeros of its drives.
    """
    model, tolerances = machine.model, machine.tolerances
    legs, drives = len(model.closed_form), len(model.drive_joint)
    centre_std = np.broadcast_to(np.asarray(tolerances.joint_centres, dtype=float), legs)
    zero_std = np.broadcast_to(np.asarray(tolerances.leg_zeros, dtype=float), drives)
    rows: list[tuple[int, int, int, float]] = []
    start = [0]
    for leg, std in enumerate(centre_std.tolist()):
        joints = range(model.joint_start[leg], model.joint_start[leg + 1])
        points: list[tuple[int, int]] = [
            (JOINT_CENTRE, joint)
            for joint in joints
            if joint == joints.start or (model.kind[joint] == REVOLUTE and model.translation[joint].any())
        ]
        for closure in range(model.closure_start[leg], model.closure_start[leg + 1]):
            if model.closure_point[closure].any():
                points.append((CLOSURE_POINT, closure))
            if model.closure_other[closure] >= len(model.kind) or model.closure_other_point[closure].any():
                points.append((CLOSURE_OTHER_POINT, closure))
        rows += [(kind, place, axis, std) for kind, place in points for axis in range(3) if std > 0.0]
        rows += [
            (DRIVE_ZERO, drive, 0, zero_std.item(drive))
            for drive in range(drives)
            if model.drive_joint[drive] in joints and zero_std[drive] > 0.0
        ]
        start.append(len(rows))
    kinds, places, axes, stds = zip(*rows, strict=True) if rows else ((), (), (), ())
    first, kind, place, axis = (np.array(values, dtype=np.int64) for values in (start, kinds, places, axes))
    return GeometryData(first, kind, place, axis, np.array(stds, dtype=float))


def geometry_constant_names(machine: Machine, geometry: GeometryData) -> list[str]:
    """What each constant of :func:`geometry_constants` is, in words."""
    closures = [closure.name for leg in machine.legs for closure in leg.closures]
    names = []
    for kind, place, axis in zip(*(values.tolist() for values in geometry[1:4]), strict=True):
        if kind == DRIVE_ZERO:
            names.append(f'zero of {machine.actuated_joint_names[place]}')
        elif kind == JOINT_CENTRE:
            names.append(f'centre of {machine.joints[place].name} {_AXES[axis]}')
        else:
            side = 'end on the leg' if kind == CLOSURE_POINT else 'end on the platform'
            names.append(f'{side} of {closures[place]} {_AXES[axis]}')
    return names


def with_geometry(machine: Machine, deviations: Array) -> Machine:
    """Machine as it may have been built: its constants are others than the file's, and its home closes with them.

    Parameters
    ----------
    deviations : (p,) of the constants of :func:`geometry_constants`, in their standard deviations
    """
    steps = 1
    if machine.legs_hold_platform:
        largest = float(np.abs(geometry_constants(machine).std * deviations).max(initial=0.0))
        steps = max(1, int(np.ceil(largest / _LONGEST_STEP)))
    for _ in range(steps):
        other = _moved(machine, deviations / steps)
        if machine.legs_hold_platform:
            other = replace(other, home=_home_after(machine, deviations / steps))
            found = admissible_home(other)
            other = with_home(other, found.joint_positions, found.pose)
        machine = other
    return machine


def _home_after(machine: Machine, deviations: Array) -> Pose:
    """Pose next to home at which the legs close once the geometry has changed, to first order."""
    geometry, home = geometry_constants(machine), machine.home
    memory, scratch = machine.scratch
    model = machine.compiled_model
    set_platform(model, scratch, home.position[None], home.rotation_base_platform[None], 0)
    memory.joints[:] = machine.model.home_joints
    slopes = np.zeros((machine.actuated_count + len(memory.constraints), len(geometry.kind)))
    legs_where_they_are(model, scratch)
    constraints = memory.constraints.copy()
    geometry_slopes(model, scratch, structure(geometry), slopes)
    radius = np.repeat([1.0, machine.platform_radius], 3)
    twist = -np.linalg.pinv(constraints / radius) @ slopes[machine.actuated_count :] @ deviations / radius
    return Pose(home.position + twist[:3], rotation_exp(twist[3:]) @ home.rotation_base_platform)


def _moved(machine: Machine, deviations: Array) -> Machine:
    """Machine with other constants, whose legs may miss their closures at home."""
    constants = geometry_constants(machine)
    legs = [(list(leg.joints), list(leg.closures)) for leg in machine.legs]
    joint_places = [(leg, index) for leg, (joints, _) in enumerate(legs) for index in range(len(joints))]
    closure_places = [(leg, index) for leg, (_, closures) in enumerate(legs) for index in range(len(closures))]
    for kind, place, axis, std, deviation in zip(*constants[1:], deviations, strict=True):
        shift = std * deviation * np.eye(3)[axis]
        if kind in (CLOSURE_POINT, CLOSURE_OTHER_POINT):
            leg, index = closure_places[place]
            name = 'point' if kind == CLOSURE_POINT else 'other_point'
            closure = legs[leg][1][index]
            legs[leg][1][index] = replace(closure, **{name: getattr(closure, name) + shift})
            continue
        joint_index = int(machine.model.drive_joint[place]) if kind == DRIVE_ZERO else place
        leg, index = joint_places[joint_index]
        joint = legs[leg][0][index]
        if kind == JOINT_CENTRE:
            joint = replace(joint, translation=joint.translation + shift)
        elif joint.kind == 'prismatic':
            along = joint.rotation_parent_joint @ joint.axis
            joint = replace(joint, translation=joint.translation + std * deviation * along)
        else:
            turn = rotation_about_axis(joint.axis, np.array(std * deviation))
            joint = replace(joint, rotation_parent_joint=joint.rotation_parent_joint @ turn)
        legs[leg][0][index] = joint
    changed = [
        replace(leg, joints=tuple(joints), closures=tuple(closures))
        for leg, (joints, closures) in zip(machine.legs, legs, strict=True)
    ]
    return replace(machine, legs=tuple(changed))
