"""What ``bringup.launch.py`` needs to know about ros2_control: packages, controllers, parameter files."""

from pkm_bringup.hardware.control_files import (
    ControlFiles,
    chosen_controllers,
    missing_packages,
    needed_packages,
    write_control_files,
)

__all__ = ['ControlFiles', 'chosen_controllers', 'missing_packages', 'needed_packages', 'write_control_files']
