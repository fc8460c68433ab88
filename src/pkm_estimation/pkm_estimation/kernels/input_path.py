"""The input between samples of the IMU, one step.

The input u of a step between the samples at t_0 and t_1 is the cubic through the samples at t_-2 .. t_1 (Lagrange's
form, any stamps); nothing is waited for beyond t_1. Miletovic et al. 2017 hold the sample at t_0 (Eq. 16 discretised by
Euler's rule): ``integrator: euler``, whose only node is there. A straight line loses ``(omega h)^2 / 12`` of a sine.

Where samples are missing or too far apart, the path is a parabola or a line. Over an interval much longer than those
before it the polynomial is in doubt: its highest term counts as the standard deviation of an error that lasts through
the interval.
"""

from __future__ import annotations

from pkm_description.arrays import Array
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.model import Integers

from pkm_estimation.kernels.carried import LOST, USUAL, VARIANCE, observe_stamp
from pkm_estimation.kernels.process import ProcessData

_NANOSECOND = 1e-9
#: samples of the polynomial, numbers of a sample, and samples whose errors are carried along
SAMPLES, INPUTS, CARRIED = 4, 6, 3
#: largest ratio of an interval to the one before it for the parabola and for the cubic: over a longer one, noise and
#: jitter of the samples before weigh too much. An interval before may be as many times longer as for the cubic
LARGEST_RATIOS = 60.0, 6.0
#: ratio from which on an interval has a gap
GAP_RATIO = 1.5
#: mean of a polynomial's highest term over the interval, by its value in the middle
MEAN_OF_TERM = 2.0 / 3.0


@kernel
def take_samples(process: ProcessData, stamps: Integers, samples: Array, last: int, since: int) -> None:
    """Make the interval from sample ``last`` on the present one; stamps (M,) ns, samples (M, 6).

    The polynomial goes through as many earlier samples, up to two, as are there, regular enough, and not before
    ``since`` [ns].
    """
    available = min(last + 2, SAMPLES)
    while available > 2 and stamps[last + 2 - available] < since:
        available -= 1
    for j in range(available):
        process.stamps[j] = stamps[last + 1 - j]
        for i in range(INPUTS):
            process.samples[j, i] = samples[last + 1 - j, i]
    choose_count(process, available)
    observe_stamp(process.imu_scatter, process.imu_stamps, process.stamps[0])


@kernel
def take_next(process: ProcessData, interval: float) -> int:
    """Take the samples ``before`` and ``after``, ``interval`` s apart, and those from before that the first follows.

    Returns how many samples there are.
    """
    follows = process.available[0] > 0
    for i in range(INPUTS):
        follows = follows and process.samples[0, i] == process.before[i]
    available = min(process.available[0] + 1, SAMPLES) if follows else 2
    for j in range(available - 1, 0, -1):
        process.stamps[j] = process.stamps[j - 1]
        for i in range(INPUTS):
            process.samples[j, i] = process.samples[j - 1, i] if follows else process.before[i]
    process.stamps[0] = process.stamps[1] + round(interval / _NANOSECOND)
    for i in range(INPUTS):
        process.samples[0, i] = process.after[i]
    process.available[0] = available
    choose_count(process, available)
    return available


@kernel
def choose_count(process: ProcessData, available: int) -> None:
    """Times of the samples in ``process``, and how many of the ``available`` ones the polynomial goes through."""
    for j in range(available):
        process.times[j] = (process.stamps[j] - process.stamps[1]) * _NANOSECOND
    times, count, interval = process.times, 2, process.times[0]
    while count < available:
        before, ratio = times[count - 1] - times[count], LARGEST_RATIOS[count - 2]
        if before > process.longest_gap[0] or before > LARGEST_RATIOS[1] * interval:
            break
        if interval > ratio * before or times[0] > -ratio * times[2]:
            break
        count, interval = count + 1, before
    process.used[0], process.has_gap[0] = count, 0
    if available == 2 or process.longest_gap[0] == 0.0:
        return
    usual = min(-times[2], times[2] - times[3]) if available > 3 else -times[2]
    longest = GAP_RATIO * usual
    if process.imu_scatter[VARIANCE] > 0.0:  # intervals differ without that any sample is missing
        longest = max(longest, LOST * process.imu_scatter[USUAL])
    if times[0] > longest:
        process.has_gap[0] = 1
        doubt(process, max(count, 3))


@kernel
def doubt(process: ProcessData, count: int) -> None:
    """Set ``gap_variance`` (6,) by the highest term of the polynomial through the first ``count`` samples."""
    for i in range(INPUTS):
        coefficient = 0.0
        for j in range(count):
            quotient = process.samples[j, i]
            for k in range(count):
                if k != j:
                    quotient /= process.times[j] - process.times[k]
            coefficient += quotient
        for k in range(count - 1):
            coefficient *= 0.5 * process.times[0] - process.times[k]
        process.gap_variance[i] = (MEAN_OF_TERM * coefficient) ** 2


@kernel
def set_basis(process: ProcessData, time: float) -> None:
    """Weights of the samples in the input ``time`` s after the second one: Lagrange's polynomials."""
    count = process.used[0]
    for j in range(count):
        weight = 1.0
        for i in range(count):
            if i != j:
                weight *= (time - process.times[i]) / (process.times[j] - process.times[i])
        process.basis[j] = weight


@kernel
def input_at(process: ProcessData, time: float, into: Array) -> None:
    """Input (6,) ``time`` s after the second sample; at a sample, that sample to the last bit."""
    set_basis(process, time)
    for i in range(INPUTS):
        total = 0.0
        for j in range(process.used[0]):
            total += process.basis[j] * process.samples[j, i]
        into[i] = total


@kernel
def set_inputs(process: ProcessData, begin: float, duration: float) -> None:
    """Inputs of the stages of a step that begins ``begin`` s after the second sample, and the weights w_j and m_j."""
    count, stages = process.used[0], len(process.nodes)
    for j in range(CARRIED):
        process.pulses[j] = process.moments[j] = 0.0
    process.inputs[:, :] = 0.0
    for look in range(stages):
        set_basis(process, begin + process.looks[look] * duration)
        for stage in range(stages):
            part, moment = process.mixture[stage, look], 0.0
            if part == 0.0:
                continue
            if stage + 1 < stages:  # the slope at a stage moves the velocity at the next one
                moment = process.weights[stage + 1] * process.nodes[stage + 1]
            for j in range(count):
                weight = part * process.basis[j]
                for i in range(INPUTS):
                    process.inputs[stage, i] += weight * process.samples[j, i]
                process.pulses[min(j, CARRIED - 1)] += process.weights[stage] * weight
                process.moments[min(j, CARRIED - 1)] += moment * weight
