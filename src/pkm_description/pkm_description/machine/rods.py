"""Legs that are rods or struts on universal joints, whose joints stand in closed form; see ``kernels.rods``.

A leg of one drive: slider or crank that carries universal joints or hinges, or a slide behind one of them; each rod
ends with a ball on the platform, in a plane with a pin. Which legs are such is decided here, from the machine at home.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pkm_description.arrays import Array
from pkm_description.kernels.kinematics.tree import leg_poses
from pkm_description.kernels.model import PRISMATIC, REVOLUTE, ModelData, ScratchData, scratch_data
from pkm_description.kernels.structures import structure
from pkm_description.machine.parts import Leg

#: m, and cosines, by which a leg may miss being a strut
_STRUT_EXACT = 1e-9

#: cosine of the angle between strut and the normal of both axes, at zero, below which the strut lies on the first axis
_LEAST_HEIGHT = 1e-3
#: cosines, and parts of the platform's radius, by which axes may miss being perpendicular or intersecting
_EXACT = 1e-13

#: sine of the angle between rod and first axis at home, and part of the platform's radius that an end must be away from
#: its hinge, below which a rod has no clear direction
_LEAST = 1e-3


def no_rods(legs: int, closures: int) -> dict[str, Any]:
    """Fields of a model none of whose legs are rods."""
    return {
        'rod_carrier': np.full(legs, -1),
        'rod_rows': np.zeros(closures, dtype=np.int64),
        'rod_joints': np.full((closures, 2), -1),
        'rod_center': np.zeros((closures, 3)),
        'rod_basis': np.zeros((closures, 3, 3)),
        'rod_end': np.zeros((closures, 3)),
        'rod_slide': np.zeros((closures, 3)),
        'rod_side': np.zeros(closures),
    }


def rod_constants(model: ModelData) -> dict[str, Any]:
    """Fields of a model with its exact home positions."""
    legs = len(model.closed_form)
    fields = no_rods(legs, len(model.closure_body))
    compiled, memory = structure(model), scratch_data(model)
    scratch = structure(memory)
    for leg in range(legs):
        carrier = _carrier(model, leg)
        if carrier is None:
            continue
        # as the constants are defined: drive and passive joints at zero, locked ones where they stay
        memory.joints[:] = model.home_joints
        memory.joints[_columns(model, leg)] = 0.0
        leg_poses(compiled, scratch, leg)
        closures = range(model.closure_start[leg], model.closure_start[leg + 1])
        rods = [_rod(model, memory, carrier, _passive(model, leg, closure), closure) for closure in closures]
        if not all(rods):
            continue
        fields['rod_carrier'][leg] = carrier
        for closure, rod in zip(closures, rods, strict=True):
            for name, value in rod.items():
                fields[name][closure] = value
    return fields


def _columns(model: ModelData, leg: int) -> list[int]:
    """Joints of a leg that its closures determine."""
    return [int(joint) for joint in model.column_joint[model.column_start[leg] : model.column_start[leg + 1]]]


def _chain(model: ModelData, closure: int) -> list[int]:
    """Joints that carry the closure's own body, from the base on, without locked ones."""
    joints, body = [], int(model.closure_body[closure])
    while body < len(model.kind):
        joints.append(body)
        body = int(model.parent[body])
    return [joint for joint in reversed(joints) if joint in model.column_joint]


def _passive(model: ModelData, leg: int, closure: int) -> list[int]:
    """Passive joints between base and end of a rod."""
    return [joint for joint in _chain(model, closure) if not model.is_driven[joint]]


def _carrier(model: ModelData, leg: int) -> int | None:
    """Body on which the rods of a leg hang, the driven one or the base; None of a leg that is no rods by its joints."""
    platform, first = len(model.kind), int(model.joint_start[leg])
    closures = range(model.closure_start[leg], model.closure_start[leg + 1])
    columns = _columns(model, leg)
    drives = [joint for joint in columns if model.is_driven[joint]]
    if model.closed_form[leg] == 2 or len(drives) != 1 or not len(closures):
        return None
    hinged = []
    for closure in closures:
        ends_on_ball = model.orientation_start[closure] == model.orientation_start[closure + 1]
        if model.closure_other[closure] != platform or not ends_on_ball:
            return None
        hinged += _passive(model, leg, closure)
    if sorted(hinged + drives) != sorted(columns) or (model.kind[hinged] != REVOLUTE).any():
        return None
    (drive,) = drives
    if drive == first and all(drive in _chain(model, closure) for closure in closures):
        return first
    if len(closures) == 1 and model.kind[drive] == PRISMATIC and _chain(model, closures[0])[-1] == drive:
        return platform + 1
    return None


def _rod(model: ModelData, memory: ScratchData, carrier: int, passive: list[int], closure: int) -> dict[str, Any]:
    """Fields of a model on a rod whose joints are at zero; none if it is no rod by its geometry."""
    planar, radius = bool(model.position_rows[closure] == 2), float(model.radius[0])
    body = int(model.closure_body[closure])
    end = memory.origin[body] + memory.rotation[body] @ model.closure_point[closure]
    # that makes the rod longer
    drive = next((joint for joint in _chain(model, closure) if model.is_driven[joint] and joint != carrier), None)
    slide = np.zeros(3) if drive is None else memory.axis[drive]
    first = memory.axis[passive[0]] if passive else np.zeros(3)
    if len(passive) == 1:
        second = np.linalg.svd(first[None])[2][1]
        center, rows = memory.origin[passive[0]], 1 if planar else 2
    elif len(passive) == 2 and not planar:
        second, rows = memory.axis[passive[1]], 1
        center = _intersection(memory, passive)
    else:
        return {}
    basis = np.stack([first, second, np.cross(first, second)], axis=-1)
    along, slide = basis.T @ (end - center), basis.T @ slide
    side, joints = 0.0, (passive[0], -1)
    if len(passive) == 2:
        joints = passive[0], passive[1]
        lines = memory.origin[passive] - center
        misses = [np.linalg.norm(np.cross(line, memory.axis[one])) for line, one in zip(lines, passive, strict=True)]
        misses += [radius * abs(first @ second), abs(along[1]), radius * abs(slide[1])]
        at_home = along if drive is None else along + model.home_joints[drive] * slide
        height = np.cos(np.arctan2(at_home[0], at_home[2]) + model.home_joints[passive[1]])
        side = float(np.sign(height))
        if max(misses) > _EXACT * radius or not abs(height) >= _LEAST:
            return {}
    elif not np.linalg.norm(along[1:]) >= _LEAST * radius and drive is None:
        return {}
    turned = memory.rotation[carrier]
    center, basis = turned.T @ (center - memory.origin[carrier]), turned.T @ basis
    return {
        'rod_rows': rows, 'rod_joints': joints, 'rod_center': center, 'rod_basis': basis, 'rod_end': along,
        'rod_slide': slide, 'rod_side': side,
    }  # fmt: skip


def _intersection(memory: ScratchData, joints: list[int]) -> Array:
    """Point (3,) nearest to the axes of two joints."""
    normals = [np.eye(3) - np.outer(axis, axis) for axis in memory.axis[joints]]
    right = sum(normal @ origin for normal, origin in zip(normals, memory.origin[joints], strict=True))
    return np.asarray(np.linalg.lstsq(sum(normals), right, rcond=None)[0])


@dataclass(frozen=True)
class StrutConstants:
    """A leg of two intersecting, perpendicular revolutes and a strut that runs through their intersection.

    Attributes
    ----------
    basis : (3, 3), columns in base axes at zero positions: first axis, second axis, their cross product
    side : +1 or -1, side of the plane of both axes on which the strut lies at zero positions
    angle_at_zero : rad, angle of the strut from the third basis vector towards the first axis at zero positions
    """

    basis: Array
    side: float
    angle_at_zero: float


def strut_constants(leg: Leg, freedom: str) -> StrutConstants | None:
    """Constants of a leg; None for one that is no strut on a universal joint, closed by a ball on the platform.

    Parameters
    ----------
    freedom : of the platform
    """
    kinds = tuple(joint.kind for joint in leg.joints)
    if freedom != 'free' or kinds != ('revolute', 'revolute', 'prismatic'):
        return None
    if not leg.ends_at_platform or leg.end.kind != 'ball':
        return None
    bottom, middle, slide = leg.joints
    first = bottom.axis
    second = middle.rotation_parent_joint @ middle.axis
    strut_in_cylinder = slide.rotation_parent_joint @ slide.axis
    strut = middle.rotation_parent_joint @ strut_in_cylinder
    off_line = slide.translation + slide.rotation_parent_joint @ leg.tip - leg.length_at_zero * strut_in_cylinder
    misses = [np.linalg.norm(middle.translation), first @ second, second @ strut, np.linalg.norm(off_line)]
    if max(abs(float(miss)) for miss in misses) > _STRUT_EXACT:
        return None
    third = np.cross(first, second)
    if abs(strut @ third) < _LEAST_HEIGHT:
        return None
    basis = bottom.rotation_parent_joint @ np.stack([first, second, third], axis=-1)
    return StrutConstants(basis, float(np.sign(strut @ third)), float(np.arctan2(strut @ first, strut @ third)))
