"""Visuals of the legs in the URDF: bars from joint to joint, rails below sliders."""

from __future__ import annotations

from xml.etree.ElementTree import Element

import numpy as np

from pkm_description.export.drawing import base_joint_points, next_joints
from pkm_description.export.urdf_parts import add_bar, add_box
from pkm_description.machine import Joint, Leg, Machine
from pkm_description.machine.closure_ends import closure_points

#: name -> red, green, blue, opacity
MATERIALS = {
    'steel': '0.80 0.82 0.85 1',
    'casing': '0.35 0.40 0.47 1',
    'plate': '0.10 0.45 0.70 1',
    'dark': '0.25 0.27 0.30 1',
}


def drawing_reach(machine: Machine) -> float:
    """Length that scales the drawing [m]: half the distance of home from the base, or an open chain's longest link.

    Planar machines may have home in the origin of the base: then half the distance of the farthest base joint from it.
    """
    if machine.has_platform:
        distance = float(np.linalg.norm(machine.home.position))
        return 0.5 * (distance or float(np.linalg.norm(base_joint_points(machine), axis=1).max()))
    links = [float(np.abs(joint.translation).max()) for joint in machine.legs[0].joints[1:]]
    return 0.5 * max(0.1, *links)


def add_rail(link: Element, slider: Joint, reach: float) -> None:
    """Rail of a leg that starts with a slider, from limit to limit, in the frame of its first joint."""
    limits = slider.limits
    if slider.kind == 'prismatic' and np.isfinite([limits.lower, limits.upper]).all():
        add_bar(link, limits.lower * slider.axis, limits.upper * slider.axis, 0.02 * reach, 'dark')


def add_leg_body(link: Element, leg: Leg, place: int, reach: float) -> None:
    """Body of the joint at ``place``: to the next joints, to its closures; a free end beyond its centre of mass."""
    joint, origin = leg.joints[place], np.zeros(3)
    following, points = next_joints(leg, place), closure_points(leg, leg.joints[place].body.name)
    for one in following:
        # thick where the next body slides out of this one
        thickness = 0.045 if one.kind == 'prismatic' else 0.025
        add_bar(link, origin, one.translation, thickness * reach, 'casing')
    if following and joint.kind == 'prismatic':
        add_box(link, [0.12 * reach] * 3, 'casing')
    for point in points:
        # a sliding rod reaches from the tip back into its cylinder
        is_rod = joint.kind == 'prismatic' and not following
        start, stop = (point, point - np.linalg.norm(joint.translation) * joint.axis) if is_rod else (origin, point)
        add_bar(link, start, stop, 0.025 * reach, 'steel')
    if not following and not points:
        add_bar(link, origin, 2.0 * joint.body.center_of_mass, 0.025 * reach, 'steel')
