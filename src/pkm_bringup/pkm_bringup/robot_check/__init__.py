"""What is wrong with the wiring of a robot, from its recorded or live streams; no ROS, time from stamps."""

from pkm_description.errors import Finding, State

from pkm_bringup.robot_check.check_robot import check_robot
from pkm_bringup.robot_check.recorded import Endpoint, Observation
from pkm_bringup.robot_check.wiring import Report

__all__ = ['Endpoint', 'Finding', 'Observation', 'Report', 'State', 'check_robot']
