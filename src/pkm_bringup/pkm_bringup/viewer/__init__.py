"""What a viewer shows of a machine, and the live page in a browser; without ROS."""
