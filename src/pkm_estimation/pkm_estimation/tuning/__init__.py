"""Sensor calibration and filter tuning from recordings, without ROS."""
