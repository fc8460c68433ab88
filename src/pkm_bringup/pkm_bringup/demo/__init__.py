"""The guided run of the whole system: time line, errors, criteria and the table at the end; free of ROS."""
