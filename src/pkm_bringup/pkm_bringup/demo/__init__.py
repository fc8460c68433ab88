"""Demo of the whole system: time line, errors, limits and the table of results; without ROS."""
