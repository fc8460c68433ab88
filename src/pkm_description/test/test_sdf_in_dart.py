"""The SDF moves as the numerical model says, in Gazebo's own engine (DART) with its way of welding loops.

DART is built from what the SDF says; only motion and forces come from the suite. dartpy is no dependency of the suite
(``pip install dartpy``); without it test_sdf and test_export_round_trip still check every number of the file.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from pkm_description.dynamics import inverse_dynamics
from pkm_description.export.home import home_configuration
from pkm_description.export.sdf import SdfOptions, sdf_text
from pkm_description.kinematics import motion_from_drives
from pkm_description.loading import load_machine
from pkm_description.machine import Machine, PlatformMotion
from sdf_reader import Pose, SdfModel, compose

dart = pytest.importorskip('dartpy', reason='dartpy (the engine of Gazebo) is not installed')


def isometry(pose: Pose) -> object:
    result = dart.math.Isometry3()
    result.set_translation(pose[0])
    result.set_rotation(pose[1])
    return result


def relative(first: Pose, second: Pose) -> Pose:
    return first[1].T @ (second[0] - first[0]), first[1].T @ second[1]


class DartWorld:
    """The tree of an SDF as skeleton, its DetachableJoints as welds, damping and friction left out."""

    def __init__(self, sdf: SdfModel, step: float) -> None:
        self.world, self.bodies = dart.simulation.World(), {}
        self.world.setTimeStep(step)
        self.world.setGravity([float(word) for word in sdf.root.findtext('world/gravity', '').split()])
        self.skeleton = dart.dynamics.Skeleton('machine')
        waiting = list(sdf.joints)
        while waiting:  # parents first
            for name in [one for one in waiting if sdf.ends(one)[0] in ('world', *self.bodies)]:
                self._add(sdf, name)
                waiting.remove(name)
        self.world.addSkeleton(self.skeleton)
        self.welds = []
        for plugin in sdf.plugins('DetachableJoint'):
            ends = plugin.findtext('parent_link', ''), plugin.findtext('child_link', '')
            weld = dart.constraint.WeldJointConstraint(*(self.bodies[end] for end in ends))
            self.world.getConstraintSolver().addConstraint(weld)
            self.welds.append((weld, ends, relative(sdf.pose(ends[0]), sdf.pose(ends[1]))[0]))

    def _add(self, sdf: SdfModel, name: str) -> None:
        (parent, child), element, place = sdf.ends(name), sdf.joints[name], sdf.pose(name)
        kind = {'fixed': 'Weld', 'ball': 'Ball', 'revolute': 'Revolute', 'prismatic': 'Prismatic'}[element.get('type')]
        create = getattr(self.skeleton, f'create{kind}JointAndBodyNodePair')
        joint, body = create(self.bodies.get(parent))
        if element.find('axis') is not None:
            axis = np.array([float(word) for word in element.findtext('axis/xyz', '').split()])
            in_base = element.find('axis/xyz').get('expressed_in') == 'base_link'
            joint.setAxis(place[1].T @ axis if in_base else axis)
        start = (np.zeros(3), np.eye(3)) if parent == 'world' else sdf.pose(parent)
        joint.setTransformFromParentBodyNode(isometry(relative(start, place)))
        joint.setTransformFromChildBodyNode(isometry(relative(sdf.pose(child), place)))
        joint.setName(name)
        body.setInertia(dart.dynamics.Inertia(*sdf.inertial(child)))
        self.bodies[child] = body

    def pose(self, link: str) -> Pose:
        transform = self.bodies[link].getTransform()
        return transform.translation(), transform.rotation()

    def gap(self) -> float:
        """Largest opening of a weld, m."""
        return max(
            np.abs(compose(self.pose(first), (point, np.eye(3)))[0] - self.pose(second)[0]).max()
            for _, (first, second), point in self.welds
        )


def drive_motion(machine: Machine, home: np.ndarray, step: float) -> tuple[PlatformMotion, np.ndarray, np.ndarray]:
    """From rest at home, every drive with a frequency of its own; with positions and velocities of the drives."""
    time = step * np.arange(round(0.2 / step) + 1)
    size, frequency = np.linspace(-0.02, 0.02, len(home)), np.linspace(6.0, 9.0, len(home))
    angle = time[:, None] * frequency
    positions = home + size * (1.0 - np.cos(angle))
    velocities = size * frequency * np.sin(angle)
    motion = motion_from_drives(machine, time, positions, velocities, size * frequency**2 * np.cos(angle))
    return motion, positions, velocities


def without_rotors(machine: Machine) -> Machine:
    """What the SDF can express."""
    legs = tuple(
        dataclasses.replace(leg, joints=tuple(dataclasses.replace(joint, rotor_inertia=0.0) for joint in leg.joints))
        for leg in machine.legs
    )
    return dataclasses.replace(machine, legs=legs)


def errors(machine: Machine, step: float) -> tuple[float, float, float]:
    """Rms correction of the drives over the largest force, position error of the platform and gap of the welds, m."""
    sdf = SdfModel(sdf_text(machine, SdfOptions(world=True)))
    world, bare = DartWorld(sdf, step), without_rotors(machine)
    configuration = home_configuration(machine)
    home = np.array([configuration.joint_positions[joint.name] for joint in machine.actuated_joints])
    motion, positions, velocities = drive_motion(bare, home, step)
    forces = inverse_dynamics(bare, motion, friction=False)
    controller = sdf.plugins('JointPositionController')[0]
    gains = [float(controller.findtext(key, 'nan')) for key in ('p_gain', 'd_gain')]
    joints = [world.skeleton.getJoint(joint.name) for joint in machine.actuated_joints]
    corrections, misses = np.zeros((len(motion) - 1, len(joints))), np.zeros(len(motion) - 1)
    for sample in range(len(corrections)):
        for number, joint in enumerate(joints):
            error = positions[sample, number] - home[number] - joint.getPosition(0)
            correction = gains[0] * error + gains[1] * (velocities[sample, number] - joint.getVelocity(0))
            corrections[sample, number] = correction
            joint.setForce(0, forces[sample : sample + 2, number].mean() + correction)
        world.world.step()
        misses[sample] = np.abs(world.pose(machine.platform.name)[0] - motion.position[sample + 1]).max()
    return np.sqrt((corrections**2).mean()) / np.abs(forces).max(), misses.max(), world.gap()


@pytest.mark.parametrize('name', ['palida', 'valencia_3rps', 'khalifa_3prr', 'hexaglide_6pus'])
def test_dart_needs_the_forces_of_the_inverse_dynamics(name: str) -> None:
    """Its integrator is of first order: what is left must halve with the step."""
    machine = load_machine(name)
    coarse, fine = errors(machine, 1e-3), errors(machine, 5e-4)
    assert coarse[0] < 1e-2
    assert coarse[1] < 1e-4
    assert coarse[2] < 2e-5
    for large, small in zip(coarse[:2], fine[:2], strict=True):
        assert small == pytest.approx(0.5 * large, rel=0.1)
