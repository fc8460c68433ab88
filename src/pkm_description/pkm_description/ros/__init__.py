"""Helpers for the nodes of all packages; apart from ``nodes`` the only part that needs rclpy."""
