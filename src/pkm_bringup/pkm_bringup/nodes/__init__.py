"""ROS nodes of the package."""
