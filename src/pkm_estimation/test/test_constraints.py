"""What legs forbid, as numbers that the filter measures, against the geometry of such legs."""

from __future__ import annotations

import numpy as np
from pkm_description.kinematics import drive_positions
from pkm_description.loading import load_machine
from pkm_estimation.models.leg_model import DriveModel

VALENCIA = load_machine('valencia_3rps')


def test_gaps_of_a_leg_in_a_plane_are_how_far_its_joint_is_out_of_it() -> None:
    """Legs of a revolute joint, a strut and a ball: along the axis of the revolute joint nothing moves."""
    model, home = DriveModel(VALENCIA, np.zeros(3)), VALENCIA.home
    assert model.constraint_count == 3
    shifts = np.array([[0.0, 0.0, 0.0], [2e-3, 0.0, 0.0], [0.0, -1e-3, 0.0], [1e-3, 3e-3, 0.01]])
    points = np.zeros((len(shifts), 15))
    points[:, :3] = home.position + shifts
    model.set_chart(np.eye(3))
    axes = np.array([leg.joints[0].rotation_parent_joint @ leg.joints[0].axis for leg in VALENCIA.legs])
    found = model.observe(points)
    np.testing.assert_allclose(np.abs(found[:, 3:]), np.abs(shifts @ axes.T), atol=1e-9)
    # what is forbidden changes nothing of the drives but by the slope of the struts
    there = drive_positions(VALENCIA, home.position[None], home.rotation_base_platform[None])
    np.testing.assert_allclose(found[0, :3], there[0], atol=1e-9)
    lifted = np.zeros((1, 15))
    lifted[0, :3] = home.position + np.array([0.0, 0.0, 0.02])
    assert np.abs(model.observe(lifted)[0, 3:]).max() < 1e-9
