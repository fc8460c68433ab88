"""Unique names in SDF: links, joints and frames share one name space, unlike in URDF and MJCF."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection

from pkm_description.loading.name_checks import exported_names
from pkm_description.machine import Machine


def unused_name(wanted: str, taken: Collection[str], suffix: str) -> str:
    """The wanted name, with the suffix as often as it takes to differ from all others."""
    while wanted in taken:
        wanted += suffix
    return wanted


def with_unique_links(machine: Machine) -> Machine:
    """The machine with other names for leg bodies that are called like a joint, or like what the exporter adds.

    Joints keep their names, because commands and joint states use them; a link ``leg1_slide`` beside a joint
    ``leg1_slide`` becomes ``leg1_slide_link``. That no joint is called like a frame is checked when a file is loaded.
    """
    fixed = exported_names(machine) | set(machine.joint_names)
    bodies = {joint.body.name for leg in machine.legs for joint in leg.joints}

    names = {}
    for joint in machine.joints:
        if joint.body.name in fixed:
            names[joint.body.name] = unused_name(joint.body.name, fixed | bodies, '_link')
            bodies.add(names[joint.body.name])
    return dataclasses.replace(machine, legs=tuple(leg.with_body_names(names) for leg in machine.legs))
