"""Sections of a new machine file with explaining comments."""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import ceil, degrees, log10
from pathlib import Path

import numpy as np

from pkm_description.arrays import Array
from pkm_description.bounded_yaml import bounded_yaml
from pkm_description.dynamics import gravity_forces, inverse_dynamics
from pkm_description.kinematics import motion_from_drives
from pkm_description.kinematics.closed_legs import admissible_home
from pkm_description.loading.load import machine_of_content, unchecked_machine
from pkm_description.machine import Machine, Pose
from pkm_description.machine.machine import with_gravity
from pkm_description.skeleton.kinds import KINDS, sizes_of, sketch_of
from pkm_description.skeleton.sketch import BodySketch, JointSketch, Sketch, two_digits

#: least force [N] or torque [N m] of a drive, and how many times the force that holds home it gets
_LEAST_EFFORT, _RESERVE = {'prismatic': 100.0, 'revolute': 20.0}, 5.0

#: 1/s, bandwidth of the servo's damping in the lightest direction, and of its stiffness over the damping
_SERVO_BANDWIDTH, _STIFFNESS_OVER_DAMPING = 200.0, 25.0
TO_MEASURE = 'assumed: to be measured'

_HEAD = """\
# {name}: {kind}, {what}.
#
# Written by new_machine. The file loads as it stands; every number in it is to be replaced by your machine's. What
# provenance calls 'assumed: to be measured' is a round number. SI units, angles in rad, z up (REP 103). A number may be
# a list with one entry per leg. Check the file after every change:
#   inspect_machine {name}.yaml
# Where the loader says that the legs do not admit home (asymmetric 3-RPS, 3-PRS, 3-RRS), let it be solved:
#   new_machine --from {name}.yaml -o {name}.yaml --force
#
# Frames. base_link: on the base, in the middle of the base joints; x forward, y left, z up.
# platform_link: on the platform, in the middle of the platform joints; parallel to base_link at home.
# Base frame of a leg (base_point, base_rpy): in its first joint; x outward, y along the circle (counter-clockwise seen
# from above), z up. Frame of a joint: given in the frame of the body before it; the body behind it has that frame.
#
# Inertias are those of the tensor about the body's centre of mass, in the axes of the body's frame, kg m^2. From CAD:
#   1. Have mass properties printed in the axes of the body's frame (a coordinate system of the CAD model), mass in kg.
#   2. kg mm^2 times 1e-6 (g mm^2 times 1e-9) is kg m^2; mm times 1e-3 is m.
#   3. Products: the file has ixy = -sum m x y. Many programs print +sum m x y: change the sign of all three.
#   4. About another point than the centre of mass, which lies at (cx, cy, cz) from there:
#        ixx - m (cy^2 + cz^2)   iyy - m (cx^2 + cz^2)   izz - m (cx^2 + cy^2)
#        ixy + m cx cy           ixz + m cx cz           iyz + m cy cz        (ixy as in 3.)
#   pkm_description.skeleton.inertia_from_cad does 2 to 4.
schema: 1
name: {name}
description: {kind} written by new_machine, to be completed
gravity: [0.0, 0.0, -9.80665]
"""

_LEGS = """
# Leg 1 is the first leg counter-clockwise from the +x axis of base_link (or on that axis), seen from above (looking
# along -z); the others follow counter-clockwise. All lists with one entry per leg, and all arrays of the suite, have
# the order of this list. Where the drives of your machine are numbered otherwise, put the legs into that order and
# rename them.
# Azimuths of the base joints, counter-clockwise from +x: {azimuths} deg
legs:
"""

_IMU = """\
  imu:
    # of the platform; xyz and rpy in platform_link. noise: standard deviation of a sample, from the data sheet or a
    # recording at rest
    link: imu_link
    xyz: [0.0, 0.0, 0.0]
    rpy: [0.0, 0.0, 0.0]
    rate: 200.0
    accelerometer:
      noise: [5.0e-3, 5.0e-3, 5.0e-3]
      bias: [0.0, 0.0, 0.0]
    gyroscope:
      noise: [5.0e-4, 5.0e-4, 5.0e-4]
      bias: [0.0, 0.0, 0.0]
"""


@dataclass(frozen=True)
class Drives:
    """What the masses determine: force [N or N m], and the servo's stiffness and damping (per m or rad)."""

    effort: float = 1e5
    stiffness: float = 1e4
    damping: float = 1e3


def file_text(kind: str, name: str, sketch: Sketch, drives: Drives) -> str:
    """Text of the machine file."""
    return ''.join(
        [
            _HEAD.format(name=name, kind=_title(kind), what=KINDS[kind]),
            _platform_text(sketch),
            _chain_text(sketch, drives),
            _legs_text(sketch),
            _sensors_text(sketch),
            _servo_text(drives),
            _provenance_text(sketch),
        ]
    )


def _title(kind: str) -> str:
    return f'{kind[0]}-{kind[1:].upper()}'


def _platform_text(sketch: Sketch) -> str:
    freedom = '  freedom: planar  # moves in x and y and turns about z\n' if sketch.planar else ''
    home = f'  home: {{xyz: {vector(sketch.home)}, rpy: [0.0, 0.0, 0.0]}}\n'
    return f'\nplatform:\n  link: platform_link\n{freedom}{home}  body:\n{_body_text(sketch.platform, 4)}'


def _chain_text(sketch: Sketch, drives: Drives) -> str:
    lines = ['\n# Every leg, from base to platform. Positive positions turn or slide along the axis.\nleg_chain:\n']
    lines += [_joint_text(joint, drives) for joint in sketch.joints]
    lines.append(f'\n# the closing point in the frame of the last body\nleg_tip: {vector(sketch.tip)}\n')
    if not sketch.planar:
        lines.append('\n# how far the ball joints may tilt from where they are at home\nball_joint: {cone: 0.7}\n')
    return ''.join(lines)


def _joint_text(joint: JointSketch, drives: Drives) -> str:
    turning = joint.kind == 'revolute'
    lower, upper = (number(limit) for limit in joint.limits)
    limits = f'lower: {lower}, upper: {upper}, velocity: {number(10.0 if turning else 1.0)}'
    viscous, coulomb = (0.0, 0.0) if not joint.driven else (0.5, 0.2) if turning else (20.0, 5.0)
    if joint.driven:
        limits += f', effort: {number(drives.effort)}'
    lines = [
        f'- name: {joint.key}  # {joint.note}',
        f'  type: {joint.kind}',
        f'  axis: {vector(joint.axis)}',
        f'  origin: {{xyz: {vector(joint.offset)}, rpy: [0.0, 0.0, 0.0]}}',
        *(['  actuated: true'] if joint.driven else []),
        f'  home: {home_text(joint.home)}',
        f'  limits: {{{limits}}}',
        f'  friction: {{viscous: {number(viscous)}, coulomb: {number(coulomb)}}}',
        *(['  rotor_inertia: 0.0  # of motor and gear, reflected to the joint: kg or kg m^2'] if joint.driven else []),
        '  body:',
        f'    name: {joint.body.name}',
    ]
    return textwrap.indent('\n'.join(lines) + '\n' + _body_text(joint.body, 4), '  ')


def _body_text(body: BodySketch, indent: int) -> str:
    moments = [number(moment) for moment in body.moments]
    text = (
        f'mass: {number(body.mass)}\ncenter_of_mass: {vector(body.center_of_mass)}\n'
        f'inertia: {{ixx: {moments[0]}, ixy: 0.0, ixz: 0.0, iyy: {moments[1]}, iyz: 0.0, izz: {moments[2]}}}\n'
    )
    return textwrap.indent(text, ' ' * indent)


def _legs_text(sketch: Sketch) -> str:
    text = _LEGS.format(azimuths=', '.join(f'{degrees(angle):.1f}' for angle in sketch.azimuths))
    rows = zip(sketch.base_points, sketch.azimuths, sketch.platform_points, strict=True)
    for index, (base, azimuth, anchor) in enumerate(rows, start=1):
        text += (
            f'  - name: leg{index}\n    base_point: {vector(base)}\n    base_rpy: {vector([0.0, 0.0, azimuth])}\n'
            f'    platform_point: {vector(anchor)}\n'
        )
    return text


def _sensors_text(sketch: Sketch) -> str:
    turning = next(joint for joint in sketch.joints if joint.driven).kind == 'revolute'
    unit = 'rad, rad/s, N m' if turning else 'm, m/s, N'
    return (
        f'\nsensors:\n{_IMU}  legs:\n    # of the drives; noise: standard deviations of a sample, {unit}\n'
        '    rate: 200.0\n    position_noise: 1.0e-5\n    velocity_noise: 1.0e-3\n    effort_noise: 1.0\n'
    )


def _servo_text(drives: Drives) -> str:
    return (
        "\n# the drives' position loop in simulation\n"
        f'servo: {{stiffness: {number(drives.stiffness)}, damping: {number(drives.damping)}}}\n'
    )


def _provenance_text(sketch: Sketch) -> str:
    entries = {
        'gravity': 'assumed: standard gravity',
        'platform': TO_MEASURE,
        'platform.home': 'derived: a pose that the legs admit, by new_machine',
        'leg_chain': TO_MEASURE,
        **{f'leg_chain.{joint.key}.axis': 'derived: choice of frames' for joint in sketch.joints},
        **{f'leg_chain.{joint.key}.home': 'derived: solved for platform.home' for joint in sketch.joints},
        'leg_tip': TO_MEASURE,
        **({} if sketch.planar else {'ball_joint': TO_MEASURE}),
        'legs': TO_MEASURE,
        'sensors': TO_MEASURE,
        'servo': 'assumed: about 200 rad/s of bandwidth in the lightest direction with the masses above',
    }
    lines = [f"  {key}: '{text}'\n" for key, text in entries.items()]
    return (
        '\n# dotted key (all that lies below it; the longest key wins) -> where the number comes from: printed,\n'
        "# derived or assumed, and what more there is to say, e.g. 'printed: drawing 12-345'\nprovenance:\n"
        + ''.join(lines)
    )


def number(value: float) -> str:
    """Number that YAML reads as one: with a decimal point, also before an exponent."""
    text = f'{value + 0.0:.15g}'
    mantissa, _, exponent = text.partition('e')
    mantissa += '' if '.' in mantissa else '.0'
    return f'{mantissa}e{exponent}' if exponent else mantissa


def vector(values: Iterable[float]) -> str:
    """List of numbers; what is only rounding is zero."""
    flat = [float(value) for value in values]
    return f'[{", ".join(number(0.0 if abs(value) < 1e-15 else value) for value in flat)}]'


def home_text(positions: Array) -> str:
    """Joint positions (L,) at home: one number where all legs have the same, else a list.

    Six digits: they say which branch of the legs is meant, and where iterations begin.
    """
    rounded = np.round(positions, 6)
    return number(rounded[0]) if np.all(rounded == rounded[0]) else vector(rounded)


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
