"""Steps of the unscented filter on the inertial process and on leg lengths, each as a single call."""

from __future__ import annotations

from pkm_description.arrays import Array
from pkm_description.kernels.jit import kernel

from pkm_estimation.kernels.carried import DRIFT_TIME, add_score, add_to_block, carry
from pkm_estimation.kernels.input_noise import (
    COLUMNS,
    LASTING_COLUMNS,
    add_constants,
    add_independent_noise,
    add_input_noise,
    forget_carried,
    is_loud,
    set_counted,
    set_effect,
    set_slope,
    shift_carried,
)
from pkm_estimation.kernels.input_path import set_inputs
from pkm_estimation.kernels.leg_lengths import LegsData, lengths_of_all, slopes_of_struts
from pkm_estimation.kernels.process import (
    ACCELEROMETER_ROW,
    CHART_RADIUS,
    ProcessData,
    left_chart,
    propagate,
    set_rate_variances,
    set_rates,
)
from pkm_estimation.kernels.sample_noise import set_noise
from pkm_estimation.kernels.unscented import (
    CARRIED_NOISES,
    DONE,
    CorrectionData,
    FilterData,
    correct,
    draw_points,
    predict_from_points,
)

#: rows of the memory: filtered rates, smoothed signals, last samples
RATE, SMOOTHED, LAST = 0, 1, 2
#: what a prediction returns that is done, and whose attitude is beyond the chart's radius
LEFT_CHART = 1
#: ns over which innovations are summed up before they say something of constants
BLOCK = 100_000_000
#: s, half of what stamps can say
_SHORTEST = 0.5e-9
_NANOSECOND = 1e-9


@kernel
def propagate_all(process: ProcessData, points: Array, begin: float, duration: float) -> None:
    """Advance all points by ``duration`` s from ``begin`` s after the second of the present samples."""
    set_inputs(process, begin, duration)
    for point in range(len(points)):
        propagate(process, points, point, duration)


@kernel
def predict(filter_: FilterData, process: ProcessData, begin: float, duration: float) -> int:
    """Predict over ``duration`` s from ``begin`` s after the second of the present samples."""
    status = draw_points(filter_)
    if status < 0:
        return status
    set_slope(process)
    set_noise(process)
    set_effect(process, filter_.state)
    propagate_all(process, filter_.points, begin, duration)
    predict_from_points(filter_, 0)
    if filter_.stamp_variance[0] > 0.0 or len(filter_.changes) > 0:
        set_rates(process, filter_.state, process.inputs[len(process.nodes) - 1], filter_.rates)
        set_rate_variances(filter_.covariance, filter_.rate_variances)
    is_carried, half = is_loud(process), 0.5 / filter_.scaling[0]
    first = shift_carried(process, filter_.carried) if is_carried else CARRIED_NOISES
    if not is_carried:
        forget_carried(process, filter_.carried)
        filter_.carried_count[0] = 0
        add_independent_noise(process, filter_.covariance, duration)
        if filter_.carried.shape[1] == CARRIED_NOISES:
            return status
    carry(
        filter_.factor, filter_.points, half, ACCELEROMETER_ROW, first, filter_.carried, filter_.along, filter_.squares
    )  # fmt: skip
    add_constants(process, filter_.carried, duration)
    filter_.elapsed[0] = (process.stamps[0] - process.reference[0]) * (_NANOSECOND / DRIFT_TIME)
    if not is_carried:
        return status
    add_input_noise(process, filter_.covariance, filter_.carried, duration)
    is_whole = begin + duration > process.times[0] - _SHORTEST
    filter_.carried_count[0] = LASTING_COLUMNS if is_whole else COLUMNS
    return status


@kernel
def predict_step(filter_: FilterData, process: ProcessData, begin: float, duration: float) -> int:
    """As :func:`predict`; ``LEFT_CHART`` where the attitude is so large."""
    status = predict(filter_, process, begin, duration)
    return LEFT_CHART if status == DONE and left_chart(filter_.state, CHART_RADIUS) else status


@kernel
def update(filter_: FilterData, legs: LegsData, correction: CorrectionData, limit: float) -> int:
    """Correct with leg lengths, if the NIS is within ``limit``."""
    status = draw_points(filter_)
    if status < 0:
        return status
    lengths_of_all(legs, filter_.points, correction.values)
    if correction.constants.shape[1]:
        slopes_of_struts(legs, filter_.points, correction.constants)
    return correct(filter_, correction, limit)


@kernel
def score(filter_: FilterData, process: ProcessData, correction: CorrectionData) -> None:
    """Let the last correction count in what innovations say of the constants."""
    set_counted(process, filter_.counted)
    if process.stamps[0] - filter_.block_begin[0] > BLOCK:
        add_score(filter_.block, filter_.score, filter_.information, filter_.scored)
        filter_.block_begin[0] = process.stamps[0]
    add_to_block(
        filter_.block, correction.seen, correction.white, correction.used, correction.used_count[0], CARRIED_NOISES,
        filter_.counted,
    )  # fmt: skip


@kernel
def differentiate(memory: Array, values: Array, first: int, interval: float, stiffness: float, drag: float) -> None:
    """Take the samples (k,) ``values[first:]``, ``interval`` s after the last, into the memory (3, k).

    The trapezoidal rule for ``x' = r, r' = stiffness (u - x) - drag r``, solved for the new rate, is
    ``r1 = keep r0 + push (u0 + u1 - 2 x0)`` and ``x1 = x0 + half (r0 + r1)``.
    """
    half = 0.5 * interval
    above, below = half * (drag + half * stiffness), half * stiffness
    keep, push = (1.0 - above) / (1.0 + above), below / (1.0 + above)
    for k in range(memory.shape[1]):
        rate, smooth, value = memory[RATE, k], memory[SMOOTHED, k], values[first + k]
        after = keep * rate + push * (memory[LAST, k] + value - 2.0 * smooth)
        memory[RATE, k], memory[SMOOTHED, k], memory[LAST, k] = after, smooth + half * (rate + after), value
