"""The live page: scene, plots, messages and buttons in a browser, served by viser; works without internet."""

from __future__ import annotations

import queue
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import KinematicsError, PkmError
from pkm_description.machine import Machine

from pkm_bringup.simulation.faults import IMU_FAULTS, LEG_FAULTS, FaultKind
from pkm_bringup.viewer.moment import (
    Moment,
    Parameter,
    Request,
    Status,
    find,
    innovations,
    is_said_anew,
    messages_html,
    parameter_image,
    parameters,
    parameters_html,
    verdict_html,
)
from pkm_bringup.viewer.scene import MachineScene

_FAULT_HINT = 'Faults are for simulations: no simulator has been heard yet.'
#: what the buttons fill in
_VALUES = {'offset': ' 0.005', 'spikes': ' 0.1 0.02', 'noisy': ' 0.001'}
_ON_PURPOSE = 'faults on purpose: '
#: colours that colour-blind readers can tell apart (Okabe and Ito)
XYZ_COLORS = ('#0072B2', '#D55E00', '#009E73')
LEG_COLORS = ('#0072B2', '#E69F00', '#009E73', '#CC79A7', '#56B4E9', '#D55E00', '#000000', '#999999')
_HEIGHT = 170
#: troubles of the estimator that stay on the page when they are over
_PAST = 3
_HINT = 'A payload is for simulations: no simulator has been heard yet.'
#: heaviest payload, in masses of the platform, and steps of the slider
_HEAVIEST, _STEPS = 0.5, 50
_INSTALL = "viewer needs viser, which is not installed: pip install 'viser>=1.1,<2'"
_ENLARGEMENTS = ('automatic', '1', '10', '100', '1000', '10000')


class ViewerError(PkmError):
    """The page cannot be served."""


class ViewerPage:
    """A page for one machine.

    Parameters
    ----------
    machine : any machine
    host : interface to listen on; ``0.0.0.0`` for browsers on other computers
    port : wanted; the next free one if it is taken
    title : of the page, e.g. the namespace of the robot

    Attributes
    ----------
    url : where the page is

    Raises
    ------
    ViewerError
        viser is not installed; says how to get it.
    """

    def __init__(self, machine: Machine, host: str, port: int, title: str = '') -> None:
        try:
            import viser
        except ImportError:
            raise ViewerError(_INSTALL) from None
        self._machine, self._title = machine, f'{machine.name} {title}'.strip()
        self._requests: queue.SimpleQueue[Request] = queue.SimpleQueue()
        self._server = viser.ViserServer(host=host, port=port, label=self._title, verbose=False)
        named = 'localhost' if host in ('0.0.0.0', '127.0.0.1') else host
        self.url = f'http://{named}:{self._server.get_port()}'
        self._statuses: dict[str, Status] = {}
        self._past: deque[tuple[float, Status]] = deque(maxlen=_PAST)
        self._problem, self._time = '', 0.0
        self._parameters: list[Parameter] = []
        self._scene = MachineScene(self._server, machine)
        self._build(self._server.gui)

    def _build(self, gui: Any) -> None:
        drives = list(self._machine.drive_labels)
        gui.configure_theme(control_width='large', show_logo=False, show_share_button=False)
        gui.main_panel.dock_right()
        self._verdict = gui.add_html(verdict_html(self._title, {}, ''))
        tabs = gui.add_tab_group()
        with tabs.add_tab('Motion'):
            self._numbers = gui.add_html('')
            self._add_view(gui)
            errors = [f'{axis} [µm]' for axis in 'xyz']
            self._plots = {
                'error': Plot(gui, 'Estimate less truth, position', errors, XYZ_COLORS),
                'velocity': Plot(gui, 'Estimate less truth, velocity', [f'{a} [mm/s]' for a in 'xyz'], XYZ_COLORS),
                'baseline': Plot(gui, 'Baseline less truth, position', errors, XYZ_COLORS),
                'tracking': Plot(gui, 'Reference less estimate', [f'{a} [mm]' for a in 'xyz'], XYZ_COLORS),
            }
        with tabs.add_tab('Legs'):
            unit = 'N' if all(joint.kind == 'prismatic' for joint in self._machine.actuated_joints) else 'N, N m'
            self._plots |= {
                'forces': Plot(gui, f'Forces [{unit}]', drives, LEG_COLORS),
                'innovations': Plot(gui, 'Innovations, rms in standard deviations (1 is right)', drives, LEG_COLORS),
            }
        with tabs.add_tab('Parameters'):
            for label, service in (
                ('Start recording', 'start_recording'), ('Stop recording', 'stop_recording'), ('Identify', 'identify'),
            ):  # fmt: skip
                self._add_button(gui, label, Request(f'identification/{service}'))
            self._image = gui.add_image(parameter_image([]), visible=False)
            self._table = gui.add_html(parameters_html([]))
        with tabs.add_tab('Faults'):
            self._faults = FaultPanel(gui, self._machine.drive_labels, self._requests.put)
        self._payload: PayloadPanel | None = None
        if self._machine.has_platform:
            with tabs.add_tab('Payload'):
                self._payload = PayloadPanel(gui, self._machine, self._requests.put)
        with tabs.add_tab('Messages'):
            self._messages = gui.add_html(messages_html({}))
        self._add_button(gui, 'Restart the estimator', Request('estimator/reset'))

    def _add_button(self, gui: Any, label: str, request: Request) -> None:
        gui.add_button(label).on_click(lambda _event: self._requests.put(request))

    def _add_view(self, gui: Any) -> None:
        enlarged = gui.add_dropdown('Errors enlarged', _ENLARGEMENTS, initial_value=_ENLARGEMENTS[0])

        @enlarged.on_update
        def _(_event: object) -> None:
            self._scene.enlargement = 0.0 if enlarged.value == _ENLARGEMENTS[0] else float(enlarged.value)

        for label, name in (
            ('Truth (green)', 'shows_truth'), ('Covariance, 3 sigma (orange)', 'shows_covariance'),
            ('Leg forces (orange pushes, blue pulls)', 'shows_forces'),
        ):  # fmt: skip
            self._add_switch(gui.add_checkbox(label, True), name)

    def _add_switch(self, box: Any, name: str) -> None:
        box.on_update(lambda _event: setattr(self._scene, name, box.value))

    @property
    def is_watched(self) -> bool:
        """Whether a browser shows the page."""
        return bool(self._server.get_clients())

    def requests(self) -> Iterator[Request]:
        """What was clicked since the last call."""
        while True:
            try:
                yield self._requests.get_nowait()
            except queue.Empty:
                return

    def show(self, moment: Moment) -> None:
        """Show one instant."""
        try:
            with self._server.atomic():
                self._scene.show(moment)
            self._problem = ''
        except KinematicsError as error:
            self._problem = f'the machine cannot be drawn: {error}'
        self._time = moment.time
        self._add_to_plots(moment)

    def _add_to_plots(self, moment: Moment) -> None:
        estimate, truth = moment.estimate, moment.truth
        if estimate is not None and truth is not None:
            self._plots['error'].add(moment.time, 1e6 * (estimate.position - truth.position))
            self._plots['velocity'].add(moment.time, 1e3 * (estimate.velocity - truth.velocity))
        if moment.baseline is not None and truth is not None:
            self._plots['baseline'].add(moment.time, 1e6 * (moment.baseline.position - truth.position))
        if moment.reference_position is not None and moment.shown is not None:
            self._plots['tracking'].add(moment.time, 1e3 * (moment.reference_position - moment.shown.position))
        if moment.forces is not None:
            self._plots['forces'].add(moment.time, moment.forces)

    def take_statuses(self, statuses: Mapping[str, Status]) -> None:
        """Take new statuses of ``/diagnostics``; those that say nothing new keep their last words."""
        before, filtered = (find(known, 'estimator: filter') for known in (self._statuses, statuses))
        if before is not None and filtered is not None and before.level and is_said_anew(before, filtered):
            self._past.appendleft((self._time, before))
        self._statuses |= statuses
        if filtered is not None and filtered.values:
            values = innovations(statuses, self._machine.drive_labels)
            self._plots['innovations'].add(self._time, values)

    def say(self, text: str, good: bool = True) -> None:
        """Show an answer to a click for some seconds."""
        for client in self._server.get_clients().values():
            client.add_notification(
                'Done' if good else 'Refused', text, auto_close_seconds=8.0, color='green' if good else 'red'
            )

    def refresh(self, moment: Moment) -> None:
        """Renew plots, numbers and messages: less often than the scene."""
        for plot in self._plots.values():
            plot.refresh()
        self._set(self._numbers, _numbers_html(moment, self._scene.enlarged))
        self._set(self._verdict, verdict_html(self._title, self._statuses, self._problem, self._past))
        self._set(self._messages, messages_html(self._statuses))
        sensors = find(self._statuses, 'simulator: sensors')
        self._faults.refresh(sensors)
        if self._payload is not None:
            named = find(self._statuses, 'online_identification: identification')
            self._payload.refresh(find(self._statuses, 'simulator: payload'), named)
        found = parameters(self._statuses)
        if found != self._parameters:
            self._parameters = found
            self._set(self._table, parameters_html(found))
            self._image.image, self._image.visible = parameter_image(found), bool(found)

    @staticmethod
    def _set(handle: Any, content: str) -> None:
        if handle.content != content:
            handle.content = content

    def close(self) -> None:
        """Stop serving."""
        self._server.stop()


def _numbers_html(moment: Moment, enlarged: float) -> str:
    lines = [f't = {moment.time:.2f} s']
    shown, estimate = moment.shown, moment.estimate
    if shown is not None:
        lines.append('position ' + ', '.join(f'{value:.4f}' for value in shown.position) + ' m')
    if estimate is not None:
        std = 1e6 * np.sqrt(np.maximum(np.diag(estimate.position_covariance), 0.0))
        lines.append('standard deviations ' + ', '.join(f'{value:.2g}' for value in std) + ' µm')
        lines.append(f'errors and covariance are drawn {enlarged:g} times larger')
    elif shown is not None:
        lines.append('no estimate: the machine is drawn where truth or drives say')
    return f'<div style="font-size:0.85em;padding:0.3em 0.75em">{"<br>".join(lines)}</div>'


class PayloadPanel:
    """Mass and place of a payload; a button drops it, another one takes it off.

    Parameters
    ----------
    gui : of viser
    machine : with a platform
    ask : takes the request of a click
    """

    def __init__(self, gui: Any, machine: Machine, ask: Callable[[Request], None]) -> None:
        self._ask = ask
        heaviest = _HEAVIEST * (machine.platform.mass or 1.0)
        reach = max(float(machine.model.radius[0]), 1e-3)
        self._note = gui.add_markdown(_HINT)
        self._mass = gui.add_slider('Mass [kg]', 0.0, heaviest, heaviest / _STEPS, 0.2 * heaviest)
        self._place = [
            gui.add_slider(f'{axis} [m]', -reach, reach, reach / _STEPS, part * reach)
            for axis, part in zip('xyz', (0.2, 0.0, 0.2), strict=True)
        ]
        gui.add_button('Drop it on the platform').on_click(lambda _event: self._send(float(self._mass.value)))
        gui.add_button('Take it off', color='green').on_click(lambda _event: self._send(0.0))

    def _send(self, mass: float) -> None:
        self._ask(Request('payload', numbers=(mass, *(float(slider.value) for slider in self._place))))

    def refresh(self, simulated: Status | None, named: Status | None) -> None:
        """Show what the simulator carries, and what the identification while it runs says of it."""
        if simulated is None:
            return
        said = '' if named is None else named.values.get('payload', 'it has not named a payload')
        text = simulated.message + (f'; the identification says: {said}' if said else '')
        if self._note.content != text:
            self._note.content = text


class Plot:
    """Curves over one time in the page's panel; hidden as long as there are no values.

    Parameters
    ----------
    gui : of viser
    title : with the unit, if it is not in the labels
    labels, colors : of the K curves; colours repeat
    span : s that are kept; a clock that jumps back begins anew
    """

    def __init__(
        self, gui: Any, title: str, labels: Sequence[str], colors: Sequence[str], span: float = 30.0
    ) -> None:
        from viser import uplot

        self._span, self._is_new = span, False
        self._rows: deque[tuple[float, Array]] = deque()
        curves = [
            uplot.Series(label=label, stroke=colors[number % len(colors)], width=1.5)
            for number, label in enumerate(labels)
        ]
        self._handle = gui.add_uplot(
            data=(np.zeros(1), *(np.full(1, np.nan) for _ in labels)),
            series=(uplot.Series(label='t [s]'), *curves),
            title=title,
            scales={'x': uplot.Scale(time=False), 'y': uplot.Scale(auto=True)},
            height=_HEIGHT,
            visible=False,
        )

    def add(self, time: float, values: Array) -> None:
        """Add values (K,) at a time [s]; NaN leaves a gap."""
        if np.isnan(values).all() or (self._rows and time == self._rows[-1][0]):
            return
        if self._rows and time < self._rows[-1][0]:
            self._rows.clear()
        self._rows.append((time, np.asarray(values, dtype=float)))
        self._is_new = True
        while self._rows[0][0] < time - self._span:
            self._rows.popleft()

    def refresh(self) -> None:
        """Send what is new."""
        if self._is_new and len(self._rows) > 1:
            times, values = zip(*self._rows, strict=True)
            self._handle.data = (np.array(times), *np.array(values).T)
            self._handle.visible, self._is_new = True, False


class FaultPanel:
    """A leg to choose, one button for each kind of fault, and one that ends all of them.

    Parameters
    ----------
    gui : of viser
    drives : labels of the machine's drives
    ask : takes the request of a click
    """

    def __init__(self, gui: Any, drives: Sequence[str], ask: Callable[[Request], None]) -> None:
        self._ask = ask
        self._wanted: tuple[str, ...] = ()
        self._note = gui.add_markdown(_FAULT_HINT)
        leg = gui.add_dropdown('Leg', list(drives), initial_value=drives[0])
        for name, kind in LEG_FAULTS.items():
            self._add(gui, 'Leg', lambda: str(leg.value), name, kind)
        for name, kind in IMU_FAULTS.items():
            self._add(gui, 'IMU', lambda: 'imu', name, kind)
        gui.add_button('No faults', color='green').on_click(lambda _event: self._send(()))

    def _add(self, gui: Any, title: str, sensor: Callable[[], str], name: str, kind: FaultKind) -> None:
        written = name + _VALUES.get(name, '')

        def click(_event: object) -> None:
            fault = f'{sensor()} {written}'
            self._send((*(one for one in self._wanted if one != fault), fault))

        gui.add_button(f'{title} {written}'.replace('_', ' '), hint=kind.meaning).on_click(click)

    def _send(self, faults: tuple[str, ...]) -> None:
        self._wanted = faults
        self._ask(Request('faults', faults))

    def refresh(self, sensors: Status | None) -> None:
        """Show which faults the simulator reports; they may have been set elsewhere."""
        if sensors is None:
            return
        text = sensors.message
        if self._note.content != text:
            self._note.content = text
            on = text.removeprefix(_ON_PURPOSE)
            self._wanted = tuple(on.split(', ')) if on != text else ()
