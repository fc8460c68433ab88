"""The node of the identification while the machine runs: parameters, residuals, changes of the load."""

from __future__ import annotations

from launch import LaunchDescription
from pkm_bringup.launching import reliability_argument
from pkm_description.launching import (
    declared,
    driver_arguments,
    machine_arguments,
    sensor_parameters,
    suite_node,
    text,
)


def generate_launch_description() -> LaunchDescription:
    """Start the node."""
    parameters = {'output_directory': text('output'), 'reliability': text('reliability')}
    return LaunchDescription([
        *machine_arguments(),
        *driver_arguments(),
        *declared(output=('', 'directory for what ~/save writes; ~/.ros if empty')),
        reliability_argument(),
        suite_node('pkm_identification', 'online_identification', [sensor_parameters(), parameters]),
    ])
