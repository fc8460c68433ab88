"""Folds of the legs' positions within what is known, and whether drives determine the pose at home."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from pkm_description.errors import KinematicsError
from pkm_description.kinematics import drive_positions, leg_lengths
from pkm_description.kinematics.rotation import rotation_exp
from pkm_description.loading import load_machine
from pkm_description.machine import Pose
from pkm_description.motion.coordinates import motion_from_coordinates
from pkm_estimation.filtering.parts import check_determined
from pkm_estimation.filtering.platform_filter import PlatformFilter
from pkm_estimation.filtering.singular_reach import SingularReach
from pkm_estimation.models import EstimatorGeometry
from pkm_estimation.models.extra_states import ImuFrame
from pkm_estimation.models.inertial_process import rotation_of
from pkm_estimation.models.leg_model import DriveModel
from pkm_estimation.stream import EstimatorConfig
from test_singular_poses import LINES

SRS = load_machine('srs')
NOISE = SRS.leg_sensors.position_noise
LINE, SINGULAR = LINES['srs']
POSE = [0, 1, 2, 6, 7, 8]


def filter_near(place, std, seed):
    """A filter at a part of the way to the singular pose; its pose is known to correlated ``std`` (m, quaternion)."""
    none = np.zeros((1, 6))
    motion = motion_from_coordinates(np.zeros(1), place * SINGULAR * LINE[None], none, none, SRS.home)
    config = EstimatorConfig(baseline=False)
    made = PlatformFilter(
        EstimatorGeometry.from_machine(SRS), ImuFrame(SRS.imu).noise_covariance, np.diag(NOISE**2), config, SRS
    )
    made.start_at(Pose(motion.position[0], motion.rotation_base_platform[0]), 1e-3, 1e-3)
    root = std * np.random.default_rng(seed).normal(size=(15, 15))
    made.ukf.covariance[:] = root @ root.T
    return made


def measured(filter_, state):
    """Leg lengths in standard deviations of their noise, by the geometry alone."""
    rotation = filter_.chart @ rotation_of(state[6:9])
    position = filter_.chart @ state[:3] - rotation @ SRS.imu.position
    return leg_lengths(SRS, position, rotation) / np.sqrt(filter_.length_covariance.diagonal())


@pytest.mark.parametrize('seed', range(12))
def test_a_fold_is_one_standard_deviation_along_which_lengths_bend_as_much_as_it_says(seed):
    """By the lengths at the estimate and on both sides of it."""
    filter_ = filter_near(1.0, 1e-3, seed)
    fold = SingularReach(SRS, filter_).fold(filter_)
    assert fold is not None
    state, along = filter_.ukf.state, fold.along
    assert along @ np.linalg.solve(filter_.ukf.covariance, along) == pytest.approx(1.0, rel=1e-6)
    center, ahead, behind = (measured(filter_, state + step * along) for step in (0.0, 1.0, -1.0))
    assert np.linalg.norm(0.5 * (ahead + behind) - center) == pytest.approx(fold.curvature, rel=1e-6)
    # the slope vanishes within five deviations of the estimate, up to what the noise hides
    slope, bend = 0.5 * (ahead - behind), 0.5 * (ahead + behind) - center
    place = -0.5 * (slope @ bend) / (bend @ bend)
    assert abs(place) < 5.0 and np.linalg.norm(slope + 2.0 * place * bend) < 3.0


def test_there_is_no_fold_where_the_pose_is_known_or_no_singular_one_is_near():
    near = filter_near(1.0, 1e-3, 0)
    reach = SingularReach(SRS, near)
    assert reach.is_possible(near) and reach.fold(near, straight=1e9) is None
    assert reach.fold(filter_near(1.0, 1e-7, 0)) is None
    assert reach.fold(filter_near(0.0, 1e-3, 0)) is None
    # measurements that are believed less are straighter
    loud = reach.fold(near, 0.0, noise_scale=100.0)
    assert loud is None or loud.curvature < reach.fold(near).curvature


# -- determined pose ---------------------------------------------------------------------------------------------------

SLIDES = load_machine('hexaglide_6pus')


class Sensors:
    """What a model measures, mixed by a matrix."""

    def __init__(self, machine, mixed=None):
        self._model, self._mixed, self.seen = DriveModel(machine, machine.imu.position), mixed, []
        self.set_chart, self.size = self._model.set_chart, self._model.size

    def observe(self, points):
        self.seen.append(self._model.observe(points))
        return self.seen[-1] if self._mixed is None else self.seen[-1] @ self._mixed


def test_units_of_the_sensors_do_not_matter():
    """Micrometres beside metres, and one that reads a millionth of a turn: the pose is determined by the six."""
    for scale in ([1.0] * 6, [1e6, 1.0, 1.0, 1e-6, 1.0, 1.0], 10.0 ** np.arange(-7.0, 5.0, 2.0)):
        check_determined(SLIDES, Sensors(SLIDES, np.diag(scale)))


@pytest.mark.parametrize('missing', [0.0, 1e-9])
def test_two_sensors_on_one_drive_do_not_determine_the_pose(missing):
    mixed = np.eye(6)
    mixed[:, 4] = mixed[:, 1] + missing * mixed[:, 4]
    with pytest.raises(KinematicsError, match='rank 5 of 6'):
        check_determined(SLIDES, Sensors(SLIDES, mixed))
    mixed[:, 4] = 0.0  # and a dead one is none
    with pytest.raises(KinematicsError, match='rank 5 of 6'):
        check_determined(SLIDES, Sensors(SLIDES, mixed))


def test_it_is_looked_at_home_also_if_home_is_turned():
    turn = rotation_exp(np.array([0.05, -0.1, 0.2])) @ SLIDES.home.rotation_base_platform
    home = Pose(SLIDES.home.position + np.array([0.03, -0.02, 0.01]), turn)
    sensors = Sensors(SLIDES)
    check_determined(replace(SLIDES, home=home), sensors)
    ((first, *_),) = sensors.seen
    assert first[:6] == pytest.approx(drive_positions(SLIDES, home.position, turn), abs=1e-9)
