"""What the nodes of all packages share: the only place of this package that needs rclpy."""
