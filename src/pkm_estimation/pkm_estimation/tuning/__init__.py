"""Help with tuning: what recordings tell about the sensors, without ROS."""
