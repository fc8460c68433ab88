"""Regressors, friction, energies and forward dynamics against each other and against the law of energy."""

from __future__ import annotations

import numpy as np
import pytest
from hand_built_machines import heimann_check_robot, turned_link_frames, with_identical_legs
from pkm_description.dynamics import (
    friction_parameter_names,
    friction_parameters,
    gravity_forces,
    inverse_dynamics,
    rigid_body_parameter_names,
    rigid_body_parameters,
    rigid_body_regressor,
)
from pkm_description.errors import SingularPoseError
from pkm_description.kinematics import joint_motion
from pkm_description.kinematics.workspace import random_states
from pkm_description.machine import Machine, PlatformMotion

Array = np.ndarray


@pytest.fixture(scope='module', params=[heimann_check_robot, turned_link_frames], ids=['heimann', 'turned'])
def machine(request: pytest.FixtureRequest) -> Machine:
    return request.param()


def leg_rates(machine: Machine, motion: PlatformMotion) -> Array:
    return joint_motion(machine, motion).velocities[..., machine.drive_columns]


def test_identical_legs_share_parameters() -> None:
    machine = with_identical_legs(heimann_check_robot())
    motion = random_states(machine, 20, seed=1)
    forces = inverse_dynamics(machine, motion, friction=False)
    shared = rigid_body_regressor(machine, motion) @ rigid_body_parameters(machine)
    assert np.abs(shared - forces).max() < 1e-12 * np.abs(forces).max()


def test_names_belong_to_parameters(machine: Machine) -> None:
    values = dict(
        zip(rigid_body_parameter_names(machine, False), rigid_body_parameters(machine, False), strict=True)
    )
    rod = machine.legs[4].joints[2].body
    assert values['leg5_rod.m'] == rod.mass
    assert values['leg5_rod.my'] == pytest.approx(rod.mass * rod.center_of_mass[1])
    assert len(values) == 190
    shared = rigid_body_parameter_names(with_identical_legs(machine))
    assert shared[0] == 'platform_link.m'
    assert shared[10:40:10] == ['leg_cross.m', 'leg_cylinder.m', 'leg_rod.m']
    friction = dict(zip(friction_parameter_names(machine), friction_parameters(machine), strict=True))
    assert friction['leg3_prismatic.coulomb'] == machine.legs[2].joints[2].friction.coulomb
    assert len(friction_parameter_names(machine, 'all')) == len(friction_parameters(machine, 'all')) == 36


def test_legs_that_differ_are_not_shared(machine: Machine) -> None:
    with pytest.raises(ValueError, match='use identical_legs=False'):
        rigid_body_parameters(machine, identical_legs=True)


def relative_rank(regressor: Array) -> tuple[int, float]:
    """Rank of column-normalised regressor rows, and the gap after the last singular value that counts."""
    stacked = regressor.reshape(-1, regressor.shape[-1])
    norms = np.linalg.norm(stacked, axis=0)
    used = norms > 1e-9 * norms.max()
    values = np.linalg.svd(stacked[:, used] / norms[used], compute_uv=False)
    rank = int(np.sum(values > 1e-6 * values[0]))
    return rank, float(values[rank - 1] / values[rank]) if rank < len(values) else np.inf


@pytest.mark.parametrize(
    ('identical', 'rings', 'rank'),
    [(False, True, 88), (False, False, 82), (True, True, 23), (True, False, 22)],
)
def test_ranks_of_the_check_robot(identical: bool, rings: bool, rank: int) -> None:
    """Ranks of hexapods with three bodies per leg (R4-11)."""
    machine = heimann_check_robot()
    regressor = rigid_body_regressor(machine, random_states(machine, 80, seed=8), identical)
    if not rings:
        ring_columns = [
            name.split('.')[0].endswith('_cross')
            for name in rigid_body_parameter_names_of(machine, identical)
        ]
        regressor = regressor[..., ~np.array(ring_columns)]
    found, gap = relative_rank(regressor)
    assert found == rank
    assert gap > 1e4


def rigid_body_parameter_names_of(machine: Machine, identical: bool) -> list[str]:
    machine = with_identical_legs(machine) if identical else machine
    return rigid_body_parameter_names(machine, identical)


def test_singular_drives_are_named() -> None:
    machine = heimann_check_robot()
    motion = random_states(machine, 200)
    # platform in the plane of the base joints: no leg can lift
    motion.position[150], motion.rotation_base_platform[150] = np.zeros(3), np.eye(3)
    for attempt in (gravity_forces, lambda m, p, r: rigid_body_regressor(m, motion)):
        with pytest.raises(SingularPoseError, match='sample 150: the Jacobian of the drives is singular'):
            attempt(machine, motion.position, motion.rotation_base_platform)
