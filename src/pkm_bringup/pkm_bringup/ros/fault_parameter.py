"""Parameters ``faults`` and ``payload`` of the simulator, settable while it runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from pkm_description.errors import PkmError
from pkm_description.ros.diagnostics import Level
from pkm_description.ros.parameters import declare
from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter

from pkm_bringup.simulation import MujocoSimulation
from pkm_bringup.simulation.faults import SensorFaults, allowed_faults
from pkm_bringup.simulation.mujoco_simulation import PayloadError, point_mass

PAYLOAD_PARAMETER = 'payload'
PARAMETER = 'faults'
#: status of each
_STATUSES = {PARAMETER: 'sensors', PAYLOAD_PARAMETER: 'payload'}
Status = tuple[Level, str, dict[str, object]]


class LiveParameters:
    """Declares the parameters of a simulation's faults and payload, and hands on what they are set to, now and later.

    Parameters
    ----------
    node : that has the parameters
    drives : labels of the drives
    faults, simulation : take the values

    Raises
    ------
    FaultError, PayloadError
        A text given at the start is no fault of this machine, or numbers are no payload.
    """

    def __init__(
        self, node: Node, drives: Sequence[str], faults: SensorFaults, simulation: MujocoSimulation
    ) -> None:
        self._faults, self._simulation, self._log = faults, simulation, node.get_logger()
        self._puts: dict[str, Callable[[Any], None]] = {PARAMETER: faults.put, PAYLOAD_PARAMETER: self._load}
        faults.put(declare(node, PARAMETER, [], f'faults of the simulated sensors; {allowed_faults(drives)}'))
        meaning = (
            'payload on the simulated platform, settable while it runs: mass [kg] and where it is, x, y, z [m] of the '
            "platform's frame; mass 0: none"
        )
        self._load(declare(node, PAYLOAD_PARAMETER, [0.0, 0.0, 0.0, 0.0], meaning))
        node.add_on_set_parameters_callback(self._set)

    def _set(self, parameters: list[Parameter]) -> SetParametersResult:
        for parameter in parameters:
            if parameter.name in self._puts:
                try:
                    self._puts[parameter.name](parameter.value if parameter.value is not None else [])
                except PkmError as error:
                    return SetParametersResult(successful=False, reason=str(error))
                self._log.info(self.statuses()[_STATUSES[parameter.name]][1])
        return SetParametersResult(successful=True)

    def _load(self, values: Sequence[float]) -> None:
        if len(values) != 4:
            raise PayloadError(f'payload of {len(values)} numbers: expected four, mass [kg] and x, y, z [m]')
        self._simulation.payload.put(point_mass(float(values[0]), np.asarray(values[1:], dtype=float)))

    def statuses(self) -> dict[str, Status]:
        """Level, sentence and values for diagnostics, of both parameters; the sentence is logged after a change."""
        texts, body = ', '.join(self._faults.texts), self._simulation.payload.body
        loaded = 'no payload'
        if body is not None:
            loaded = f'payload of {body.mass:g} kg at {", ".join(f"{value:g}" for value in body.center_of_mass)} m'
        return {
            'sensors': (Level.WARN, f'faults on purpose: {texts}', {}) if texts else (Level.OK, 'no faults', {}),
            'payload': (Level.OK, loaded, {}),
        }
