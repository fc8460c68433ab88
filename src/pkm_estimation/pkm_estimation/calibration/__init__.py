"""Calibration of a machine's geometry and sensors as one maximum a posteriori problem, without ROS."""
