"""Sliders for a payload on the simulated platform."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pkm_description.machine import Machine

from pkm_bringup.viewer.moment import Request, Status

_HINT = 'A payload is for simulations: no simulator has been heard yet.'
#: heaviest payload, in masses of the platform, and steps of the slider
_HEAVIEST, _STEPS = 0.5, 50


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
