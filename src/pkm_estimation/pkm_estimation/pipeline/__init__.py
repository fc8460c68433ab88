"""From stamped sensor samples to estimates: the one code path of the node and of offline use."""

from pkm_estimation.pipeline.baseline_stream import BaselinePipeline
from pkm_estimation.pipeline.config import ConfigurationError, EstimatorConfig
from pkm_estimation.pipeline.estimator_pipeline import EstimatorPipeline
from pkm_estimation.pipeline.output import EstimatorOutput
from pkm_estimation.pipeline.platform_filter import PlatformFilter
from pkm_estimation.pipeline.point_motion import PointMotion

__all__ = [
    'BaselinePipeline',
    'ConfigurationError',
    'EstimatorConfig',
    'EstimatorOutput',
    'EstimatorPipeline',
    'PlatformFilter',
    'PointMotion',
]
