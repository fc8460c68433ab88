"""Buttons for faults of simulated sensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pkm_bringup.simulation.faults import IMU_FAULTS, LEG_FAULTS, FaultKind
from pkm_bringup.viewer.moment import Request, Status

_HINT = 'Faults are for simulations: no simulator has been heard yet.'
#: what the buttons fill in
_VALUES = {'offset': ' 0.005', 'spikes': ' 0.1 0.02', 'noisy': ' 0.001'}
_ON_PURPOSE = 'faults on purpose: '


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
        self._note = gui.add_markdown(_HINT)
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
