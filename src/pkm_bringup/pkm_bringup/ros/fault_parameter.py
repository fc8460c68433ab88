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
Status = tuple[Level, str, dict[str, object]]


class LiveParameter:
    """Declares a parameter on a node, and hands on what it is set to, at the start and later.

    Parameters
    ----------
    node, name, default, description : of the parameter
    put : takes its value, or refuses it with a :class:`PkmError`
    status : level, sentence and values for diagnostics; the sentence is logged after a change
    """

    def __init__(
        self, node: Node, name: str, default: Any, description: str, put: Callable[[Any], None],
        status: Callable[[], Status],
    ) -> None:  # fmt: skip
        self._name, self._put, self.status, self._log = name, put, status, node.get_logger()
        put(declare(node, name, default, description))
        node.add_on_set_parameters_callback(self._set)

    def _set(self, parameters: list[Parameter]) -> SetParametersResult:
        for parameter in parameters:
            if parameter.name == self._name:
                try:
                    self._put(parameter.value if parameter.value is not None else [])
                except PkmError as error:
                    return SetParametersResult(successful=False, reason=str(error))
                self._log.info(self.status()[1])
        return SetParametersResult(successful=True)


def live_parameters(
    node: Node, drives: Sequence[str], faults: SensorFaults, simulation: MujocoSimulation
) -> dict[str, LiveParameter]:
    """Parameters of the faults of the sensors and of the payload of a simulation, by name of their status.

    Raises
    ------
    FaultError, PayloadError
        A text given at the start is no fault of this machine, or numbers are no payload.
    """

    def told() -> Status:
        texts = ', '.join(faults.texts)
        return Level.WARN if texts else Level.OK, f'faults on purpose: {texts}' if texts else 'no faults', {}

    def load(values: Sequence[float]) -> None:
        if len(values) != 4:
            raise PayloadError(f'payload of {len(values)} numbers: expected four, mass [kg] and x, y, z [m]')
        simulation.payload.put(point_mass(float(values[0]), np.asarray(values[1:], dtype=float)))

    def loaded() -> Status:
        body = simulation.payload.body
        if body is None:
            return Level.OK, 'no payload', {}
        place = ', '.join(f'{value:g}' for value in body.center_of_mass)
        return Level.OK, f'payload of {body.mass:g} kg at {place} m', {}

    meaning = (
        'payload on the simulated platform, settable while it runs: mass [kg] and where it is, x, y, z [m] of the '
        "platform's frame; mass 0: none"
    )
    allowed = f'faults of the simulated sensors; {allowed_faults(drives)}'
    return {
        'sensors': LiveParameter(node, PARAMETER, [], allowed, faults.put, told),
        'payload': LiveParameter(node, PAYLOAD_PARAMETER, [0.0, 0.0, 0.0, 0.0], meaning, load, loaded),
    }
