"""Viewing without ROS: sliders, poses within the limits, arrows of the drive forces."""
