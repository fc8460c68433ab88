"""Visuals of the legs in the URDF: bars from joint to joint, rails below sliders."""

from __future__ import annotations

from xml.etree.ElementTree import Element

import numpy as np

from pkm_description.export.urdf_parts import add_bar, add_box
from pkm_description.machine import Joint, Leg, Machine

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
        return 0.5 * (distance or float(np.linalg.norm(machine.base_points, axis=1).max()))
    links = np.abs(machine.joint_translations[0, 1:])
    return 0.5 * max(0.1, float(links.max(initial=0.0)))


def add_rail(link: Element, slider: Joint, reach: float) -> None:
    """Rail of a leg that starts with a slider, from limit to limit, in the frame of its first joint."""
    limits = slider.limits
    if slider.kind == 'prismatic' and np.isfinite([limits.lower, limits.upper]).all():
        add_bar(link, limits.lower * slider.axis, limits.upper * slider.axis, 0.02 * reach, 'dark')


def add_leg_body(link: Element, leg: Leg, place: int, reach: float, closed: bool) -> None:
    """Body of the joint at ``place``: to the next joint, to the tip, or on an open chain beyond its centre of mass."""
    joint, origin = leg.joints[place], np.zeros(3)
    if place + 1 < len(leg.joints):
        # thick where the next body slides out of this one
        following = leg.joints[place + 1]
        thickness = 0.045 if following.kind == 'prismatic' else 0.025
        add_bar(link, origin, following.translation, thickness * reach, 'casing')
        if joint.kind == 'prismatic':
            add_box(link, [0.12 * reach] * 3, 'casing')
    elif not closed:
        add_bar(link, origin, 2.0 * joint.body.center_of_mass, 0.025 * reach, 'steel')
    elif joint.kind == 'prismatic':
        # a sliding rod reaches from the tip back into its cylinder
        back = np.linalg.norm(joint.translation) * joint.axis
        add_bar(link, leg.tip, leg.tip - back, 0.025 * reach, 'steel')
    else:
        add_bar(link, origin, leg.tip, 0.025 * reach, 'steel')
