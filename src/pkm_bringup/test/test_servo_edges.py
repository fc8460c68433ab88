"""Lead and grid of the servo's set-points, and each rule of plan, supervision, axes and stop at its edge."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hand_built_platform import hand_built_platform, six_axis_sinusoids
from pkm_bringup.control import LegReference, LegServo, ReferenceRefusedError, ServoSettings, ServoState
from pkm_bringup.control import gains_for_delay as lowered
from pkm_bringup.control.axis_controllers import AxisControllers
from pkm_bringup.control.leg_reference import LegSetpoint
from pkm_bringup.control.leg_servo import TrippedError
from pkm_bringup.control.reference_check import check_drives, check_knots
from pkm_bringup.control.reference_plan import ReferenceMaker, ReferencePlan
from pkm_bringup.control.servo_settings import TrackingSupervision, largest_integral_rate
from pkm_description.dynamics import mass_matrix
from pkm_description.errors import ConfigurationError
from pkm_description.kinematics import forward_kinematics, joint_motion
from pkm_description.kinematics.rotation import rotation_exp
from pkm_description.loading import load_machine
from pkm_description.machine import PlatformMotion, ServoGains

MS, SECOND = 10**6, 10**9
MACHINE = hand_built_platform(viscous=20.0, coulomb=1.0)
NAMES = MACHINE.actuated_joint_names
DRIVES = MACHINE.drive_columns
HOME = joint_motion(MACHINE, PlatformMotion.at_rest(MACHINE.home.position, MACHINE.home.rotation_base_platform))
AT_HOME = HOME.positions[0, DRIVES]
ZERO = np.zeros(6)


class Clock(ReferencePlan):
    """A plan whose set-points are the times for which they are asked, and which remembers how often it was."""

    def __init__(self):
        super().__init__(MACHINE, rest(), MS)
        self.asked = []

    def evaluate(self, times_ns, lead_ns=0):
        self.asked.append((int(times_ns[0]), int(times_ns[-1]), lead_ns))
        column = times_ns[:, None].astype(float)
        return LegSetpoint(column, column + 0.25, column + lead_ns)


def test_positions_are_those_of_now_and_forces_those_of_half_a_period_later():
    window = Clock()
    for time in (0, 5 * MS, 255 * MS, 256 * MS, 3 * SECOND + 7, 12345):
        position, rate, force = window.at(time)
        assert (position[0], rate[0], force[0]) == (time, time + 0.25, time + MS // 2)


def test_windows_lie_on_a_grid_of_256_periods():
    """Values never depend on when one asked first."""
    clock = window = Clock()
    for time in (300 * MS, 256 * MS, 511 * MS):
        window.at(time)
    assert clock.asked == [(256 * MS, 511 * MS, MS // 2)]
    window.at(512 * MS)
    window.at(511 * MS)
    assert [begin // MS for begin, _, _ in clock.asked] == [256, 512, 256]
    window.hold(rest())
    window.at(511 * MS)
    assert len(clock.asked) == 4
    window.at(511 * MS + 3)  # off the grid: a grid of its own
    assert clock.asked[-1][0] == 256 * MS + 3


def test_force_of_the_servo_is_that_of_the_middle_of_its_period():
    """A long period of 20 ms: the weight where the platform will be 10 ms later, at the position of now."""
    motion = six_axis_sinusoids(MACHINE).evaluate(np.arange(701) / 50.0)
    servo = LegServo(MACHINE, 20 * MS, ServoSettings(feedforward='rigid_body', tracking_error_limit=-1.0))
    servo.add_reference(motion, SECOND, 0)
    reference = LegReference(MACHINE, motion, SECOND, 'rigid_body')
    now = 5 * SECOND
    setpoint = reference.evaluate(np.array([now, now + 10 * MS]))
    forces = servo.forces(now, setpoint.positions[0], setpoint.rates[0])
    assert forces == pytest.approx(setpoint.forces[1], abs=1e-9)
    assert np.abs(setpoint.forces[1] - setpoint.forces[0]).max() > 1e-3
    assert servo.tracking_error == pytest.approx(ZERO, abs=1e-15)


# -- plan --------------------------------------------------------------------------------------------------------------


def rest(height=0.0, start=0):
    position = MACHINE.home.position + np.array([0.0, 0.0, height])
    motion = PlatformMotion.at_rest(position, MACHINE.home.rotation_base_platform)
    return LegReference(MACHINE, motion, start)


def test_a_reference_may_start_now_and_not_before():
    plan = ReferencePlan(MACHINE, rest())
    plan.add(rest(start=5 * SECOND), 5 * SECOND)
    with pytest.raises(ReferenceRefusedError, match='starts at 5'):
        plan.add(rest(start=5 * SECOND), 5 * SECOND + 1)


def jump_of(height):
    """Largest jump of a drive when the platform is lifted, m."""
    return np.abs(rest(height).evaluate(np.array([0])).positions[0] - AT_HOME).max()


def test_set_points_may_jump_by_a_millimetre():
    height = 1e-3 / jump_of(1e-3) * 1e-3
    ReferencePlan(MACHINE, rest()).add(rest(0.99 * height, SECOND), 0)
    with pytest.raises(ReferenceRefusedError, match='jump by'):
        ReferencePlan(MACHINE, rest()).add(rest(1.01 * height, SECOND), 0)


def test_both_take_overs_of_a_new_reference_are_checked():
    plan = ReferencePlan(MACHINE, rest())
    plan.add(rest(0.0008, 4 * SECOND), 0)
    with pytest.raises(ReferenceRefusedError, match='t = 4.000 s'):
        plan.add(rest(-0.0008, 2 * SECOND), 0)  # the step from home is small enough, the next one is not
    plan.add(rest(0.0, 4 * SECOND), 0)  # the same start: replaced
    plan.add(rest(-0.0008, 2 * SECOND), 0)
    heights = [forward_kinematics(MACHINE, plan.evaluate(np.array([t * SECOND])).positions).position[0, 2]
               for t in (0, 1.999, 2, 3.999, 4, 9)]  # fmt: skip
    expected = MACHINE.home.position[2] + np.array([0.0, 0.0, -0.0008, -0.0008, 0.0, 0.0])
    assert heights == pytest.approx(expected, abs=1e-9)


def test_what_has_been_overtaken_is_forgotten_and_what_is_followed_is_not():
    plan = ReferencePlan(MACHINE, rest())
    for second in range(1, 6):
        plan.add(rest(1e-4 * second, second * SECOND), second * SECOND)
        assert len(plan._references) <= 2
    many = plan.evaluate(np.array([4, 5, 6]) * SECOND)
    alone = rest(5e-4).evaluate(np.array([0]))
    assert many.positions[1:] == pytest.approx(np.repeat(alone.positions, 2, axis=0))
    assert many.positions[0] == pytest.approx(rest(4e-4).evaluate(np.array([0])).positions[0])


# -- supervision -------------------------------------------------------------------------------------------------------


def test_supervision_waits_for_its_delay_and_forgets_what_was_within_the_limit():
    watch = TrackingSupervision(['a', 'b'], np.array([0.1, 0.2]), 10)
    outside, inside = np.array([0.1, -0.21]), np.array([0.1, -0.2])
    assert watch.judge(0, outside) == '' and watch.judge(9, outside) == ''
    assert watch.judge(10, outside) == 'b: tracking error -0.21 exceeds 0.2 at t = 0.000 s'
    assert watch.judge(11, inside) == '' and watch.judge(12, outside) == '' and watch.judge(21, outside) == ''
    assert watch.judge(22, outside)
    watch.restart()
    assert watch.judge(40, outside) == ''
    # the clock went back
    assert watch.judge(5, outside) == '' and watch.judge(14, outside) == '' and watch.judge(15, outside)
    assert TrackingSupervision(['a'], np.array([0.1]), 0).judge(7, np.array([0.11]))
    assert not TrackingSupervision(['a'], np.array([np.inf]), 0).judge(7, np.array([1e9]))
    watch.restart()
    assert watch.judge(60, np.array([0.3, 0.5])) == '' and watch.judge(99, np.array([0.3, 0.5])).startswith('a: ')


# -- axes --------------------------------------------------------------------------------------------------------------


def axes(**options):
    return AxisControllers(ServoGains(1000.0, 50.0), np.array([10.0, 20.0]), 1e-3, **options)


def test_force_is_the_sum_of_its_parts():
    two = axes()
    assert two.forces(0, np.array([1.0, 2.0]), np.array([1e-3, -2e-3]), np.array([0.1, -0.02])) == pytest.approx(
        [1.0 + 1.0 + 5.0, 2.0 - 2.0 - 1.0]
    )
    assert not two.cut.any()
    assert two.forces(1, np.array([10.0, -20.1]), np.zeros(2), np.zeros(2)).tolist() == [10.0, -20.0]
    assert two.cut.tolist() == [False, True]


@pytest.mark.parametrize(('step', 'counted'), [(0.0, 0.0), (4.9, 4.9), (5.1, 0.0), (-1.0, 0.0)])
def test_a_gap_between_samples_is_a_new_start(step, counted):
    two = axes(integral_rate=2.0)
    two.forces(10 * SECOND, np.zeros(2), np.full(2, 1e-3), np.zeros(2))
    assert not two.integral.any()  # the first sample has no step
    two.forces(10 * SECOND + round(step * MS), np.zeros(2), np.full(2, 1e-3), np.zeros(2))
    assert two.integral == pytest.approx(np.full(2, 2.0 * 1000.0 * 1e-3 * counted * 1e-3))
    rates = axes(from_positions=True)
    rates.forces(10 * SECOND, np.zeros(2), np.zeros(2), np.zeros(2))
    force = rates.forces(10 * SECOND + round(step * MS), np.zeros(2), np.full(2, 1e-3), np.zeros(2))
    slope = 1.0 / counted if counted else 0.0
    assert force == pytest.approx(np.clip(1.0 + 50.0 * slope, None, [10.0, 20.0]))


def test_integral_stays_while_the_force_is_at_its_limit_and_comes_back():
    two = axes(integral_rate=1.0)
    for k in range(3):
        two.forces(k * MS, np.array([10.0, 0.0]), np.full(2, 1e-3), np.zeros(2))
    assert two.integral[0] == 0.0 and two.integral[1] == pytest.approx(2e-3)
    two.forces(3 * MS, np.array([12.0, 0.0]), np.full(2, -1e-3), np.zeros(2))
    assert two.integral[0] == pytest.approx(-1e-3)  # out of the limit
    two.integral = np.array([9.9999, -19.9999])
    two.forces(4 * MS, -two.integral, np.array([0.9, -0.9]) * 1e-2, np.zeros(2))
    assert two.integral.tolist() == [10.0, -20.0]


def test_a_filter_starts_at_its_first_value_and_restarts():
    two = axes(cutoff=10.0)
    assert two.forces(0, np.zeros(2), np.zeros(2), np.full(2, 0.1)) == pytest.approx([5.0, 5.0])
    share = 1.0 - np.exp(-2.0 * np.pi * 10.0 * 2e-3)
    expected = 50.0 * (0.1 + share * (-0.1 - 0.1))
    assert two.forces(2 * MS, np.zeros(2), np.zeros(2), np.full(2, -0.1)) == pytest.approx([expected] * 2)
    two.restart()
    assert two.forces(3 * MS, np.zeros(2), np.zeros(2), np.full(2, 0.1)) == pytest.approx([5.0, 5.0])


# -- gains -------------------------------------------------------------------------------------------------------------


def felt(machine):
    """Masses that the drives feel at home, by the Jacobian of the drives as difference quotients."""
    home, step, columns = machine.home, 1e-6, []
    mass = mass_matrix(machine, home.position[None], home.rotation_base_platform[None])[0]
    for axis in range(6):
        moved = []
        for sign in (1.0, -1.0):
            position, rotation = home.position.copy(), home.rotation_base_platform
            if axis < 3:
                position[axis] += sign * step
            else:
                rotation = rotation_exp(sign * step * np.eye(3)[axis - 3]) @ rotation
            moved.append(joint_motion(machine, PlatformMotion.at_rest(position, rotation)).positions[0, DRIVES])
        columns.append((moved[0] - moved[1]) / (2.0 * step))
    inverse = np.linalg.inv(np.array(columns).T)
    return np.linalg.eigvalsh(inverse.T @ mass @ inverse)


def test_gains_of_a_loop_with_delay():
    """Damping over the smallest mass, times the delay, is half a radian; no more is taken away."""
    least, largest = felt(MACHINE)[[0, -1]]
    gains = MACHINE.servo
    edge = 0.5 * least / gains.damping
    assert lowered(MACHINE, gains, 0.999 * edge) == gains
    slow = lowered(MACHINE, gains, 2.0 * edge)
    assert slow.damping == pytest.approx(0.5 * gains.damping, rel=1e-3)
    assert slow.stiffness == pytest.approx(0.25 * gains.stiffness, rel=1e-3)
    assert largest_integral_rate(MACHINE, gains) == pytest.approx(0.5 * gains.damping / largest, rel=1e-3)
    for wrong in (-1e-9, np.nan):
        with pytest.raises(ValueError, match='delay'):
            lowered(MACHINE, gains, wrong)


def test_integral_rate_up_to_its_bound():
    bound = largest_integral_rate(MACHINE, MACHINE.servo)
    LegServo(MACHINE, MS, ServoSettings(integral_rate=bound))
    with pytest.raises(ConfigurationError, match='would be unstable; at most'):
        LegServo(MACHINE, MS, ServoSettings(integral_rate=1.001 * bound))


def test_limits_of_forces_and_errors():
    allowed = np.array([joint.limits.effort for joint in MACHINE.actuated_joints])
    assert ServoSettings().force_limits_of(MACHINE).tolist() == allowed.tolist()
    assert ServoSettings(force_limits=(f'{allowed[0]}',)).force_limits_of(MACHINE).tolist() == allowed.tolist()
    for wrong in ('0', f'{allowed[0] * 1.001}', 'nan'):
        with pytest.raises(ConfigurationError, match='force_limits'):
            ServoSettings(force_limits=(wrong,)).force_limits_of(MACHINE)
    ranges = np.array([joint.limits.upper - joint.limits.lower for joint in MACHINE.actuated_joints])
    assert ServoSettings().error_limits_of(MACHINE) == pytest.approx(np.minimum(0.1 * ranges, 0.1))
    assert ServoSettings(tracking_error_limit=0.05).error_limits_of(MACHINE).tolist() == [0.05] * 6
    assert ServoSettings(tracking_error_limit=-0.5).error_limits_of(MACHINE).tolist() == [np.inf] * 6
    turning = load_machine('five_bar')
    share = [0.1 * (joint.limits.upper - joint.limits.lower) for joint in turning.actuated_joints]
    assert ServoSettings().error_limits_of(turning) == pytest.approx(np.minimum(share, 0.35))


# -- checks of references ----------------------------------------------------------------------------------------------


def test_drives_are_checked_against_both_ends_and_both_directions():
    limits = MACHINE.actuated_joints[0].limits
    inside = np.full((3, 6), 0.5 * (limits.lower + limits.upper))
    for place, kind, value in ((1, 'exceeds', limits.upper), (2, 'is below', limits.lower)):
        positions = inside.copy()
        positions[place, 3] = value
        check_drives(MACHINE, np.arange(3.0), positions, np.zeros((3, 6)))
        positions[place, 3] = value + (1e-6 if kind == 'exceeds' else -1e-6)
        with pytest.raises(ReferenceRefusedError, match=f'leg4.*position.*{kind}.*t = {place}.000 s'):
            check_drives(MACHINE, np.arange(3.0), positions, np.zeros((3, 6)))
    for sign in (1.0, -1.0):
        rates = np.zeros((3, 6))
        rates[1, 2] = sign * limits.velocity
        check_drives(MACHINE, np.arange(3.0), inside, rates)
        rates[1, 2] *= 1.0 + 1e-6
        with pytest.raises(ReferenceRefusedError, match=r'leg3.*speed.*t = 1.000 s'):
            check_drives(MACHINE, np.arange(3.0), inside, rates)


@pytest.mark.parametrize(('speed', 'place', 'fits'), [(0.9e-3, 0, True), (1.1e-3, 0, False), (1.1e-3, -1, False)])
def test_references_begin_and_end_at_rest(speed, place, fits):
    motion = six_axis_sinusoids(MACHINE).evaluate(np.arange(1401) / 100.0)
    velocity = motion.linear_velocity.copy()
    velocity[[0, -1]] = 0.0
    velocity[place, 1] = -speed
    moving = replace(motion, linear_velocity=velocity)
    if fits:
        check_knots(moving)
    else:
        with pytest.raises(ReferenceRefusedError, match='first point' if place == 0 else 'last point'):
            check_knots(moving)
    if place == 0:
        check_knots(moving, from_rest=False)


# -- stop --------------------------------------------------------------------------------------------------------------


def servo_at_home(**settings):
    servo = LegServo(MACHINE, MS, ServoSettings(**settings))
    servo.forces(0, AT_HOME, ZERO)
    return servo


@pytest.mark.parametrize('direction', [1.0, -1.0])
def test_braking_fades_all_rates_out_together(direction):
    motion = six_axis_sinusoids(MACHINE).evaluate(np.arange(1401) / 100.0)
    legs = joint_motion(MACHINE, motion)
    rates = direction * 0.3 * legs.velocities[400, DRIVES]
    reference = braking(rates, start=SECOND)
    assert reference.end_ns == SECOND + 250 * MS
    found = reference.evaluate(np.array([SECOND, SECOND + 125 * MS, SECOND + 250 * MS, 9 * SECOND]))
    assert found.positions[0] == pytest.approx(AT_HOME, abs=1e-9)
    assert found.rates[[0, 1, 2]] == pytest.approx(np.array([rates, 0.5 * rates, ZERO]), abs=1e-4)
    assert found.positions[2] - AT_HOME == pytest.approx(0.5 * 0.25 * rates, abs=1e-5)
    # forces that do not suffice stretch it, up to four times; if they never do, the shortest one stands
    forces = np.abs(reference.between_knots()[1].forces).max(axis=0)
    weak = braking(rates, 0.5 * forces)
    assert weak.end_ns == 250 * MS
    needed = {time: braking(5.0 * rates, None, time, 'rigid_body') for time in (0.1, 0.15, 0.2)}
    limits = 1.001 * np.abs(needed[0.2].between_knots()[1].forces).max(axis=0)
    for time in (0.1, 0.15):
        assert (np.abs(needed[time].between_knots()[1].forces).max(axis=0) > limits).any()
    assert braking(5.0 * rates, limits, 0.1, 'rigid_body').end_ns == 200 * MS


def braking(rates, limits=None, duration=0.25, feedforward='gravity', start=0):
    """Braking from home; force limits (6,) of the machine file or lower ones."""
    own = np.array([joint.limits.effort for joint in MACHINE.actuated_joints])
    texts = tuple(map(repr, np.minimum(own, own if limits is None else limits).tolist()))
    settings = ServoSettings(feedforward=feedforward, braking_time=duration, force_limits=texts)
    return ReferenceMaker(MACHINE, settings).braking(start, AT_HOME, rates)


def test_a_drive_at_the_end_of_its_range_stops_there():
    limits = MACHINE.actuated_joints[0].limits
    rates = np.zeros(6)
    rates[0] = 4.0 * (limits.upper - AT_HOME[0]) / 0.25
    reference = braking(rates)
    ends = reference.evaluate(np.arange(0, 260) * MS).positions
    assert ends[:, 0].max() == pytest.approx(limits.upper, abs=1e-4)
    assert ends[:, 1:] == pytest.approx(np.tile(AT_HOME[1:], (260, 1)), abs=1e-6)


def test_silence_of_the_joint_states_stops_it_after_the_timeout():
    servo = servo_at_home(measurement_timeout=0.25)
    servo.forces_without_measurement(250 * MS)
    assert servo.trip_reason == '' and servo.state is ServoState.FOLLOWING
    forces = servo.forces_without_measurement(250 * MS + 1)
    assert servo.trip_reason == 'no usable joint states for 0.25 s' and servo.state is ServoState.BRAKING
    assert forces == pytest.approx(rest().evaluate(np.array([0])).forces[0], abs=1e-6)
    servo.forces_without_measurement(500 * MS)
    assert servo.state is ServoState.BRAKING
    servo.forces_without_measurement(500 * MS + 2)
    assert servo.state is ServoState.HOLDING


def test_an_operators_stop_brakes_holds_and_is_reset_at_rest():
    servo = servo_at_home(braking_time=0.1)
    servo.trip('stop', 10 * MS)
    servo.trip('another', 20 * MS)
    assert (servo.trip_reason, servo.state) == ('stop', ServoState.BRAKING)
    servo.forces(109 * MS, AT_HOME, ZERO)
    assert servo.state is ServoState.BRAKING
    servo.forces(110 * MS, AT_HOME, ZERO)
    assert servo.state is ServoState.HOLDING
    standing = 0.05 * MACHINE.actuated_joints[0].limits.velocity
    servo.forces(111 * MS, AT_HOME, np.full(6, -1.01 * standing))
    with pytest.raises(TrippedError, match='leg1_prismatic still moves'):
        servo.reset()
    servo.forces(112 * MS, AT_HOME, np.full(6, 0.99 * standing))
    servo.reset()
    assert (servo.trip_reason, servo.state) == ('', ServoState.FOLLOWING)


def test_an_operators_stop_begins_where_the_machine_is():
    """At its measured positions, also away from the desired ones; before the first measurement at the desired ones."""
    servo, moved = servo_at_home(), rest(1e-3).evaluate(np.array([0])).positions[0]
    servo.forces(MS, moved, ZERO)
    assert np.abs(servo.tracking_error).max() > 5e-4
    servo.trip('stop', 2 * MS)
    servo.forces(3 * MS, moved, ZERO)
    assert servo.tracking_error == pytest.approx(ZERO, abs=1e-9)
    new = LegServo(MACHINE, MS, ServoSettings())
    new.trip('stop', 0)
    assert (new.trip_reason, new.state) == ('stop', ServoState.BRAKING)
    new.forces(MS, AT_HOME, ZERO)
    assert new.tracking_error == pytest.approx(ZERO, abs=1e-9)


@pytest.mark.parametrize(('faster', 'state'), [(1.99, ServoState.DAMPED), (2.01, ServoState.RELEASED)])
def test_a_fast_drive_is_released_once_it_is_twice_as_fast_as_when_damping_began(faster, state):
    """Faster than what counts as standing, twenty times."""
    servo = servo_at_home(tracking_error_limit=0.01, trip_delay=0.0)
    servo.trip('stop', 0)
    rates = np.array([joint.limits.velocity for joint in MACHINE.actuated_joints])
    servo.forces(MS, AT_HOME + 0.02, rates)
    assert servo.state is ServoState.DAMPED
    servo.forces(2 * MS, AT_HOME + 0.02, faster * rates)
    assert servo.state is state


def test_a_stop_that_fails_is_damped_and_then_released():
    """Damped: weight less damping times rate. Released: no force, once a drive is twice as fast as it was."""
    servo = servo_at_home(tracking_error_limit=0.01, trip_delay=0.0)
    servo.trip('stop', 0)
    away, rates = AT_HOME + 0.02, np.full(6, 0.05)
    forces = servo.forces(MS, away, rates)
    assert servo.state is ServoState.DAMPED
    weight = rest().evaluate(np.array([0])).forces[0]
    limits = np.array([joint.limits.effort for joint in MACHINE.actuated_joints])
    assert forces == pytest.approx(np.clip(weight - MACHINE.servo.damping * rates, -limits, limits))
    fastest = max(2.0 * 0.05, 2.0 * 0.05 * MACHINE.actuated_joints[0].limits.velocity)
    servo.forces(2 * MS, away, np.full(6, 0.99 * fastest))
    assert servo.state is ServoState.DAMPED
    assert not servo.forces(3 * MS, away, np.full(6, -1.01 * fastest)).any()
    assert servo.state is ServoState.RELEASED
    assert not servo.forces(4 * MS, AT_HOME, ZERO).any()


def test_rates_of_a_driver_without_velocities_are_difference_quotients():
    servo, gains = servo_at_home(), MACHINE.servo
    moved = AT_HOME + 1e-5 * np.arange(6)
    forces = servo.forces(2 * MS, moved, None)
    weight = rest().evaluate(np.array([0])).forces[0]
    away = moved - AT_HOME
    assert forces == pytest.approx(weight - gains.stiffness * away - gains.damping * away / 2e-3)
    # of the same time there is none
    assert servo.forces(2 * MS, moved, None) == pytest.approx(weight - gains.stiffness * (moved - AT_HOME))
