"""Smooths the estimates of a recording: each from all measurements of its stretch, also the later ones.

The filter runs twice. The first run keeps checkpoints only. The second goes through the recording from its last block
of samples to the first, records the steps of each block again, and smooths backwards: memory is that of one block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.errors import ConfigurationError

from pkm_estimation.config import EstimatorConfig
from pkm_estimation.exchange.output import OutputModel
from pkm_estimation.filtering.backward_pass import Gaussian, Passage, corrected, predicted, smoothed_before
from pkm_estimation.filtering.point_motion import FilterStates
from pkm_estimation.filtering.step_record import Estimated, Left, Started
from pkm_estimation.models import BIASES
from pkm_estimation.offline.comparison import RecordedSamples
from pkm_estimation.offline.result import EstimationResult, stamped_motion
from pkm_estimation.stream.stretch import Checkpoint, RepeatablePipeline

Entry = Passage | Estimated | Started | Left
Smoothed = list[tuple[Estimated | None, Gaussian | None]]

#: estimates that are recorded at once: some 25 kB each
_BLOCK = 1000
#: estimates before a block from which on it is run, so that the errors of samples are known at its begin
_BEFORE = 50


def check_smoothable(config: EstimatorConfig) -> None:
    """Raise ConfigurationError if estimates with these settings cannot be smoothed."""
    if config.history > 0.0:
        raise ConfigurationError(
            f'history = {config.history:g}: with it the filter goes back for late samples, and such a run cannot be '
            'smoothed; smooth with history = 0, late samples are then rejected'
        )


class Place(NamedTuple):
    """A place in the recording.

    Attributes
    ----------
    sample, estimates : the next sample, and the number of estimates before it
    checkpoint : of the pipeline there
    """

    sample: int
    estimates: int
    checkpoint: Checkpoint


class Checkpoints:
    """Where the first run was.

    Attributes
    ----------
    blocks : where each block begins, and the place before from which it is run
    """

    def __init__(self, pipeline: RepeatablePipeline) -> None:
        self._pipeline = pipeline
        self._last: list[Place] = []
        self.blocks: list[tuple[Place, Place]] = []

    def pass_by(self, sample: int, count: int) -> None:
        """Remember the place."""
        here = Place(sample, count, self._pipeline.checkpoint())
        self._last.append(here)
        while len(self._last) > 1 and self._last[1].estimates <= count - _BEFORE:
            self._last.pop(0)
        if not self.blocks or count - self.blocks[-1][0].estimates >= _BLOCK:
            self.blocks.append((here, self._last[0]))


def smoothed(
    result: EstimationResult,
    pipeline: RepeatablePipeline,
    samples: RecordedSamples,
    checkpoints: Checkpoints,
    progress: Callable[[float], None],
) -> EstimationResult:
    """Smoothed states, motions and biases in place of the filter's; NIS and innovations stay those of the filter.

    Parameters
    ----------
    result : of the first run; its arrays are overwritten
    pipeline, samples, checkpoints : of the first run
    progress : called with the finished part (0-1)
    """
    lost = result.nis > pipeline.config.divergence_nis
    smoother = Smoother(pipeline.filter.layout.size)
    sample_end, end = len(samples), len(result)
    for place, before in reversed(checkpoints.blocks):
        sample, begin = place.sample, place.estimates
        usable = ~lost[begin:end]
        stamps, estimates = _smoothed_block(pipeline, samples, before, sample, sample_end, usable, smoother)
        if stamps != result.motion.stamps[begin:end].tolist():
            raise AssertionError('the second run over the recording gave other estimates than the first')
        if estimates:
            _put(result, begin, estimates, pipeline.tracker.output_model)
        sample_end, end = sample, begin
        progress(1.0 - sample / len(samples))
    return replace(result, is_smoothed=True)


def _smoothed_block(
    pipeline: RepeatablePipeline, samples: RecordedSamples, before: Place, begin: int, end: int,
    usable: NDArray[np.bool_], smoother: Smoother,
) -> tuple[list[int], Smoothed]:  # fmt: skip
    """Stamps [ns] of the estimates of some samples, and the estimates with the smoothed ones.

    After a start the filter's models are linear in an estimate that may be far off, as it knows neither speed nor
    biases. So the filter starts again from what came out: its prior counts next to nothing against that.

    Parameters
    ----------
    pipeline, samples : of the recording
    before : from where it is run
    begin, end : of the samples
    usable : (N,) which of the estimates may be the last of a stretch
    """

    def run(starts: Sequence[Array | None]) -> tuple[list[int], list[Entry], list[Entry]]:
        """Stamps of the estimates, and the record before the block and in it."""
        record = pipeline.return_to(before.checkpoint)
        for _ in samples.one_by_one(pipeline, before.sample, begin):
            pass
        earlier, record.starts = record.take(), iter(starts)
        stamps = [output.stamp for output in samples.one_by_one(pipeline, begin, end)]
        return stamps, earlier, record.take()

    after = smoother.after
    stamps, earlier, entries = run(())
    estimates = smoother.smooth(entries, usable.item, earlier)
    starts = _starts(entries, estimates)
    if not starts:
        return stamps, estimates
    reached, smoother.after = smoother.after, after
    again, earlier, entries = run(starts)
    if again == stamps:
        return stamps, smoother.smooth(entries, usable.item, earlier)
    smoother.after = reached
    return stamps, estimates


def _starts(entries: Sequence[Entry], estimates: Smoothed) -> list[Array | None]:
    """Smoothed state (n,) of each start, ``None`` where no estimate came of it."""
    starts: list[Array | None] = []
    number, is_first = 0, False
    for entry in entries:
        if isinstance(entry, Started):
            starts.append(None)
            is_first = True
        elif isinstance(entry, Estimated):
            estimate = estimates[number][1]
            if is_first and estimate is not None:
                starts[-1] = _known(entry, estimate)[0]
            number, is_first = number + 1, False
        elif isinstance(entry, Left):
            number, is_first = number + 1, False
    return starts


def _put(result: EstimationResult, begin: int, estimates: Smoothed, model: OutputModel) -> None:
    """Overwrite what smoothed estimates, of places from ``begin`` on, say anew."""
    rows = [k for k, (_, estimate) in enumerate(estimates) if estimate is not None]
    pairs = [(entry, estimate) for entry, estimate in estimates if entry is not None and estimate is not None]
    if not pairs:
        return
    places = begin + np.array(rows)
    states = _joined([_known(entry, estimate) for entry, estimate in pairs])
    felt = _joined([_known_with_input(entry, estimate) for entry, estimate in pairs])
    motion, inertial, corrected = model.motion(felt), model.inertial(states), model.inertial(felt)
    for name, value in vars(stamped_motion(result.motion.stamps[places], motion)).items():
        getattr(result.motion, name)[places] = value
    for name, value in (
        ('accelerometer_bias', inertial.accelerometer_bias),
        ('gyroscope_bias', inertial.gyroscope_bias),
        ('bias_std', inertial.bias_std),
        ('specific_force', corrected.specific_force),
        ('angular_rate', corrected.angular_rate),
        ('linear_acceleration', corrected.linear_acceleration),
        ('state', model.state(states, np.zeros(len(places)))),
        ('state_std', np.sqrt(states.covariance.diagonal(axis1=1, axis2=2))),
    ):
        getattr(result, name)[places] = value
    delay = model.layout.imu_delay
    if delay is not None:
        result.state[places, delay] = [estimate.mean[delay] for _, estimate in pairs]


def _joined(known: list[tuple[Array, ...]]) -> FilterStates:
    return FilterStates(*(np.array(values) for values in zip(*known, strict=True)))


def _known(entry: Estimated, estimate: Gaussian) -> tuple[Array, ...]:
    """Smoothed values for :class:`FilterStates`: the filter's, with another state."""
    state, _, *rest = entry.known
    size = len(state)
    # what is declared of a delay stays declared
    declared = entry.estimate.mean[:size] - state
    return estimate.mean[:size] - declared, _claimed(entry, estimate.covariance[:size, :size]), *rest


def _claimed(entry: Estimated, covariance: Array) -> Array:
    """Covariance (n, n) with what the constants of the machine make of the estimate."""
    claimed: Array = entry.scale * covariance + entry.sensitivity @ entry.sensitivity.T
    return claimed


def _known_with_input(entry: Estimated, estimate: Gaussian) -> tuple[Array, ...]:
    """The same with the errors of the samples of now in their biases, where they were carried along.

    An error is the true input less the sample, a bias the sample less the true input.
    """
    known = _known(entry, estimate)
    if not len(entry.parts):
        return known
    state, _, *others, noise = known
    size = len(state)
    felt = np.eye(size, len(estimate.mean))
    felt[BIASES, size:] = -np.kron(entry.parts, np.eye(len(noise)))
    covariance = _claimed(entry, felt @ estimate.covariance @ felt.T)
    return state + felt[:, size:] @ estimate.mean[size:], covariance, *others, np.zeros_like(noise)


# Smooths what a filter's record holds, block by block from the last to the first.
class _Link(NamedTuple):
    """A passage as the own estimator went it."""

    estimate: Gaussian
    passage: Passage
    prediction: Gaussian


class _Estimator:
    """Estimates forward, along a record, with the errors of the samples corrected, too; ``size`` states."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._filter: Gaussian | None = None
        self.estimate: Gaussian | None = None

    def go(self, entry: Entry) -> _Link | tuple[Estimated, Gaussian] | Left | None:
        """One entry on; what it came to, ``None`` at a start."""
        if isinstance(entry, Started | Left):
            self._filter = self.estimate = None
            return entry if isinstance(entry, Left) else None
        if isinstance(entry, Passage):
            return _Link(self.correct(entry.begin), entry, self.predict(entry))
        return entry, self.correct(entry.estimate)

    def correct(self, now: Gaussian) -> Gaussian:
        """Take over what brought the filter to its estimate of now; returns the own one."""
        if self.estimate is None or self._filter is None:
            self.estimate = now
        elif self.estimate is self._filter and len(now.mean) == self._size:
            self.estimate = now  # no errors of samples: the filter is as good as can be
        elif not _equal(now, self._filter, self._size):
            self.estimate = corrected(self.estimate, self._filter, now, self._size)
        self._filter = now
        return self.estimate

    def predict(self, passage: Passage) -> Gaussian:
        """Predict to the end of a passage; returns the own prediction."""
        assert self.estimate is not None
        same = self.estimate is passage.begin
        self.estimate = passage.end if same else predicted(passage, self.estimate)
        self._filter = passage.end
        return self.estimate


class Smoother:
    """Smooths blocks of entries of a record, the last block first.

    Parameters
    ----------
    size : number of states n

    Attributes
    ----------
    after : smoothed estimate with which the last block began; ``None``: nothing reached so far
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self.after: Gaussian | None = None

    def smooth(
        self, entries: Sequence[Entry], is_usable: Callable[[int], bool], before: Sequence[Entry] = ()
    ) -> list[tuple[Estimated | None, Gaussian | None]]:
        """Estimates of a block, each with the smoothed one, in order.

        Parameters
        ----------
        entries : of the block
        is_usable : whether the block's estimate of this number may be the last of its stretch; those after the last
            usable one cannot be smoothed: ``None``
        before : entries before the block, after which it matters no more how they began

        Raises
        ------
        numpy.linalg.LinAlgError
            A covariance of the filter is not positive definite.
        """
        forward = _Estimator(self._size)
        for entry in before:
            forward.go(entry)
        links = [forward.go(entry) for entry in entries]
        number = sum(isinstance(entry, Estimated | Left) for entry in entries)
        result: list[tuple[Estimated | None, Gaussian | None]] = []
        for link in reversed(links):
            if link is None:
                self.after = None
            elif isinstance(link, Left):
                number -= 1
                self.after = None
                result.append((None, None))
            elif isinstance(link, _Link):
                if self.after is not None:
                    self.after = smoothed_before(link.estimate, link.passage.slope, link.prediction, self.after)
            else:
                number -= 1
                if self.after is None and is_usable(number):
                    self.after = link[1]
                result.append((link[0], self.after))
        return result[::-1]


def _equal(one: Gaussian, other: Gaussian, size: int) -> bool:
    means = np.array_equal(one.mean[:size], other.mean[:size])
    return means and np.array_equal(one.covariance[:size, :size], other.covariance[:size, :size])
