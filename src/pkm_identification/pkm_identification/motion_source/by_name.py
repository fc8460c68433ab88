"""Motion sources by the name that stands in the settings."""

from __future__ import annotations

from pkm_identification.configuration import MotionSettings
from pkm_identification.motion_source.interface import MotionSource
from pkm_identification.motion_source.local_polynomials import LocalRegression, SavitzkyGolay
from pkm_identification.motion_source.periods import PeriodMean
from pkm_identification.motion_source.sources import CentralDifferences, EstimatorPoses, Fourier, LowPass


def motion_source(settings: MotionSettings | None = None) -> MotionSource:
    """Motion source of the settings; default: the low-pass."""
    settings = settings or MotionSettings()
    return {
        'low_pass': LowPass,
        'fourier': lambda: Fourier(settings.base_frequency, settings.harmonics),
        'periods': lambda: PeriodMean(settings.base_frequency, settings.harmonics),
        'savitzky_golay': lambda: SavitzkyGolay(settings.degree, settings.window),
        'local_regression': lambda: LocalRegression(settings.degree, settings.window),
        'central_differences': CentralDifferences,
        'estimator': EstimatorPoses,
    }[settings.source]()
