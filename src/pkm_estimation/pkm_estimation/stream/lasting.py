"""What lasts: innovations that are larger than claimed, or not white, for seconds, and the causes of it.

The innovations of a filter whose model is right are white, and their NIS is chi-square distributed. Sums over blocks of
measurements are kept for some seconds. What is tested of them (Bar-Shalom, Li, Kirubarajan 2001, section 5.4):

- the NIS of all legs, and the squares of each leg by itself;
- the means of blocks: what changes slowly raises them long before the NIS.

Only where a test fails, the samples of these seconds are replayed to rank the causes
(:mod:`~pkm_estimation.stream.lasting`), a portion at a measurement now and then, the same live and offline.

A pose can be wrong by a hundred times what is claimed while innovations are hardly larger than they should be: joint
centres that are off by a millimetre make the NIS of six legs 6.1 to 6.5. So the last minute is tested, too, for any
excess that is beyond chance. That alone is no alarm, for a little is wrong with every model; but if one of the causes
explains it far better than chance, it is one.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.kernels.model import Integers
from pkm_description.machine import Machine

from pkm_estimation.config import EstimatorConfig
from pkm_estimation.stream.blocks import (
    LARGE,
    UNEXPLAINED,
    Block,
    Suspicion,
    excess,
    lasting_excess,
    measurements,
    span,
)
from pkm_estimation.stream.causes import Model
from pkm_estimation.stream.health import HealthMonitor
from pkm_estimation.stream.output import EstimatorOutput, OutputBlock
from pkm_estimation.stream.ranking import Ranking, rank
from pkm_estimation.stream.replay import Window, completed, replay_config
from pkm_estimation.stream.samples import ImuSample

#: ns between two portions for each unit that the first of them has cost
_PACE = 36_000
#: findings that are told
_TOLD = 3
#: measurements of a block; time [s] of a window, shortest for a test and for a ranking
_BLOCK, _WINDOW, _SHORTEST, _SHORTEST_RANKED = 50, 20.0, 5.0, 10.0
#: s, of the window for what is small, and shortest for it; score of a cause that makes a small excess an alarm
_LONG_WINDOW, _SHORTEST_LONG, _CONVINCING = 60.0, 30.0, 100.0
#: s between two rankings, at least, doubled each time that a lasting alarm gets the same answer, and at most; after one
#: of a small excess that no cause explains
_PAUSE, _LONGEST_PAUSE, _LONG_PAUSE = 60.0, 960.0, 600.0
#: s between two tests, at least
_TESTED_EVERY = 0.4
#: ns, of the IMU's samples before a window that are kept
_BEFORE = 1_000_000_000
#: ns, of the IMU's samples that are kept where no measurement comes
_MOST_IMU = 120_000_000_000
#: measurements that are replayed, at most: of more, every second, third, ...
_MOST_REPLAYED = 2000


class LastingTest:
    """Tests the innovations of the last seconds.

    Parameters
    ----------
    machine, config : of the estimator
    health : gets the events ``over_confident``, ``over_confident_because`` and ``imu_off_because``
    """

    def __init__(self, machine: Machine, config: EstimatorConfig, health: HealthMonitor) -> None:
        self._machine, self._config, self._health = machine, config, health
        # with other filters and with constants that are estimated there is no fast replay
        self._is_ranked = config.rank_causes and config.filter == 'manifold' and not config.estimate
        self.is_on = config.filter != 'paper' and config.history == 0.0
        self.clear()

    def clear(self) -> None:
        """Forget everything: the clock was restarted."""
        self._blocks: deque[Block] = deque()
        self._waiting: list[tuple[NDArray[Any], ...]] = []
        self._count, self._epoch = 0, 0
        self._imu: deque[tuple[Integers, Array]] = deque()
        self._since: int | None = None
        self._job: RankingJob | None = None
        self._suspicion, self._is_of_imu = Suspicion(), False
        self._health.imu_because = ''
        self._tested_at = -(2**62)
        self._alarm, self._ranked_at = '', -(2**62)
        #: until the causes are ranked again [s], and what was the likeliest
        self._pause, self._likeliest = _PAUSE, ''
        #: the small excess that is ranked, if one is; whether the last ranking has found a convincing cause
        self._small, self._is_explained = '', False

    def know_imu_noise(self, covariance: Array) -> None:
        """Replay with another noise (6, 6) of one IMU sample, IMU axes, than the machine file's."""
        force, rate = np.sqrt(covariance.diagonal()).reshape(2, 3)
        imu = replace(
            self._machine.imu, accelerometer_noise=force, gyroscope_noise=rate,
            accelerometer_resolution=np.zeros(3), gyroscope_resolution=np.zeros(3),
        )  # fmt: skip
        self._machine = replace(self._machine, imu=imu)

    # -- samples -------------------------------------------------------------------------------------------------------

    def add_imu(self, sample: ImuSample) -> None:
        """Take a sample, in order."""
        if self.is_on:
            self._imu.append((np.array([sample.instant.stamp]), sample.value[None]))
            self._drop_oldest_imu()

    def add_imus(self, stamps: Integers, values: Array) -> None:
        """Take samples (N,) ns, (N, 6), in order."""
        if self.is_on and len(stamps):
            self._imu.append((stamps, values))
            self._drop_oldest_imu()

    def _drop_oldest_imu(self) -> None:
        """Keep the memory bounded while no measurement comes that would drop what is too old."""
        begin = self._imu[-1][0][-1] - _MOST_IMU
        while len(self._imu) > 1 and not begin <= self._imu[0][0][-1]:
            self._imu.popleft()

    def add(self, output: EstimatorOutput, imu_fault: str = '') -> None:
        """Take an estimate; ``imu_fault`` is why the IMU is left out, if it is."""
        if not self.is_on:
            return
        innovation, stamps = output.innovation, np.array([output.stamp])
        if output.by_legs_alone:
            self._begin_anew(output.stamp)
            if imu_fault in UNEXPLAINED and self._is_ranked:
                self._suspicion.fail(output.stamp)
            elif imu_fault:  # its samples say themselves what is wrong
                self._suspicion.clear()
            self._suspect(output.instant.epoch, stamps, output.drive_positions[None])
            self._work(stamps)
        elif innovation is not None:
            self._suspect(output.instant.epoch, stamps, output.drive_positions[None])
            self._add(
                output.instant.epoch, stamps, output.drive_positions[None], innovation.residual[None],
                innovation.variance[None], np.array([innovation.nis]),
                np.broadcast_to(innovation.shared, innovation.residual.shape)[None],
            )  # fmt: skip

    def _suspect(self, epoch: int, stamps: Integers, positions: Array) -> None:
        """Keep measurements (N,) ns, (N, A) while the IMU is suspected, and rank the causes once there are enough."""
        suspicion = self._suspicion
        if epoch != self._epoch and suspicion.is_on:
            suspicion.clear()
        suspicion.add(stamps, positions)
        if not suspicion.is_on:
            self._health.imu_because = ''
        elif suspicion.is_long and self._job is None:
            suspicion.is_ranked = self._is_of_imu = True
            self._begin_ranking(int(stamps[-1]), *suspicion.measurements())

    def _begin_anew(self, stamp: int) -> None:
        """Forget what was before a stamp [ns] at which the IMU was left out: it is not the same model.

        A ranking goes on: it has samples of its own.
        """
        kept = self._imu, self._epoch, self._job, self._is_of_imu, self._small, self._ranked_at, self._suspicion
        because = self._health.imu_because
        self.clear()
        self._imu, self._epoch, self._job, self._is_of_imu, self._small, self._ranked_at, self._suspicion = kept
        self._drop_imu_before(stamp)
        self._health.lasting, self._health.imu_because = '', because
        if not because:
            self._health.findings = ()

    def _drop_imu_before(self, stamp: int) -> None:
        """Drop samples of the IMU that no window that begins at a stamp [ns] or later needs."""
        begin = self._suspicion.begin
        stamp = stamp if begin is None else min(begin, stamp)
        while len(self._imu) > 1 and self._imu[1][0][0] < stamp - _BEFORE:
            self._imu.popleft()

    def add_block(self, block: OutputBlock) -> None:
        """Take estimates of one epoch."""
        if self.is_on:
            epoch = int(block.epochs[0])
            if self._suspicion.is_on:
                self._suspect(epoch, block.stamps, block.drive_positions)
            self._add(
                epoch, block.stamps, block.drive_positions, block.residual, block.variance, block.nis, block.shared
            )

    def _add(self, epoch: int, *columns: NDArray[Any]) -> None:
        if epoch != self._epoch:
            imu = self._imu
            self.clear()
            self._epoch, self._imu = epoch, imu
        begin, total, stamps = 0, len(columns[0]), columns[0]
        while begin < total:
            end = min(begin + _BLOCK - self._count, total)
            self._waiting.append(tuple(values[begin:end] for values in columns))
            self._count += end - begin
            self._work(stamps[begin : end - 1])
            if self._count == _BLOCK:
                self._judge(*(np.concatenate(values) for values in zip(*self._waiting, strict=True)))
                self._waiting, self._count = [], 0
            self._work(stamps[end - 1 : end])
            begin = end

    # -- tests ---------------------------------------------------------------------------------------------------------

    def _judge(self, stamps: Integers, *innovations: Array) -> None:
        self._blocks.append(Block.of(stamps, *innovations))
        end = int(stamps[-1])
        self._since = int(stamps[0]) if self._since is None else self._since
        while len(self._blocks) > 1 and (end - self._blocks[1].stamps[0]) * 1e-9 > _LONG_WINDOW:
            self._blocks.popleft()
        self._drop_imu_before(int(self._blocks[0].stamps[0]))
        if span(self._blocks) >= _SHORTEST and (end - self._tested_at) * 1e-9 >= _TESTED_EVERY:
            self._tested_at = end
            self._test(end)

    def _test(self, end: int) -> None:
        """Test the innovations up to a stamp [ns], and rank the causes of what is wrong with them."""
        recent = self._recent()
        labels = self._machine.drive_labels
        # of constants that are being found, errors that last count as more noise of each sample
        alarm, small = excess(recent, labels, LARGE, are_white=not self._config.estimate), ''
        if not alarm and self._is_ranked and span(self._blocks) >= _SHORTEST_LONG:
            small = lasting_excess(self._blocks, labels)
            alarm = small if self._is_explained else ''
        self._is_explained = self._is_explained and bool(small or alarm)
        if alarm and not self._alarm:
            self._health.event(end, 'over_confident', alarm)
        self._alarm = alarm
        if not alarm:
            self._health.lasting, self._health.findings = '', ()
            self._pause, self._likeliest = _PAUSE, ''
        elif not self._health.lasting:
            self._health.lasting = alarm
        if alarm and self._small:  # what is large goes first
            self._job, self._small = None, ''
        if not (alarm or small) or not self._is_ranked or self._job is not None:
            return
        pause = self._pause if alarm else _LONG_PAUSE
        if (end - self._ranked_at) * 1e-9 > pause and span(recent) >= _SHORTEST_RANKED:
            self._small = '' if alarm else small
            # what was ranked before and goes on shows better in all that there is
            self._begin_ranking(end, *measurements(self._blocks if small or self._ranked_at > 0 else recent))

    def _recent(self) -> list[Block]:
        """Blocks of the last seconds, and the one that reaches into them."""
        blocks, first = list(self._blocks), 0
        while first + 1 < len(blocks) and (blocks[-1].stamps[-1] - blocks[first + 1].stamps[0]) * 1e-9 > _WINDOW:
            first += 1
        return blocks[first:]

    # -- causes --------------------------------------------------------------------------------------------------------

    def _begin_ranking(self, stamp: int, stamps: Integers, positions: Array) -> None:
        imu_stamps, imu = (np.concatenate(values) for values in zip(*self._imu, strict=True))
        whole = np.isfinite(positions).all(axis=1)
        config = replay_config(self._config)
        # what came after the last of them is not known live yet
        last = int(np.searchsorted(imu_stamps, stamps[-1] + round(1e9 * config.imu_delay))) + 1
        first = int(np.searchsorted(imu_stamps, stamps[0] - _BEFORE))
        stamps, positions = stamps[whole], positions[whole]
        every = -(-len(stamps) // _MOST_REPLAYED)
        needed = slice(first, last)
        window = Window(imu_stamps[needed], imu[needed], stamps[::every], positions[::every], self._since or 0)
        self._job = RankingJob(Model(self._machine, config, window), stamp)

    def _work(self, stamps: Integers) -> None:
        """Advance a ranking at measurements (N,) ns: at each by one portion at most."""
        place = 0
        while self._job is not None:
            place += int(np.searchsorted(stamps[place:], self._job.due))
            if place == len(stamps):
                return
            stamp = stamps.item(place)
            ranking = self._job.advance(stamp)
            if ranking is not None:
                self._tell(stamp, ranking)
            place += 1

    def _tell(self, stamp: int, ranking: Ranking) -> None:
        self._job, self._ranked_at = None, stamp
        if self._is_of_imu:
            self._is_of_imu, self._health.imu_because = False, told(ranking)
            self._health.findings = ranking.findings
            self._health.event(stamp, 'imu_off_because', told(ranking))
            return
        small, self._small = self._small, ''
        self._is_explained = bool(ranking.findings) and ranking.findings[0].score >= _CONVINCING
        if small and not self._is_explained:
            return
        if small:
            self._alarm = small
            self._health.event(stamp, 'over_confident', small)
        likeliest = ranking.findings[0].name if ranking.findings else 'none'
        self._pause = min(2.0 * self._pause, _LONGEST_PAUSE) if likeliest == self._likeliest else _PAUSE
        self._likeliest = likeliest
        self._health.findings = ranking.findings
        self._health.lasting = f'{self._alarm or "for a while"}: {told(ranking)}'
        self._health.event(stamp, 'over_confident_because', told(ranking))

    def finish(self) -> None:
        """Complete a ranking: no further samples come, and what is processed again is not tested again."""
        if self._job is not None:
            self._tell(self._job.due, self._job.complete())
        if self._blocks:
            end = int(self._blocks[-1].stamps[-1])
            if self._alarm and self._is_ranked and self._ranked_at < 0:
                self._small = ''
                self._begin_ranking(end, *measurements(self._recent()))
                assert self._job is not None
                self._tell(end, self._job.complete())
        self.is_on = False


# A ranking of causes while the estimator goes on: a small portion now and then.
#
# When a portion is due follows from stamps and from what the portion before has cost, counted in samples: never from a
# clock of the computer. So a ranking ends live at the same measurement as offline, and takes about a tenth of a
# processor that needs 4 us for a sample of the IMU.
#
# A ranking works on the samples that it was given. A filter that is started anew meanwhile does not end it: the
# samples are as wrong as before, and what is wrong with them may be why. A restart of the clock and a reset on request
# end it without a word: stamps no longer say when it is due, and who resets may have changed something.
class RankingJob:
    """Ranking that is advanced by portions.

    Parameters
    ----------
    model : machine, settings of a replay, and samples
    stamp : ns, of the measurement at which it begins

    Attributes
    ----------
    due : ns, from when on the next portion may be run
    """

    def __init__(self, model: Model, stamp: int) -> None:
        self._portions = rank(model)
        self.due = stamp

    def advance(self, stamp: int) -> Ranking | None:
        """Run one portion at a measurement of ``stamp`` [ns]; the result if it was the last."""
        try:
            cost = next(self._portions)
        except StopIteration as end:
            result: Ranking = end.value
            return result
        self.due = stamp + _PACE * cost
        return None

    def complete(self) -> Ranking:
        """Run all that is left."""
        return completed(self._portions)


def told(ranking: Ranking) -> str:
    """Tell a ranking in words."""
    if not ranking.findings:
        return 'none of the known causes explains it'
    parts = [
        f'{finding.name}, {finding.size} (NIS {ranking.nis:.3g} -> {finding.nis:.3g}; {finding.mend})'
        for finding in ranking.findings[:_TOLD]
    ]
    return 'likeliest cause: ' + '; or '.join(parts)
