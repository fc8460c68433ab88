"""Regressors, friction, energies and forward dynamics against each other and against the law of energy."""

from __future__ import annotations

import numpy as np
import pytest
from hand_built_machines import heimann_check_robot, turned_link_frames, with_identical_legs
from pkm_description.dynamics import (
    friction_parameter_names,
    friction_parameters,
    gravity_forces,
    rigid_body_parameter_names,
    rigid_body_parameters,
    rigid_body_regressor,
)
from pkm_description.errors import SingularPoseError
from pkm_description.kinematics.workspace import random_states
from pkm_description.machine import Machine

Array = np.ndarray


@pytest.fixture(scope='module', params=[heimann_check_robot, turned_link_frames], ids=['heimann', 'turned'])
def machine(request: pytest.FixtureRequest) -> Machine:
    return request.param()


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


def test_singular_drives_are_named() -> None:
    machine = heimann_check_robot()
    motion = random_states(machine, 200)
    # platform in the plane of the base joints: no leg can lift
    motion.position[150], motion.rotation_base_platform[150] = np.zeros(3), np.eye(3)
    for attempt in (gravity_forces, lambda m, p, r: rigid_body_regressor(m, motion)):
        with pytest.raises(SingularPoseError, match='sample 150: the Jacobian of the drives is singular'):
            attempt(machine, motion.position, motion.rotation_base_platform)
