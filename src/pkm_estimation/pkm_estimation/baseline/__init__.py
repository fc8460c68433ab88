"""The conventional baseline for comparison: forward kinematics and a differentiator."""

from pkm_estimation.baseline.kinematic_estimator import BaselineEstimate, ButterworthDifferentiator, KinematicEstimator

__all__ = ['BaselineEstimate', 'ButterworthDifferentiator', 'KinematicEstimator']
