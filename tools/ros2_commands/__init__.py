"""What the documentation uses of ``ros2 topic|service|param|node|lifecycle``, where ros2 is not installed."""
