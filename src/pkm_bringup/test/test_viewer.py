"""What the live page draws and says, without a browser."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from other_machines import WITH_PLATFORM
from pkm_bringup.viewer import moment
from pkm_bringup.viewer.moment import PUSH, BodyPose, Moment, Status, parameter_image
from pkm_bringup.viewer.page import Plot, ViewerError, ViewerPage
from pkm_bringup.viewer.scene import MachineShapes
from pkm_description.kinematics.rotation import rotation_exp
from pkm_description.loading import load_machine, machine_names
from pkm_description.machine.machine import closure_ends

MACHINE = load_machine('srs')
HOME = BodyPose(MACHINE.home.position, MACHINE.home.rotation_base_platform, np.zeros(3), np.diag([1e-12, 4e-12, 9e-12]))


@pytest.fixture(scope='module')
def server() -> Iterator[Any]:
    viser = pytest.importorskip('viser', reason="the live page needs viser: pip install 'viser>=1.1,<2'")
    one = viser.ViserServer(host='127.0.0.1', port=8471, verbose=False)
    yield one
    one.stop()


def scene_of(server: Any, name: str) -> Any:
    from pkm_bringup.viewer.scene import MachineScene

    server.scene.reset()
    return MachineScene(server, load_machine(name))


def node(server: Any, name: str) -> Any:
    handle = server.scene.get_handle_by_name(name)
    assert handle is not None, name
    return handle


@pytest.mark.parametrize('name', machine_names())
def test_every_machine_is_drawn(server: Any, name: str) -> None:
    machine = load_machine(name)
    scene = scene_of(server, name)
    if not machine.has_platform:
        positions = machine.model.home_joints
        scene.show(Moment(1.0, joint_positions=positions))
        return
    home = machine.home
    place = home.position + np.array([0.0, 0.0, 0.0 if machine.planar else 0.01])
    body = BodyPose(place, home.rotation_base_platform, np.zeros(3), np.zeros((3, 3)))
    scene.show(Moment(1.0, body, estimate=body, forces=np.full(machine.actuated_count, np.nan)))
    np.testing.assert_allclose(node(server, '/machine/platform_link').position, place)
    end = next(end for end in closure_ends(machine) if end.closure.other == machine.platform.name)
    tip = node(server, f'/machine/{end.tip}').position
    np.testing.assert_allclose(tip, place + home.rotation_base_platform @ end.closure.other_point, atol=1e-6)
    assert not node(server, '/truth/platform_link').visible
    assert not node(server, '/covariance').visible


def test_errors_and_covariance_are_enlarged_as_said(server: Any) -> None:
    scene = scene_of(server, 'srs')
    scene.enlargement = 1000.0
    turn = rotation_exp(np.array([0.0, 0.0, 1e-5]))
    truth = HOME._replace(position=HOME.position + np.array([1e-5, 0.0, -2e-5]), rotation=turn @ HOME.rotation)
    scene.show(Moment(1.0, HOME, HOME, truth))
    assert scene.enlarged == 1000.0
    drawn = node(server, '/truth/platform_link')
    assert drawn.visible
    np.testing.assert_allclose(drawn.position - HOME.position, [0.01, 0.0, -0.02], atol=1e-9)
    assert 2.0 * np.arccos(min(1.0, abs(drawn.wxyz[0]))) == pytest.approx(0.01, rel=1e-3)
    ellipsoid = node(server, '/covariance')
    assert ellipsoid.visible
    np.testing.assert_allclose(sorted(ellipsoid.scale), [3e-3, 6e-3, 9e-3], rtol=1e-6)
    scene.shows_truth = scene.shows_covariance = False
    scene.show(Moment(1.1, HOME, HOME, truth))
    assert not drawn.visible and not ellipsoid.visible


def test_automatic_enlargement_suits_the_errors(server: Any) -> None:
    scene = scene_of(server, 'srs')
    for error, expected in ((1e-5, 1e4), (1e-3, 1e2), (1.0, 1.0), (1e-9, 1e4)):
        truth = HOME._replace(position=HOME.position + np.array([error, 0.0, 0.0]))
        scene.show(Moment(1.0, HOME, HOME, truth))
        assert scene.enlarged == expected


def test_legs_have_the_colours_of_their_forces(server: Any) -> None:
    scene = scene_of(server, 'srs')
    number = next(i for i, one in enumerate(scene._shapes.bars) if one.link == 'leg2_rod')
    rod = node(server, f'/machine/leg2_rod/{number}')
    plain = rod.color
    forces = np.full(6, np.nan)
    forces[1] = 0.9 * scene._colors.limits[1]
    scene.show(Moment(1.0, HOME, forces=forces))
    np.testing.assert_allclose(rod.color, 255.0 * PUSH, atol=2.0)
    scene.shows_forces = False
    scene.show(Moment(1.1, HOME, forces=forces))
    assert tuple(rod.color) == tuple(plain)


def test_page_survives_a_pose_without_joint_angles(server: Any) -> None:
    page = ViewerPage(load_machine('hexaglide_6pus'), '127.0.0.1', 8472)
    try:
        far = HOME._replace(position=np.array([0.0, 0.0, 50.0]))
        page.show(Moment(1.0, far, far))
        page.refresh(Moment(1.0, far, far))
        assert 'the machine cannot be drawn' in page._verdict.content
        assert not page.is_watched and not list(page.requests())
    finally:
        page.close()


def test_what_the_estimator_said_for_a_second_stays_on_the_page(server: Any) -> None:
    page = ViewerPage(MACHINE, '127.0.0.1', 8474)
    told = [(1, 'leg3: its zero has moved by 4.99 mm'), (1, 'leg3: its zero has moved by 5.01 mm'), (0, 'estimating')]
    try:
        for level, message in told:
            page.take_statuses({'estimator: filter': Status(level, message, {})})
        page.show(Moment(7.0))
        page.take_statuses({'estimator: filter': Status(0, 'estimating', {})})
        page.refresh(Moment(7.0))
        shown = page._verdict.content
        assert 'Estimator: <span' in shown and 'until 0.0 s' in shown
        assert 'moved by 5.01 mm' in shown and '4.99' not in shown
    finally:
        page.close()


def test_missing_viser_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, 'viser', None)
    with pytest.raises(ViewerError, match='pip install'):
        ViewerPage(MACHINE, '127.0.0.1', 8473)


def test_plot_keeps_its_span_and_starts_again_when_the_clock_jumps_back(server: Any) -> None:
    plot = Plot(server.gui, 'title', ['a', 'b'], ('#000000',), span=1.0)
    assert not plot._handle.visible
    for time in np.arange(0.0, 3.0, 0.125):
        plot.add(time, np.array([time, -time]))
    plot.refresh()
    time, first, second = plot._handle.data
    assert plot._handle.visible and time[0] == 1.875 and time[-1] == 2.875
    np.testing.assert_allclose(first, time)
    np.testing.assert_allclose(second, -time)
    for time in (0.5, 0.5, 0.75):
        plot.add(time, np.zeros(2))
    plot.refresh()
    assert plot._handle.data[0].tolist() == [0.5, 0.75]


STATUSES = {
    'left/estimator: filter': Status(
        1,
        'left out: leg3: <stuck>',
        {'leg1 normalised innovation rms': '1.1', 'leg3 normalised innovation rms': 'nan'},
    ),
    'left/identification: parameters': Status(0, 'complete', {'leg1_prismatic.coulomb': '54.7 +- 0.56, nominal 27.5'}),
    'left/simulator: physics': Status(0, 'running', {}),
}


def test_diagnostics_are_understood() -> None:
    np.testing.assert_array_equal(moment.innovations(STATUSES, ['leg1', 'leg2', 'leg3']), [1.1, np.nan, np.nan])
    assert moment.parameters(STATUSES) == [('leg1_prismatic.coulomb', 54.7, 0.56, 27.5)]
    assert moment.parameters({}) == []
    verdict = moment.verdict_html('srs /left', STATUSES, '')
    assert 'left out: leg3: &lt;stuck&gt;' in verdict  # what others say is no markup
    assert 'running' not in verdict
    late = STATUSES | {'left/simulator: physics': Status(1, 'slower than asked', {})}
    assert 'slower than asked' in moment.verdict_html('srs /left', late, '')
    messages = moment.messages_html(STATUSES)
    assert messages.index('estimator') < messages.index('identification') < messages.index('physics')


def test_parameters_of_the_identification_are_read_as_it_writes_them() -> None:
    from pkm_identification.session import IdentificationSession

    class Result:
        class base:  # noqa: N801
            names = ('platform_link.m', 'leg1_prismatic.viscous')

        class estimate:  # noqa: N801
            parameters, std = np.array([3001.6, -2.5e-7]), np.array([7.9, 1e-9])

        nominal_base = np.array([3300.0, 0.0])

    session = IdentificationSession.__new__(IdentificationSession)
    session.result = Result
    texts = {name: str(text) for name, text in session.parameter_texts().items()}
    found = moment.parameters({'identification: parameters': Status(0, '', texts)})
    assert found == [('platform_link.m', 3001.6, 7.9, 3300.0), ('leg1_prismatic.viscous', -2.5e-7, 1e-9, 0.0)]


def test_parameters_have_a_picture() -> None:
    few = parameter_image([moment.Parameter('a', 1.0, 0.1, 0.9)])
    many = parameter_image([moment.Parameter(f'p{i}', 1.0, 0.1, 0.0) for i in range(20)])
    assert many.shape[0] > 2 * few.shape[0] and many.shape[2] == 3 and many.std() > 10.0



@pytest.mark.parametrize('name', WITH_PLATFORM)
def test_legs_end_at_the_platform(name: str) -> None:
    machine = load_machine(name)
    shapes = MachineShapes(machine)
    home = machine.home
    ends = [end for end in closure_ends(machine) if end.closure.other == machine.platform.name]
    # a platform that is a point (five-bar) has the machine's size instead
    size = np.linalg.norm(np.ptp([end.closure.other_point for end in ends], axis=0)) or machine.model.radius[0]
    # planar machines move in their plane, three-legged spatial ones in height
    moved = home.position + 0.02 * size * np.array([1.0, 0.5, 0.0] if machine.planar else [0.0, 0.0, 1.0])
    # where the platform's turn depends on its place (five-bar), the drives alone would know a second pose
    alone = machine.planar and machine.model.degrees_of_freedom[0] < 3
    for position in (home.position,) if alone else (home.position, moved):
        poses = shapes.at_pose(position, home.rotation_base_platform)
        for end in ends:
            there = position + home.rotation_base_platform @ end.closure.other_point
            np.testing.assert_allclose(poses[end.tip][0], there, atol=1e-6)
            np.testing.assert_allclose(poses[end.anchor][0], there, atol=1e-12)


@pytest.mark.parametrize('name', machine_names())
def test_every_leg_has_shapes_that_are_thick_enough(name: str) -> None:
    machine = load_machine(name)
    shapes = MachineShapes(machine)
    assert {one.leg for one in shapes.bars if one.leg is not None} == set(range(machine.leg_count))
    lower, upper = shapes.box(shapes.home())
    assert min(one.bar.radius for one in shapes.bars) >= 0.0059 * np.linalg.norm(upper - lower)


def test_box_holds_a_turned_bar() -> None:
    machine = load_machine('srs')
    shapes = MachineShapes(machine)
    lower, upper = shapes.box(shapes.home())
    points = np.concatenate([machine.base_points, machine.home.position + machine.platform_points])
    assert (points >= lower).all() and (points <= upper).all()
    # the platform's disc is the widest part, and the legs end at joints on the floor
    disc = np.linalg.norm(machine.platform_points[:, :2], axis=1).max()
    assert np.isclose(upper[0], max(disc, points[:, 0].max()), atol=0.1)


def test_platform_turns_about_its_origin() -> None:
    machine = load_machine('srs')
    shapes = MachineShapes(machine)
    turn = rotation_exp(np.array([0.0, 0.0, 0.5]))
    poses = shapes.platform_at(np.array([1.0, 2.0, 3.0]), turn)
    np.testing.assert_allclose(poses['platform_link'][0], [1.0, 2.0, 3.0])
    np.testing.assert_allclose(poses['platform_anchor1'][0], [1.0, 2.0, 3.0] + turn @ machine.platform_points[0])
    assert shapes.platform_links >= {'platform_link', 'imu_link', 'platform_anchor6'}
