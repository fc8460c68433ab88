"""From stamped sensor samples to estimates: the one code path of the node and of offline use."""

from pkm_description.lazy_names import exported

from pkm_estimation.config import EstimatorConfig
from pkm_estimation.exchange.baseline import BaselinePipeline
from pkm_estimation.exchange.output import EstimatorOutput
from pkm_estimation.filtering.platform_filter import PlatformFilter
from pkm_estimation.filtering.point_motion import PointMotion
from pkm_estimation.stream.pipeline import EstimatorPipeline

__all__ = exported(globals())
