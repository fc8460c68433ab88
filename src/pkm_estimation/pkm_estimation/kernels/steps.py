"""Steps of the unscented filter on the inertial process and on leg lengths, each as a single call."""

from __future__ import annotations

from pkm_description.arrays import Array
from pkm_description.kernels.jit import kernel

from pkm_estimation.kernels.leg_lengths import LegsData, lengths_of_all
from pkm_estimation.kernels.process import ProcessData, noise_factor, propagate_all
from pkm_estimation.kernels.unscented import CorrectionData, FilterData, correct, draw_points, predict_from_points


@kernel
def predict(
    filter_: FilterData, process: ProcessData, before: Array, after: Array, duration: float, noise_duration: float
) -> int:
    """Predict over ``duration`` s between two IMU samples (6,); ``noise_duration`` s is that of the noise."""
    status = draw_points(filter_)
    if status < 0:
        return status
    noise_factor(process, filter_.state, noise_duration, filter_.rows, 2 * len(filter_.state))
    propagate_all(process, filter_.points, before, after, duration)
    predict_from_points(filter_)
    return status


@kernel
def predict_step(filter_: FilterData, process: ProcessData, duration: float, noise_duration: float) -> int:
    """As :func:`predict`, between the samples that ``process`` holds."""
    return predict(filter_, process, process.before, process.after, duration, noise_duration)


@kernel
def update(filter_: FilterData, legs: LegsData, correction: CorrectionData, limit: float) -> int:
    """Correct with leg lengths, if the NIS is within ``limit``."""
    status = draw_points(filter_)
    if status < 0:
        return status
    lengths_of_all(legs, filter_.points, correction.values)
    return correct(filter_, correction, limit)
