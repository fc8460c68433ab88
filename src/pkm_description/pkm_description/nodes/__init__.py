"""Thin rclpy shells and command-line tools."""
