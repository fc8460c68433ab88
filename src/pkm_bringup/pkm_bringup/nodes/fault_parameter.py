"""Parameter ``faults`` of the simulator: faults of its sensors, settable while it runs."""

from __future__ import annotations

from pkm_description.machine import Machine
from pkm_description.ros.diagnostics import Level
from pkm_description.ros.parameters import declare
from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter

from pkm_bringup.simulation.faults import FaultError, SensorFaults, allowed_faults

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
