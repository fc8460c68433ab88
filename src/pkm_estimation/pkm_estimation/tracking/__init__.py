"""The filter from measurement to measurement: starts, gates, hypotheses of IMU, legs and assembly mode."""
