"""Small parts around the servo: references of rest and stop, times between knots, offered quality of service."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from pkm_bringup.control import ReferenceRefusedError
from pkm_bringup.control.leg_reference import LegReference
from pkm_bringup.control.reference_check import check_reference
from pkm_bringup.control.reference_plan import ReferenceMaker
from pkm_bringup.control.servo_settings import ServoSettings
from pkm_bringup.recording import offered_qos
from pkm_description.dynamics import gravity_forces
from pkm_description.errors import ConfigurationError
from pkm_description.loading import load_machine
from pkm_description.machine import Machine, PlatformMotion

SRS = load_machine('srs')


@pytest.mark.parametrize(('feedforward', 'at_rest'), [('none', 0.0), ('gravity', 1.0), ('rigid_body', 1.0)])
def test_a_stop_carries_the_weight_also_where_nothing_is_fed_forward(feedforward: str, at_rest: float) -> None:
    maker, home = ReferenceMaker(SRS, ServoSettings(feedforward=feedforward)), SRS.home
    weight = gravity_forces(SRS, home.position[None], home.rotation_base_platform[None])[0]
    assert np.abs(weight).max() > 1.0
    now = np.zeros(1, dtype=np.int64)
    assert maker.rest(home, stopped=True).evaluate(now).forces[0] == pytest.approx(weight)
    assert maker.rest(home).evaluate(now).forces[0] == pytest.approx(at_rest * weight)


def test_times_between_knots_are_between_them() -> None:
    """In order, with all knots, evenly from one to the next; set-points are those of these times."""
    knots, still = np.array([0.0, 0.1, 0.15, 0.4]), np.zeros((4, 3))
    position = SRS.home.position + 1e-3 * np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.2, 0.0], [0.0, 0.0, 1.0]])
    rotation = np.tile(SRS.home.rotation_base_platform, (4, 1, 1))
    reference = LegReference(SRS, PlatformMotion(knots, position, rotation, still, still, still, still), 7, 'none')
    times, points = reference.between_knots()
    assert (np.diff(times) > 0.0).all() and np.isin(knots, times).all()
    steps = np.diff(times).reshape(3, -1)
    assert steps == pytest.approx(np.broadcast_to(steps[:, :1], steps.shape)) and steps.shape[1] > 1
    stamps = 7 + np.round(times * 1e9).astype(np.int64)
    assert np.array_equal(points.positions, reference.evaluate(stamps).positions)


def test_times_of_an_offered_profile_are_seconds_and_nanoseconds() -> None:
    """Of three and a half seconds, and of policies that this format does not know."""
    named, time = SimpleNamespace(name='NEW'), SimpleNamespace(nanoseconds=3_500_000_001)
    found = offered_qos(SimpleNamespace(
        history=named, depth=5, reliability=SimpleNamespace(name='BEST_EFFORT'), durability=named, deadline=time,
        lifespan=SimpleNamespace(nanoseconds=7), liveliness=named, liveliness_lease_duration=time,
        avoid_ros_namespace_conventions=0,
    ))  # fmt: skip
    assert (found.deadline.sec, found.deadline.nsec) == (3, 500_000_001)
    assert (found.lifespan.sec, found.lifespan.nsec) == (0, 7) and found.liveliness_lease_duration == found.deadline
    assert (found.reliability.name, found.history.name, found.depth) == ('BEST_EFFORT', 'UNKNOWN', 5)


def test_limits_hold_from_the_first_knot_on() -> None:
    """A motion that is too fast between its first two knots, at which it rests."""
    def of(duration: float) -> PlatformMotion:
        still, position = np.zeros((3, 3)), np.tile(SRS.home.position, (3, 1))
        position[1:, 2] += 0.02
        rotation = np.tile(SRS.home.rotation_base_platform, (3, 1, 1))
        return PlatformMotion(np.array([0.0, duration, duration + 1.0]), position, rotation, still, still, still, still)

    check_reference(SRS, of(2.0))
    with pytest.raises(ReferenceRefusedError, match=r'speed .* exceeds'):
        check_reference(slow(0.05), of(0.5))


def slow(fastest: float) -> Machine:
    """The machine with slower drives."""
    legs = [
        replace(leg, joints=tuple(
            replace(joint, limits=replace(joint.limits, velocity=fastest)) if joint.actuated else joint
            for joint in leg.joints
        ))
        for leg in SRS.legs
    ]  # fmt: skip
    return replace(SRS, legs=tuple(legs))


def test_a_silence_of_more_than_a_thousand_seconds_is_no_timeout() -> None:
    assert ServoSettings(measurement_timeout=1000.0).measurement_timeout == 1000.0
    with pytest.raises(ConfigurationError, match='measurement_timeout'):
        ServoSettings(measurement_timeout=1001.0)
