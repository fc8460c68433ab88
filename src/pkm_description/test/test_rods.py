"""Legs that are rods: closed form against the general path, and against closures written with SciPy."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import yaml
from graph_machines import FOLDER
from pkm_description.arrays import Array
from pkm_description.errors import AssemblyModeError
from pkm_description.kernels.forward_kinematics.assembly import drive_jacobian
from pkm_description.kernels.forward_kinematics.continuation import start_at
from pkm_description.kernels.forward_kinematics.newton import leg_gaps
from pkm_description.kernels.forward_kinematics.rods import rod_drive, rod_orientation
from pkm_description.kernels.kinematics.legs import eliminate, leg_orientation
from pkm_description.kernels.kinematics.tree import leg_poses
from pkm_description.kinematics import forward_kinematics, joint_positions
from pkm_description.kinematics.forward import ForwardKinematicsResult
from pkm_description.loading import load_machine
from pkm_description.loading.load import machine_of_content
from pkm_description.loading.yaml_reader import by_name
from pkm_description.machine import Machine
from random_graphs import closure_errors
from random_rods import random_rods
from wrong_machines import put

#: machines of the description that have rods, and how many of their legs are
NAMES = {'hexaglide_6pus': 6, 'valencia_3rps': 3, 'khalifa_3prr': 3, 'four_rrr': 4, 'five_bar': 1, 'delta': 3}

#: random machines of one test, and all of them
BATCH, COUNT = 25, 200


def without_rods(machine: Machine) -> Machine:
    """The machine on the general path, passive joints as unknowns."""
    general = copy.copy(machine)
    for name in ('compiled_model', '_memory'):
        vars(general).pop(name, None)
    vars(general)['model'] = machine.model._replace(rod_carrier=np.full(machine.leg_count, -1))
    return general


def drives_about_home(machine: Machine, count: int, reach: float, seed: int = 0) -> Array:
    """Drive positions (N, A) that a motion from home gives; of redundant machines home alone has some."""
    random, model = np.random.default_rng(seed), machine.model
    home = model.home_joints[model.drive_joint]
    if machine.actuated_count > machine.degrees_of_freedom:
        return np.repeat(home[None], count, axis=0)
    size = np.where(model.kind[model.drive_joint] == 0, reach, reach * model.radius[0])
    return np.asarray(home + size * random.uniform(-1.0, 1.0, (count, len(home))))


def compare(found: ForwardKinematicsResult, general: ForwardKinematicsResult) -> Array:
    """Numbers (3,) of poses that both trust, or rods alone, or the general path alone; those of both are the same."""
    both = found.trusted & general.trusted
    loose = 1e-12 * np.maximum(general.condition[both], 1.0)
    assert (np.abs(found.position - general.position)[both].max(axis=1, initial=0.0) < 1e2 * loose).all()
    assert (np.abs(found.joint_positions - general.joint_positions)[both].max(axis=1, initial=0.0) < 1e4 * loose).all()
    np.testing.assert_allclose(found.condition[both], general.condition[both], rtol=1e-6)
    return np.array([both.sum(), (found.trusted & ~general.trusted).sum(), (general.trusted & ~found.trusted).sum()])


@pytest.mark.parametrize('name', NAMES)
@pytest.mark.parametrize('verify', [False, True])
def test_machines_with_rods_as_on_the_general_path(name: str, verify: bool) -> None:
    machine = load_machine(name)
    assert np.count_nonzero(machine.model.rod_carrier >= 0) == NAMES[name]
    drives = drives_about_home(machine, 300, 0.15)
    general = forward_kinematics(without_rods(machine), drives, verify_branch=verify)
    both, more, fewer = compare(forward_kinematics(machine, drives, verify_branch=verify), general)
    assert both > 100 and more + fewer <= 3


@pytest.mark.parametrize('first', range(0, COUNT, BATCH))
def test_random_machines_of_rods(first: int) -> None:
    checked = alike = refused = kinds = 0
    trusted = np.zeros(3)
    for machine in map(random_rods, range(first, first + BATCH)):
        assert (machine.model.rod_carrier >= 0).all(), machine.name
        kinds |= 1 if machine.planar else 2
        if machine.actuated_count < machine.degrees_of_freedom:
            continue
        drives = drives_about_home(machine, 12, 0.05)
        found, general = (
            forward_kinematics(one, drives, verify_branch=True) for one in (machine, without_rods(machine))
        )
        if not general.condition[0] < 1e3:
            continue
        trusted += compare(found, general)
        for sample in np.flatnonzero(found.trusted):
            joints, pose = found.joint_positions[sample], (found.position[sample], found.rotation_base_platform[sample])
            assert max(closure_errors(machine, joints, *pose)) < 1e-11
            assert np.abs(joints[machine.drive_columns] - drives[sample]).max() == 0.0
            if found.condition[sample] < 1e3:
                checked += 1
                try:
                    inverse = joint_positions(machine, *(one[None] for one in pose))[0]
                except AssemblyModeError:  # several drive positions of a leg reach the pose, and home tells none
                    refused += 1
                    continue
                # a leg may reach the pose with another drive position, on the other side of its universal joint
                alike += int(np.abs(inverse - joints).max() < 1e-8)
    assert kinds == 3 and checked > 4 * BATCH and refused < 0.02 * checked and alike > 0.9 * (checked - refused)
    # passive joints as unknowns end a path where a universal joint has no angles, although the platform may go on
    # (more poses of rods), and Newton's steps from home do not find the same poses far out
    assert trusted[1:].sum() < 0.1 * trusted[0]


@pytest.mark.campaign  # by kernels that nothing else calls from Python: they are compiled for this alone
def test_home_of_random_machines_of_rods() -> None:
    for machine in map(random_rods, range(COUNT)):
        if machine.actuated_count >= machine.degrees_of_freedom:
            check_home(machine)


def check_home(machine: Machine) -> None:
    """What the rods say of the legs at home is what the general path says."""
    model, data, scratch = machine.compiled_model, machine.scratch[0], machine.scratch[1]
    home = machine.model
    start_at(
        model, scratch, home.home_joints[None].copy(), home.home_position[None].copy(), home.home_rotation[None].copy(),
        0, 0,
    )  # fmt: skip
    assert leg_gaps(model, scratch)[0] < 1e-12
    for leg in range(machine.leg_count):
        regular = rod_drive(model, scratch, leg)
        side = rod_orientation(model, scratch, leg)
        leg_poses(model, scratch, leg)
        assert regular == pytest.approx(eliminate(model, scratch, leg), rel=1e-9)
        orientation = leg_orientation(model, scratch, leg)
        if data.rows.shape[1] and home.rod_joints[home.closure_start[leg], 1] >= 0:
            assert side[0] * orientation[0] > 0.0
        else:
            np.testing.assert_allclose(side, orientation, atol=1e-12)
    leg_gaps(model, scratch)
    sign = drive_jacobian(model, scratch, 0)
    assert abs(sign) == float(machine.actuated_count == machine.degrees_of_freedom)


def test_rods_follow_where_their_joints_turn_over() -> None:
    """A rod that comes to its universal joint's first axis has two sets of angles; those at home's side are taken."""
    machine = load_machine('hexaglide_6pus')
    first = machine.model.rod_joints[:, 0]
    drives = drives_about_home(machine, 200, 1.0, seed=3)
    found = forward_kinematics(machine, drives)
    joints = found.joint_positions[found.converged][:, first]
    assert len(joints) > 50
    assert np.abs(joints - machine.model.home_joints[first]).max() <= np.pi


@pytest.mark.parametrize(
    ('key', 'value'),
    [('leg_chain.universal_2.origin.xyz', [0.0, 0.02, 0.0]), ('leg_tip', [0.0, 0.01, -0.6])],
    ids=['axes apart', 'rod aside'],
)
def test_other_legs_stay_on_the_general_path(key: str, value: list[float]) -> None:
    """Axes that miss each other, or a rod that is not perpendicular to the second one: its end leaves the sphere."""
    path = FOLDER / 'hexaglide_6pus' / 'machine.yaml'
    content = by_name(path, yaml.safe_load(path.read_text()))
    content.pop('provenance')
    put(content, key, value)
    machine = machine_of_content(path, content)
    assert (machine.model.rod_carrier == -1).all()
