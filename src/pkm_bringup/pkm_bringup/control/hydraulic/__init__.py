"""Hydraulic drives: data of valve and cylinder, and the decoupled controller of each axis; without ROS."""

from pkm_bringup.control.hydraulic.cylinder import (
    STAGES,
    Cylinder,
    HydraulicAxes,
    HydraulicControlSettings,
    HydraulicSettings,
)

__all__ = ['STAGES', 'Cylinder', 'HydraulicAxes', 'HydraulicControlSettings', 'HydraulicSettings']
