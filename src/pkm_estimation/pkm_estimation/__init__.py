"""State estimation of parallel kinematic machines: Kalman filters, baseline, sensor models and the estimator node.

The names below are what a script or a notebook needs; each is imported when it is first used. So arrays can be filtered
without the libraries for recordings, plots and ROS.

Examples
--------
>>> from pkm_description import load_machine, profile
>>> from pkm_estimation import estimate, measure
>>> srs = load_machine('srs')
>>> track = estimate(srs, measure(srs, profile('mp1', srs, duration=20, rate=100)))
>>> track.motion.position[-1]  # m, of platform_link in base_link
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pkm_description.lazy_names import lazy_names

if TYPE_CHECKING:
    from pkm_estimation.bags import RecordedData, read_bag
    from pkm_estimation.config import EstimatorConfig
    from pkm_estimation.filtering.platform_filter import PlatformFilter
    from pkm_estimation.filtering.point_motion import PlatformPoints
    from pkm_estimation.motion_estimate import MotionEstimate
    from pkm_estimation.offline.estimate import estimate
    from pkm_estimation.offline.result import EstimationResult
    from pkm_estimation.sensors import SensorConditions, SensorData, measure, simulate_sensors
    from pkm_estimation.stream import BaselinePipeline, EstimatorOutput, EstimatorPipeline

__getattr__, __dir__ = lazy_names(__name__)
