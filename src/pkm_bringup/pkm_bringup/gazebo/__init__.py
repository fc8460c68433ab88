"""Gazebo: what is installed, and the drives of a machine there."""
