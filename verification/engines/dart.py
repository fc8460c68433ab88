"""Simulation of a machine's SDF in DART, Gazebo's engine, with Gazebo's way of closing loops (DetachableJoint).

DART is built from what the SDF says; only the motion and the feed-forward forces come from the library. DART is
imported when a world is built, so the package runs without it. Its Python package cannot choose the solver ``pgs`` that
the SDF asks for; in Gazebo itself both gave the same figures.

DART integrates by the semi-implicit Euler method: new velocities from the accelerations at the old positions, new
positions from the new velocities. That is the leapfrog method, of second order, if velocities are read as those half a
step earlier than the positions: so the reference is.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics import inverse_dynamics
from pkm_description.export.rest import home_configuration
from pkm_description.export.sdf import sdf_text, with_least_masses
from pkm_description.export.sdf_systems import SdfOptions
from pkm_description.kinematics import joint_motion, motion_from_drives
from pkm_description.machine import Machine, PlatformMotion
from pkm_description.machine.machine import without_rotors
from pkm_description.report.words import figure_text

from verification.check import Check, at_most, not_reachable, within
from verification.engines.drives import driven_by, independent_drives
from verification.engines.projection import EngineMissingError
from verification.engines.sdf_reader import Pose, SdfModel, compose

#: largest way of a drive from home, m or rad
_WAY = 0.04
#: share of the way from home to a limit that a drive's motion uses at most
_SHARE_OF_RANGE = 0.8
_DURATION = 1.5  # s: all drives go there, most come back
_FREQUENCIES = (3.0, 5.0)  # rad/s, of the first and the last drive
_KINDS = {'fixed': 'Weld', 'ball': 'Ball', 'universal': 'Universal', 'revolute': 'Revolute', 'prismatic': 'Prismatic'}
_STEP = 1e-3  # s
#: N or N m, rms of a leg: the requirement
_FORCE = 0.02
#: N or N m: where forces are larger, 20 mN are less than two millionths of them, and the loops' drift of a step of 1 ms
#: (tenths of a micrometre, times the servo's stiffness) is more than that: a smaller step shows that it is the step
_HEAVY = 1e4
_FINE_STEP = 2.5e-4  # s


@dataclass(frozen=True)
class DartErrors:
    """Differences between a machine in DART and the library, along a motion.

    Attributes
    ----------
    correction : N or N m, rms of the controllers' part of the drive forces
    force : N or N m, largest force of the inverse dynamics
    position : m, largest error of a coordinate of the platform's position
    gap : m, largest opening of a loop
    """

    correction: float
    force: float
    position: float
    gap: float


class DartWorld:
    """The tree of an SDF as a skeleton, its DetachableJoints as welds; damping and friction are left out.

    Raises
    ------
    EngineMissingError
        DART is not installed or cannot be loaded.
    """

    def __init__(self, sdf: SdfModel) -> None:
        try:
            self.dart: Any = importlib.import_module('dartpy')
        except ModuleNotFoundError:
            raise EngineMissingError('DART is not installed: pip install dartpy') from None
        except ImportError as error:  # its wheel needs libraries of the system
            raise EngineMissingError(f'DART cannot be loaded: {error}; on Debian: apt-get install libgl1') from None
        self.world = self.dart.simulation.World()
        self.world.setTimeStep(float(sdf.root.findtext('world/physics/max_step_size', 'nan')))
        self.world.setGravity(_numbers(sdf.root.findtext('world/gravity', '')))
        self.skeleton = self.dart.dynamics.Skeleton('machine')
        self.bodies: dict[str, Any] = {}
        waiting = list(sdf.joints)
        while waiting:  # parents first
            for name in [one for one in waiting if sdf.ends(one)[0] in ('world', *self.bodies)]:
                self._add(sdf, name)
                waiting.remove(name)
        self.world.addSkeleton(self.skeleton)
        # DART's solver does not keep the Python objects alive
        self.welds = [self._weld(sdf, plugin.findtext('parent_link', ''), plugin.findtext('child_link', ''))
                      for plugin in sdf.plugins('DetachableJoint')]  # fmt: skip

    def _add(self, sdf: SdfModel, name: str) -> None:
        (parent, child), element, place = sdf.ends(name), sdf.joints[name], sdf.pose(name)
        create = getattr(self.skeleton, f'create{_KINDS[element.attrib["type"]]}JointAndBodyNodePair')
        joint, body = create(self.bodies.get(parent))
        direction = element.find('axis/xyz')
        second = element.find('axis2/xyz')
        if direction is not None and second is not None:
            joint.setAxis1(_numbers(direction.text or ''))
            joint.setAxis2(_numbers(second.text or ''))
        elif direction is not None:
            axis = _numbers(direction.text or '')
            joint.setAxis(place[1].T @ axis if direction.get('expressed_in') == 'base_link' else axis)
        start = (np.zeros(3), np.eye(3)) if parent == 'world' else sdf.pose(parent)
        joint.setTransformFromParentBodyNode(self._isometry(_relative(start, place)))
        joint.setTransformFromChildBodyNode(self._isometry(_relative(sdf.pose(child), place)))
        joint.setName(name)
        body.setInertia(self.dart.dynamics.Inertia(*sdf.inertial(child)))
        self.bodies[child] = body

    def _weld(self, sdf: SdfModel, first: str, second: str) -> tuple[Any, str, str, Array]:
        weld = self.dart.constraint.WeldJointConstraint(self.bodies[first], self.bodies[second])
        self.world.getConstraintSolver().addConstraint(weld)
        return weld, first, second, _relative(sdf.pose(first), sdf.pose(second))[0]

    def _isometry(self, pose: Pose) -> Any:
        result = self.dart.math.Isometry3()
        result.set_translation(pose[0])
        result.set_rotation(pose[1])
        return result

    def pose(self, link: str) -> Pose:
        """Position (3,) m and rotation (3, 3) of a link in the world."""
        transform = self.bodies[link].getTransform()
        return transform.translation(), transform.rotation()

    def gap(self) -> float:
        """Largest opening of a weld, m."""
        return max(
            float(np.abs(compose(self.pose(first), (point, np.eye(3)))[0] - self.pose(second)[0]).max())
            for _, first, second, point in self.welds
        )


def drive_motion(machine: Machine, home: Array, time: Array) -> tuple[PlatformMotion, Array, Array]:
    """Motion from rest at home ``home`` (A,) at times (N,) s, every drive with a frequency of its own.

    A drive moves to one side by up to 0.04 m or rad, as ``(1 - cos)^2``: forces begin without a step. Where a limit is
    too near, it moves to the side with more room, and less far if there is not enough of it on either side. Of a
    redundant machine some drives move so, and the others follow.

    Returns
    -------
    motion : of the platform, N samples
    positions, velocities : (N, A) of the drives
    """
    chosen = independent_drives(machine)
    start = home[chosen]
    limits = [machine.actuated_joints[drive].limits for drive in chosen]
    up, down = np.array([limit.upper for limit in limits]) - start, start - np.array([limit.lower for limit in limits])
    needed = _WAY / _SHARE_OF_RANGE
    way: Array = np.linspace(-_WAY, _WAY, len(start))
    near = np.where(way > 0.0, up, down) < needed
    way = np.where(near, np.abs(way) * np.where(up >= down, 1.0, -1.0), way)
    size = 0.25 * way * np.minimum(1.0, np.maximum(up, down) / needed)
    frequency = np.linspace(*_FREQUENCIES, len(start))
    cosine, sine = np.cos(time[:, None] * frequency), np.sin(time[:, None] * frequency)
    positions = start + size * (1.0 - cosine) ** 2
    velocities = 2.0 * size * frequency * (1.0 - cosine) * sine
    accelerations = 2.0 * size * frequency**2 * (sine**2 + (1.0 - cosine) * cosine)
    motion = motion_from_drives(driven_by(machine, chosen), time, positions, velocities, accelerations)
    if len(chosen) == len(home):
        return motion, positions, velocities
    joints = joint_motion(machine, motion)
    return motion, joints.positions[:, machine.drive_columns], joints.velocities[:, machine.drive_columns]


def dart_errors(machine: Machine, step: float) -> DartErrors:
    """Drive a machine's SDF in DART by the forces of the inverse dynamics and the SDF's own position controllers.

    Parameters
    ----------
    machine : with a platform; its rotors count for nothing, because SDF cannot express them, and its bodies without
        mass have the little one that SDF gives them
    step : s, time step of DART

    Raises
    ------
    EngineMissingError
        DART is not installed.
    """
    sdf = SdfModel(sdf_text(machine, SdfOptions(world=True, time_step=step)))
    world, machine = DartWorld(sdf), with_least_masses(without_rotors(machine))
    configuration = home_configuration(machine)
    home = np.array([configuration.joint_positions[joint.name] for joint in machine.actuated_joints])
    time = np.asarray(step * np.arange(round(_DURATION / step) + 1), dtype=float)
    motion, positions, _ = drive_motion(machine, home, time)
    velocities = drive_motion(machine, home, time - 0.5 * step)[2]
    forces = inverse_dynamics(machine, motion, friction=False)
    controller = sdf.plugins('JointPositionController')[0]
    stiffness, damping = (float(controller.findtext(key, 'nan')) for key in ('p_gain', 'd_gain'))
    joints = [world.skeleton.getJoint(joint.name) for joint in machine.actuated_joints]
    corrections, misses = np.zeros((len(motion) - 1, len(joints))), np.zeros(len(motion) - 1)
    gap = 0.0
    for sample in range(len(corrections)):
        for number, joint in enumerate(joints):
            error = positions[sample, number] - home[number] - joint.getPosition(0)
            correction = stiffness * error + damping * (velocities[sample, number] - joint.getVelocity(0))
            corrections[sample, number] = correction
            joint.setForce(0, forces[sample, number] + correction)
        world.world.step()
        misses[sample] = np.abs(world.pose(machine.platform.name)[0] - motion.position[sample + 1]).max()
        gap = max(gap, world.gap())
    correction = float(np.sqrt(np.mean(corrections**2)))
    return DartErrors(correction, float(np.abs(forces).max()), float(misses.max()), gap)


def _numbers(text: str) -> Array:
    return np.array([float(word) for word in text.split()])


def _relative(first: Pose, second: Pose) -> Pose:
    """The second pose in the first one's frame."""
    return first[1].T @ (second[0] - first[0]), first[1].T @ second[1]


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """Simulate with two time steps: what is left must go with the step.

    Two simulations are the least that this needs: ``quick`` changes nothing.
    """
    try:
        coarse, fine = dart_errors(machine, _STEP), dart_errors(machine, _STEP / 2.0)
        redundant = machine.actuated_count > int(machine.model.degrees_of_freedom[0])
        coarse_step = coarse.force > _HEAVY or (redundant and coarse.correction > _FORCE)
        finest = dart_errors(machine, _FINE_STEP) if coarse_step else None
    except EngineMissingError as error:
        what = 'simulation of the SDF with the forces of the inverse dynamics'
        yield not_reachable('DART', what, f'<= {figure_text(_FORCE, "N")}', str(error))
        return
    what = f'controllers beside the inverse dynamics (up to {figure_text(coarse.force, "N")})'
    if finest is None:
        yield at_most('DART', f'{what} at 1 ms, rms', _FORCE, coarse.correction, 'N')
    else:
        # what the loops drift strains a redundant machine, whose servos push against each other
        limit = 2e-4 if redundant else 5e-6
        yield at_most('DART', f'{what} at 1 ms, rms, relative', limit, coarse.correction / coarse.force)
        yield at_most('DART', f'{what} at 0.25 ms, rms', _FORCE, finest.correction, 'N')
    yield at_most('DART', "error of the platform's position at 1 ms", 1e-5, coarse.position, 'm')
    yield at_most('DART', 'opening of the loops at 1 ms', 5e-5, coarse.gap, 'm')
    ratio = fine.correction / coarse.correction
    yield within('DART', 'controllers at 0.5 ms over those at 1 ms', 0.2, 0.65, ratio)
