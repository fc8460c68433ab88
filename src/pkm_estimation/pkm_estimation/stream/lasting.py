"""What lasts: innovations that are larger than claimed, or not white, for seconds, and the causes of it.

The innovations of a filter whose model is right are white, and their NIS is chi-square distributed. Sums over blocks of
measurements are kept for some seconds. What is tested of them (Bar-Shalom, Li, Kirubarajan 2001, section 5.4):

- the NIS of all legs, and the squares of each leg by itself;
- the means of blocks: what changes slowly raises them long before the NIS.

Only where a test fails, the samples of these seconds are replayed to rank the causes
(:mod:`~pkm_estimation.stream.ranking_job`), a portion at a measurement now and then, the same live and offline.
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.kernels.model import Integers
from pkm_description.machine import Machine

from pkm_estimation.config import EstimatorConfig
from pkm_estimation.stream.causes import Model
from pkm_estimation.stream.health import HealthMonitor
from pkm_estimation.stream.output import EstimatorOutput, OutputBlock
from pkm_estimation.stream.ranking import Ranking
from pkm_estimation.stream.ranking_job import RankingJob, told
from pkm_estimation.stream.replay import Window, replay_config
from pkm_estimation.stream.samples import ImuSample
from pkm_estimation.stream.suspicion import UNEXPLAINED, Suspicion

#: measurements of a block; time [s] of a window, shortest for a test and for a ranking
_BLOCK, _WINDOW, _SHORTEST, _SHORTEST_RANKED = 50, 20.0, 5.0, 10.0
#: s between two rankings, at least
_PAUSE = 60.0
#: s between two tests, at least
_TESTED_EVERY = 0.4
#: ns of samples of the IMU that are kept where no measurement comes
_MOST_IMU = 120_000_000_000
#: measurements that are replayed, at most: of more, every second, third, ...
_MOST_REPLAYED = 2000
#: ratios to what is expected that matter in practice: of the NIS, of the squares of a leg, and of means of blocks
_LARGE, _LARGE_LEG, _LARGE_MEANS = 1.3, 1.6, 1.8
#: standard deviations that a ratio must be above its expected value, too
_CERTAIN = 6.0


class _Block(NamedTuple):
    """Sums over measurements of A legs, and what they were."""

    stamps: Integers
    positions: Array
    nis: float
    numbers: int
    squares: Array
    seen: Array
    means: Array
    products: Array
    complete: int


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
        self._blocks: deque[_Block] = deque()
        self._waiting: list[tuple[NDArray[Any], ...]] = []
        self._count, self._epoch = 0, 0
        self._imu: deque[tuple[Integers, Array]] = deque()
        self._since: int | None = None
        self._job: RankingJob | None = None
        self._suspicion, self._is_of_imu = Suspicion(), False
        self._health.imu_because = ''
        self._tested_at = -(2**62)
        self._alarm, self._ranked_at = '', -(2**62)

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
        kept = self._imu, self._epoch, self._job, self._is_of_imu, self._ranked_at, self._suspicion
        because = self._health.imu_because
        self.clear()
        self._imu, self._epoch, self._job, self._is_of_imu, self._ranked_at, self._suspicion = kept
        self._drop_imu_before(stamp)
        self._health.lasting, self._health.imu_because = '', because
        if not because:
            self._health.findings = ()

    def _drop_imu_before(self, stamp: int) -> None:
        """Drop samples of the IMU that no window that begins at a stamp [ns] or later needs."""
        begin = self._suspicion.begin
        stamp = stamp if begin is None else min(begin, stamp)
        while len(self._imu) > 1 and self._imu[1][0][0] < stamp - 1_000_000_000:
            self._imu.popleft()

    def add_block(self, block: OutputBlock) -> None:
        """Take estimates of one epoch."""
        if self.is_on:
            epoch = int(block.epochs[0])
            if self._suspicion.is_on:
                self._suspect(epoch, block.stamps, block.drive_positions)
            self._add(epoch, block.stamps, block.drive_positions, block.residual, block.variance, block.nis)

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

    def _judge(self, stamps: Integers, positions: Array, residual: Array, variance: Array, nis: Array) -> None:
        ratios = residual / np.sqrt(variance)
        seen = np.isfinite(ratios)
        complete = ratios[seen.all(axis=1)]
        there = np.isfinite(nis)
        mean = complete.mean(axis=0) if len(complete) else np.zeros(residual.shape[1])
        off = complete - mean
        self._blocks.append(
            _Block(
                stamps, positions, float(nis[there].sum()), int(seen[there].sum()),
                np.square(np.where(seen, ratios, 0.0)).sum(axis=0), seen.sum(axis=0), mean, off.T @ off, len(complete),
            )
        )  # fmt: skip
        end = int(stamps[-1])
        self._since = int(stamps[0]) if self._since is None else self._since
        while len(self._blocks) > 1 and (end - self._blocks[1].stamps[0]) * 1e-9 > _WINDOW:
            self._blocks.popleft()
        begin = int(self._blocks[0].stamps[0])
        self._drop_imu_before(begin)
        span = (end - begin) * 1e-9
        if span >= _SHORTEST and (end - self._tested_at) * 1e-9 >= _TESTED_EVERY:
            self._tested_at = end
            alarm = self._alarm_of()
            if alarm and not self._alarm:
                self._health.event(end, 'over_confident', alarm)
            self._alarm = alarm
            if not alarm:
                self._health.lasting, self._health.findings = '', ()
            elif not self._health.lasting:
                self._health.lasting = alarm
            pause = (end - self._ranked_at) * 1e-9 > _PAUSE
            if alarm and self._is_ranked and self._job is None and pause and span >= _SHORTEST_RANKED:
                self._begin_ranking(end, *self._window())

    def _window(self) -> tuple[Integers, Array]:
        """Stamps (N,) ns and positions (N, A) of all blocks."""
        blocks = self._blocks
        return np.concatenate([b.stamps for b in blocks]), np.concatenate([b.positions for b in blocks])

    def _alarm_of(self) -> str:
        """What is wrong with the innovations in the window, in words; empty: nothing."""
        blocks, span = self._blocks, (self._blocks[-1].stamps[-1] - self._blocks[0].stamps[0]) * 1e-9
        numbers = sum(block.numbers for block in blocks)
        measurements = sum(len(block.stamps) for block in blocks)
        if not numbers:
            return ''
        nis = sum(block.nis for block in blocks)
        if _is_large(nis / numbers, numbers, _LARGE):
            return f'mean NIS {nis / measurements:.3g}, expected {numbers / measurements:.3g}, for {span:.3g} s'
        squares = np.sum([block.squares for block in blocks], axis=0)
        seen = np.sum([block.seen for block in blocks], axis=0)
        for leg, name in enumerate(self._machine.drive_labels):
            if seen[leg] and _is_large(squares[leg] / seen[leg], int(seen[leg]), _LARGE_LEG):
                ratio = squares[leg] / seen[leg]
                return f'squares of the innovations of {name} {ratio:.3g} times their variance for {span:.3g} s'
        whole = [block for block in blocks if block.complete > _BLOCK // 2]
        if len(whole) < 5:
            return ''
        count, drives = sum(block.complete - 1 for block in whole), len(squares)
        covariance = np.sum([block.products for block in whole], axis=0) / count
        means = np.array([block.means * block.complete**0.5 for block in whole])
        try:
            statistic = float(np.sum(means * np.linalg.solve(covariance, means.T).T))
        except np.linalg.LinAlgError:
            return ''
        ratio = statistic / (drives * len(whole))
        if _is_large(ratio, drives * len(whole), _LARGE_MEANS):
            return f'means of {_BLOCK} innovations scatter {ratio:.3g} times as much as white ones, for {span:.3g} s'
        return ''

    # -- causes --------------------------------------------------------------------------------------------------------

    def _begin_ranking(self, stamp: int, stamps: Integers, positions: Array) -> None:
        imu_stamps, imu = (np.concatenate(values) for values in zip(*self._imu, strict=True))
        whole = np.isfinite(positions).all(axis=1)
        config = replay_config(self._config)
        # what came after the last of them is not known live yet
        last = int(np.searchsorted(imu_stamps, stamps[-1] + round(1e9 * config.imu_delay))) + 1
        stamps, positions = stamps[whole], positions[whole]
        every = -(-len(stamps) // _MOST_REPLAYED)
        window = Window(imu_stamps[:last], imu[:last], stamps[::every], positions[::every], self._since or 0)
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
        self._health.findings = ranking.findings
        if self._is_of_imu:
            self._is_of_imu, self._health.imu_because = False, told(ranking)
            self._health.event(stamp, 'imu_off_because', told(ranking))
            return
        self._health.lasting = f'{self._alarm or "for a while"}: {told(ranking)}'
        self._health.event(stamp, 'over_confident_because', told(ranking))

    def finish(self) -> None:
        """Complete a ranking: no further samples come, and what is processed again is not tested again."""
        if self._job is not None:
            self._tell(self._job.due, self._job.complete())
        if self._blocks:
            end = int(self._blocks[-1].stamps[-1])
            if self._alarm and self._is_ranked and self._ranked_at < 0:
                self._begin_ranking(end, *self._window())
                assert self._job is not None
                self._tell(end, self._job.complete())
        self.is_on = False


def _is_large(ratio: float, numbers: int, bound: float) -> bool:
    """Whether a mean of squares of so many independent standard normal numbers is too large, and matters."""
    return bool(ratio > max(bound, 1.0 + _CERTAIN * (2.0 / numbers) ** 0.5))
