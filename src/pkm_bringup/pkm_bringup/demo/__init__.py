"""The guided run of the whole system: time line, error figures, criteria and the table at the end; free of ROS."""
