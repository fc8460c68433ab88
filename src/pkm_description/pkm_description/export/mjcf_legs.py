"""Legs in MJCF: trees of bodies, and the equalities that close the loops."""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement

import numpy as np

from pkm_description.arrays import Array
from pkm_description.export.drawing import leg_bars
from pkm_description.export.mjcf_parts import (
    LEAST_INERTIA,
    LEAST_MASS,
    add_bars,
    add_body,
    add_inertial,
    add_joint,
    add_site,
    is_massless,
)
from pkm_description.export.numbers_text import numbers
from pkm_description.export.rest import RestConfiguration
from pkm_description.machine import Joint, Leg, RigidBody
from pkm_description.machine.closure_ends import ClosureEnd, closure_points

#: distance between the two points by which a pin is held, as a part of the drawing's size. MuJoCo's constraints yield,
#: and a turn pulls the points apart by this lever: at a tenth of it a 3-UPU's platform is off by 0.3 mm, here by 4 um
_PIN_LENGTH = 1.0


def add_leg(base: Element, leg: Leg, radius: float) -> dict[str, Element]:
    """Bodies of a leg; link name -> element.

    Bodies without mass that carry one joint (the crosses of composed joints) are left out: MuJoCo lets a body have
    several joints, which turn one after the other.
    """
    bars, elements = leg_bars(leg, radius), {'base_link': base}
    waiting: dict[int, list[tuple[Joint, Array, Array]]] = {}
    for place, (joint, parent) in enumerate(zip(leg.joints, leg.parents, strict=True)):
        # joints of bodies left out before this one: their frames' poses at zero in the body that carries them all
        before = waiting.get(parent, [])
        position, rotation = np.zeros(3), np.eye(3)
        if before:
            _, position, rotation = before[-1]
        pose = position + rotation @ joint.translation, rotation @ joint.rotation_parent_joint
        chain = [*before, (joint, *pose)]
        if _is_left_out(leg, place):
            waiting[place] = chain
            continue
        carrier = parent
        while carrier in waiting:
            carrier = leg.parents[carrier]
        link = leg.joints[carrier].body.name if carrier >= 0 else 'base_link'
        body = add_body(elements[link], joint.body.name, *pose)
        add_inertial(body, joint.body)
        for one, origin, axes in chain:
            turn = pose[1].T @ axes
            add_joint(body, one, turn @ one.axis if before else one.axis, pose[1].T @ (origin - pose[0]))
        add_bars(body, bars.get(joint.body.name, []))
        elements[joint.body.name] = body
    del elements['base_link']
    return elements


def _is_left_out(leg: Leg, place: int) -> bool:
    body = leg.joints[place].body
    return is_massless(body) and leg.parents.count(place) == 1 and not closure_points(leg, body.name)


def add_closure(
    bodies: dict[str, Element], equality: Element, end: ClosureEnd, planar: bool, radius: float, stiff: dict[str, str]
) -> None:
    """Sites of a closure on its two bodies, and what joins them.

    A ball is a ``connect``, a fixed joint a ``weld``, a pin two ``connect`` at points of its axis. MuJoCo has no
    universal joint for loops: a small cross turns on the leg's body and is pinned to the other one.
    """
    closure = end.closure
    first, second = bodies[closure.body], bodies[closure.other]
    add_site(second, end.anchor, closure.other_point, 1.2 * radius, closure.rotation_other)
    if closure.kind == 'universal':
        cross = add_body(first, end.link, closure.point, closure.rotation_body)
        add_inertial(cross, RigidBody(end.link, LEAST_MASS, np.zeros(3), LEAST_INERTIA * np.eye(3)))
        SubElement(cross, 'joint', name=f'{closure.name}_cross', type='hinge', axis='1.0 0.0 0.0')
        add_site(cross, end.tip, np.zeros(3), 1.5 * radius)
        _pin(equality, end, (cross, np.zeros(3), np.eye(3)), second, np.array([0.0, 1.0, 0.0]), radius, stiff)
        return
    add_site(first, end.tip, closure.point, 1.5 * radius, closure.rotation_body)
    sites = {'name': closure.name, 'site1': end.tip, 'site2': end.anchor}
    if closure.kind == 'fixed':
        SubElement(equality, 'weld', sites | stiff)
    elif closure.kind == 'ball' or planar:
        SubElement(equality, 'connect', sites | stiff)
    else:
        held = first, closure.point, closure.rotation_body
        _pin(equality, end, held, second, np.array([0.0, 0.0, 1.0]), radius, stiff)


def _pin(
    equality: Element, end: ClosureEnd, first: tuple[Element, Array, Array], second: Element, axis: Array,
    radius: float, stiff: dict[str, str],
) -> None:  # fmt: skip
    """Join two bodies at the closure's sites and at a second point of an axis (3,) of the closure's frames."""
    closure, along = end.closure, 100.0 * _PIN_LENGTH * radius * axis
    body, point, rotation = first
    add_site(body, f'{end.tip}_axis', point + rotation @ along, radius)
    add_site(second, f'{end.anchor}_axis', closure.other_point + closure.rotation_other @ along, radius)
    for name, suffix in ((closure.name, ''), (f'{closure.name}_axis', '_axis')):
        sites = {'name': name, 'site1': f'{end.tip}{suffix}', 'site2': f'{end.anchor}{suffix}'}
        SubElement(equality, 'connect', sites | stiff)


def cross_angles(ends: tuple[ClosureEnd, ...], rest: RestConfiguration) -> dict[str, float]:
    """Joint name -> angle [rad] of the crosses of universal closures where a machine rests."""
    angles = {}
    for end in ends:
        closure = end.closure
        if closure.kind == 'universal':
            here = rest.link_poses[closure.body][1] @ closure.rotation_body
            there = rest.link_poses[closure.other][1] @ closure.rotation_other
            _, cosine, sine = here.T @ there[:, 1]
            angles[f'{closure.name}_cross'] = float(np.arctan2(sine, cosine))
    return angles


def stiff_attributes(time_step: float, impedance: str) -> dict[str, str]:
    """Constraint settings of closures: time constants of four steps."""
    return {'solref': numbers([4.0 * time_step, 1.0]), 'solimp': impedance}
