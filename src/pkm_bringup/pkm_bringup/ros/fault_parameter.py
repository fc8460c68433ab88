"""Parameters ``faults`` and ``payload`` of the simulator, settable while it runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pkm_description.machine import Machine
from pkm_description.ros.diagnostics import Level
from pkm_description.ros.parameters import declare
from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter

from pkm_bringup.simulation import MujocoSimulation
from pkm_bringup.simulation.faults import FaultError, SensorFaults, allowed_faults
from pkm_bringup.simulation.mujoco_simulation import PayloadError, point_mass

PAYLOAD_PARAMETER = 'payload'
PARAMETER = 'faults'


class FaultParameter:
    """Declares the parameter on a node, and keeps the faults that it asks for.

    Attributes
    ----------
    faults : present ones

    Raises
    ------
    FaultError
        A text given at start is no fault of this machine.
    """

    def __init__(self, node: Node, machine: Machine, seed: int) -> None:
        self._drives, self._seed = machine.drive_labels, seed
        self._log = node.get_logger()
        texts = declare(node, PARAMETER, [], f'faults of the simulated sensors; {allowed_faults(self._drives)}')
        self.faults = SensorFaults(self._drives, texts, seed)
        node.add_on_set_parameters_callback(self._set)

    def status(self) -> tuple[Level, str, dict[str, object]]:
        """Level, sentence and values for diagnostics."""
        texts = ', '.join(self.faults.texts)
        return Level.WARN if texts else Level.OK, f'faults on purpose: {texts}' if texts else 'no faults', {}

    def _set(self, parameters: list[Parameter]) -> SetParametersResult:
        for parameter in parameters:
            if parameter.name == PARAMETER:
                try:
                    self.faults = SensorFaults(self._drives, parameter.value or [], self._seed)
                except FaultError as error:
                    return SetParametersResult(successful=False, reason=str(error))
                self._log.info(self.status()[1])
        return SetParametersResult(successful=True)


class PayloadParameter:
    """Declares the parameter on a node, and puts the payload that it asks for on the simulated platform.

    Raises
    ------
    PayloadError
        Numbers given at start are no payload.
    """

    def __init__(self, node: Node, simulation: MujocoSimulation) -> None:
        self._simulation, self._log = simulation, node.get_logger()
        values = declare(
            node, PAYLOAD_PARAMETER, [0.0, 0.0, 0.0, 0.0],
            'payload on the simulated platform, settable while it runs: mass [kg] and where it is, x, y, z [m] of the '
            "platform's frame; mass 0: none",
        )  # fmt: skip
        self._put(values)
        node.add_on_set_parameters_callback(self._set)

    def status(self) -> tuple[Level, str, dict[str, object]]:
        """Level, sentence and values for diagnostics."""
        body = self._simulation.payload
        if body is None:
            return Level.OK, 'no payload', {}
        place = ', '.join(f'{value:g}' for value in body.center_of_mass)
        return Level.OK, f'payload of {body.mass:g} kg at {place} m', {}

    def _put(self, values: Sequence[float]) -> None:
        if len(values) != 4:
            raise PayloadError(f'payload of {len(values)} numbers: expected four, mass [kg] and x, y, z [m]')
        self._simulation.put_payload(point_mass(float(values[0]), np.asarray(values[1:], dtype=float)))

    def _set(self, parameters: list[Parameter]) -> SetParametersResult:
        for parameter in parameters:
            if parameter.name == PAYLOAD_PARAMETER:
                try:
                    self._put(parameter.value if parameter.value is not None else [])
                except PayloadError as error:
                    return SetParametersResult(successful=False, reason=str(error))
                self._log.info(self.status()[1])
        return SetParametersResult(successful=True)
