"""Miletovic et al. (2017): geometry and kinematics of the simulator."""
