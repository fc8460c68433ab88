"""The node of the identification while the machine runs: parameters, residuals, changes of the load."""

from __future__ import annotations

from launch import LaunchDescription
from pkm_bringup.launching import RELIABILITY_ARGUMENT
from pkm_description.launching import (
    DRIVER_ARGUMENTS,
    MACHINE_ARGUMENTS,
    declared,
    parameter,
    parameters,
    sensor_parameters,
    suite_node,
)


def generate_launch_description() -> LaunchDescription:
    """Start the node."""
    output = ('', 'directory for what ~/save writes; ~/.ros if empty')
    own = {'output_directory': parameter('output'), **parameters(reliability=str)}
    return LaunchDescription([
        *declared(**MACHINE_ARGUMENTS, **DRIVER_ARGUMENTS, output=output, **RELIABILITY_ARGUMENT),
        suite_node('pkm_identification', 'online_identification', [sensor_parameters(), own]),
    ])
