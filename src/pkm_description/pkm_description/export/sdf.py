"""Gazebo model (SDF 1.9) of a machine, written from the machine file's data.

SDF places links by their poses, and joint position zero is where they are placed. Loops can only be closed between
links that stand right, so the links stand where the machine starts, at home or elsewhere: **Gazebo's joint positions
count from there**. Each joint carries its own position at the start as ``pkm:start_position``; limits are shifted
accordingly.

Gazebo's physics gives a link one parent joint. Two ways to close the loops all the same:

- ``detachable`` (Fortress with ignition-physics 5.2 or newer, and all later releases): the first closure on the
  platform carries it, every other closure ends in a small link that the DetachableJoint system welds to the platform
  (or to what else the closure holds) when the simulation starts. Each is a part of the body that it is welded to, with
  its centre of mass and a share of mass and inertia, so that the closed machine is the file's.
- ``native``: the platform is the child of every closing joint. Valid SDF, but engines refuse it up to gz-physics 9
  (gz-physics pull request 987 will take it).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np

from pkm_description.arrays import Array
from pkm_description.export.drawing import COLORS, drawing_size, machine_bars
from pkm_description.export.rest import RestConfiguration, start_configuration
from pkm_description.export.sdf_systems import SdfOptions, gains_without_rotors
from pkm_description.export.texts import PKM_NAMESPACE, SMALL_MASS, add_provenance, filled, xml_text
from pkm_description.kinematics.arguments import require_machine
from pkm_description.kinematics.rotation import matrix_from_rpy
from pkm_description.loading.checks import exported_names
from pkm_description.machine import Closure, JointLimits, Machine, RigidBody
from pkm_description.machine.machine import ClosureEnd, closure_ends, joined, with_joints

_KINDS = {'ball': 'ball', 'pin': 'revolute', 'universal': 'universal', 'fixed': 'fixed'}
#: share of a body's mass that each link gets: much lighter ones make the equations of motion worse conditioned
_SHARE = 1e-3

#: kg m^2 of bodies without mass
_SMALL_INERTIA = 1e-7
#: stands still, its inertia has no effect; but a link without one is not accepted
_RESTING = RigidBody('base_link', 1.0, np.zeros(3), np.eye(3))


def sdf_text(machine: Machine, options: SdfOptions | None = None) -> str:
    """Write the machine as SDF.

    Raises
    ------
    KinematicsError
        The loops cannot be closed where the machine shall start.
    """
    require_machine(machine)
    options = options or SdfOptions()
    given, machine = machine, with_unique_links(machine)
    weighed = _with_crosses_in_bodies(machine)
    start = start_configuration(weighed, options.start)
    bars, taken = machine_bars(machine, 0.01 * drawing_size(machine)), [options.model_name_of(machine)]
    values: dict[str, object] = {}
    if machine.has_platform:
        visuals = [f'bar{number}' for number in range(1, 1 + len(bars[machine.platform.name]))]
        values['sensor_name'] = unused_name(machine.imu.frame, visuals, '_sensor') if machine.has_imu else ''
    # what is left of the bodies by link name, and the small links by the name of their closure
    bodies, welded = split_bodies(machine, welded_ends(machine) if options.loop == 'detachable' else [])
    root = filled(
        'sdf.xml.j2', machine=machine, options=options, version=options.version, start=start, bars=bars, bodies=bodies,
        welded=welded, ends=closure_ends(machine), resting=_RESTING, kinds=_KINDS, colors=COLORS,
        limits_from=_limits_from, closing_axes=partial(_closing_axes, start), namespace=PKM_NAMESPACE,
        # positions need the servo's gains, forces nothing
        gains=gains_without_rotors(weighed) if options.drive == 'position' else None,
        engine=unused_name('dart', taken, '_engine'), light=unused_name('sun', taken, '_light'),
        # the file's gravity is in axes of the base
        gravity=matrix_from_rpy(np.array(options.base_pose[3:])) @ machine.gravity, **values,
    )  # fmt: skip
    add_provenance(root, given, 'sdf')
    return xml_text(root)


def _closing_axes(start: RestConfiguration, closure: Closure) -> dict[str, Array]:
    """Axes (3,) of the joint that closes a loop, by element; planar machines: pins about z.

    A universal joint's first axis stands in the leg's body: where it is when the simulation starts.
    """
    if closure.kind == 'pin':
        return {'axis': np.array([0.0, 0.0, 1.0])}
    if closure.kind != 'universal':
        return {}
    here = start.link_poses[closure.body][1] @ closure.rotation_body
    _, turn = start.link_poses.get(closure.other, (None, np.eye(3)))  # the base stands as it is
    there = turn @ closure.rotation_other
    return {'axis': there.T @ here[:, 0], 'axis2': np.array([0.0, 1.0, 0.0])}


def _limits_from(limits: JointLimits, start: float) -> dict[str, float]:
    """Limits of a joint whose zero in Gazebo is its position at the start [rad, m]."""
    # both ends are always written: some versions take absent bounds for zero
    ends = {'lower': max(limits.lower - start, -1e16), 'upper': min(limits.upper - start, 1e16)}
    others = {'effort': limits.effort, 'velocity': limits.velocity}
    return ends | {key: value for key, value in others.items() if np.isfinite(value)}


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
    return replace(machine, legs=tuple(leg.with_body_names(names) for leg in machine.legs))


def welded_ends(machine: Machine) -> list[ClosureEnd]:
    """Closures that are closed by welds: all but the first on the platform, whose joint carries the platform."""
    ends = closure_ends(machine)
    carrier = next((end for end in ends if end.closure.other == machine.platform.name), None)
    return [end for end in ends if end is not carrier]


def split_bodies(
    machine: Machine, ends: Sequence[ClosureEnd]
) -> tuple[dict[str, RigidBody], dict[str, RigidBody]]:
    """Take a small body out of what each closure holds: the same body on a smaller scale, with its centre of mass.

    Welded to it again, they give the machine file's bodies: mass, centre of mass and inertia.

    Returns
    -------
    bodies : link name -> what is left of a body
    small : closure name -> small body, its frame that of the closure on the other body
    """
    bodies = {joint.body.name: joint.body for joint in with_least_masses(machine).joints}
    if machine.has_platform:
        bodies[machine.platform.name] = machine.platform
    whole, small = dict(bodies), {}
    for end in ends:
        closure = end.closure
        if closure.other == 'base_link':
            small[closure.name] = _small(end.link)
            continue
        part = _scaled(whole[closure.other], _SHARE)
        bodies[closure.other] = _scaled(
            whole[closure.other], bodies[closure.other].mass / whole[closure.other].mass - _SHARE
        )
        small[closure.name] = replace(part.moved(closure.other_frame.inverse), name=end.link)
    return bodies, small


def with_least_masses(machine: Machine) -> Machine:
    """The machine as SDF has it: bodies without mass get a little, because engines take no others."""
    return with_joints(
        machine, lambda joint: joint if joint.body.mass > 0.0 else replace(joint, body=_small(joint.body.name))
    )


def _with_crosses_in_bodies(machine: Machine) -> Machine:
    """The machine with the little masses of crosses as points of the bodies behind them: where both have their frames.

    A cross with mass of its own would leave no turn idle, as those of a rod between two balls are.
    """
    behind = {one.body.name: other for one, other in pairwise(machine.joints) if one.part_of and not one.body.mass}
    points: dict[str, list[RigidBody]] = {}
    for cross in behind:
        body = cross
        while body in behind:
            body = behind[body].body.name
        points.setdefault(body, []).append(RigidBody('', SMALL_MASS))
    return with_joints(machine, lambda joint: replace(joint, body=joined(joint.body, *points.get(joint.body.name, []))))


def _small(name: str) -> RigidBody:
    return RigidBody(name, SMALL_MASS, np.zeros(3), _SMALL_INERTIA * np.eye(3))


def _scaled(body: RigidBody, share: float) -> RigidBody:
    return replace(body, mass=share * body.mass, inertia=share * body.inertia)
