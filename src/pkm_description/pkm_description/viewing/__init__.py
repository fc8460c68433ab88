"""Looking at a machine: sliders that move it, postures that its limits allow, arrows of its drive forces. No ROS."""
