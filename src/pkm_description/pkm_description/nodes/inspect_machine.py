"""Command: what a machine file describes, in figures."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import numpy as np

from pkm_description.dynamics import gravity_forces, rigid_body_regressor
from pkm_description.errors import PkmError
from pkm_description.kinematics import leg_lengths, length_jacobian
from pkm_description.kinematics.workspace import single_axis_limits
from pkm_description.machine import Machine, load_machine, machine_names
from pkm_description.mechanism import Mechanism
from pkm_description.motion import PlatformMotion
from pkm_description.motion.random_states import random_states


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a machine; returns 0, or 1 with one line that says what is wrong."""
    parser = argparse.ArgumentParser(prog='inspect_machine', description=__doc__)
    parser.add_argument('machine', help=f'machine file, or one of: {", ".join(machine_names())}')
    parser.add_argument('--overlay', help='parameter overlay')
    options = parser.parse_args(arguments)
    try:
        print('\n'.join(describe(load_machine(options.machine, options.overlay))))
    except PkmError as error:
        print(f'error: {error}', file=sys.stderr)
        return 1
    return 0


def describe(machine: Machine) -> list[str]:
    """Lines of text about a machine."""
    mechanism = Mechanism(machine)
    home = PlatformMotion.at_rest(machine.home.position, machine.home.rotation_base_platform)
    pose = home.position, home.rotation_base_platform
    lengths = leg_lengths(mechanism, *pose)[0]
    forces = gravity_forces(mechanism, *pose)[0]
    bodies = [joint.body for leg in machine.legs for joint in leg.joints]
    total = machine.platform.mass + sum(body.mass for body in bodies)
    lines = [
        f'{machine.name}: {machine.description}',
        f'file                {machine.path}',
        f'bodies              {1 + len(bodies)}, {total:.6g} kg; platform {machine.platform.mass:.6g} kg',
        f'legs                {mechanism.leg_count} of {" - ".join(mechanism.joint_kinds)}, one driven joint each',
        f'condition at home   {np.linalg.cond(length_jacobian(mechanism, *pose)[0]):.4g} (length Jacobian, m and rad)',
    ]
    for identical, text in ((True, 'alike legs'), (False, 'each leg its own')):
        lines.append(f'base parameters     {_base_parameter_count(mechanism, identical)} ({text}, rigid bodies)')
    lines += ['', 'leg    length at home   stroke               drive limit   holds at home']
    lower, upper = [], []
    for leg, length, force in zip(machine.legs, lengths, forces, strict=True):
        limits = next(joint for joint in leg.joints if joint.actuated).limits
        lower.append(leg.length_at_zero + limits.lower)
        upper.append(leg.length_at_zero + limits.upper)
        stroke = f'{lower[-1]:.4f} to {upper[-1]:.4f} m'
        lines.append(f'{leg.name:<6} {length:.4f} m         {stroke:<20} {limits.effort:8.6g} N   {force:10.1f} N')
    lines += ['', 'one axis at a time, from home']
    names = ('x', 'y', 'z', 'about x', 'about y', 'about z')
    for axis, (least, most) in single_axis_limits(mechanism).items():
        name = names[axis]
        if name.startswith('about'):
            lines.append(f'{name:<8} {np.degrees(least):+8.2f} to {np.degrees(most):+8.2f} deg')
        else:
            lines.append(f'{name:<8} {least:+8.3f} to {most:+8.3f} m')
    return lines


def _base_parameter_count(mechanism: Mechanism, identical_legs: bool) -> int:
    """Rank of the regressor over random states."""
    states = random_states(mechanism.machine, 100, seed=1)
    matrix = rigid_body_regressor(mechanism, states, identical_legs).reshape(-1, _width(mechanism, identical_legs))
    scale = np.linalg.norm(matrix, axis=0)
    # columns that are zero but for rounding must not be scaled up
    used = scale > 1e-9 * scale.max()
    singular_values = np.linalg.svd(matrix[:, used] / scale[used], compute_uv=False)
    return int(np.count_nonzero(singular_values > 1e-9 * singular_values[0]))


def _width(mechanism: Mechanism, identical_legs: bool) -> int:
    return 10 * (1 + mechanism.joint_count * (1 if identical_legs else mechanism.leg_count))
