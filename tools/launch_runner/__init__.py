"""Run ROS 2 Python launch files where ``launch`` and ``launch_ros`` are not installed.

A documented subset: what ``look_alikes`` exports. Everything else fails loudly, as an import error or as an unknown
argument. Where the real packages are installed, use ``ros2 launch``: the launch files are the same.
"""
