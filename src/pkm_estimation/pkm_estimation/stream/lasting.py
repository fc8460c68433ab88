"""What lasts: innovations that are larger than claimed, or not white, for seconds, and which constants explain them.

Innovations of half a second are summed up, and tested together:

- whether they are as large as they claim, and white (:mod:`~pkm_estimation.stream.blocks`): the covariance that is
  claimed grows by as much as they are larger;
- what they say of each constant of machine and sensors (:mod:`~pkm_estimation.stream.causes`). An IMU is usually late,
  turned and moved: what is claimed contains that from the start. Constants that predict the innovations that come next,
  or predict them far better than without, are taken into account: what is claimed is the estimate of a filter that has
  them among its states (Friedland 1969). What is off of all legs together is considered with the variance that
  innovations show, so that the claim contains it.

The filter itself goes on as before. Older innovations count less and less: a constant that is as it should be again, or
that was taken for another one, is forgotten.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from math import exp
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.kernels.model import Integers
from pkm_description.machine import Machine
from scipy.linalg import solve_triangular

from pkm_estimation.config import EstimatorConfig
from pkm_estimation.exchange.health import HealthMonitor, LikelyCause
from pkm_estimation.exchange.output import EstimatorOutput, OutputBlock
from pkm_estimation.filtering.constant_columns import ConstantScore, root_of, tests_constants
from pkm_estimation.stream.blocks import Block, Excess, excess
from pkm_estimation.stream.causes import (
    ALL,
    CERTAIN,
    GEOMETRY,
    POSSIBLE,
    RATES,
    WALKING,
    Explanation,
    Found,
    Group,
    Key,
    Off,
    constants_that_are_off,
    far_constants,
    groups_of,
    growth_of,
    probabilities,
    rate_of,
    told_cause,
)
from pkm_estimation.tracking.leg_sets import Offsets
from pkm_estimation.tracking.start_poses import NEVER
from pkm_estimation.tracking.tracker import Tracker

#: ns between two tests, until one of what was found just now, and of a block of innovations whose size is tested
_INTERVAL, _SOON, _BLOCK = 200_000_000, 50_000_000, 500_000_000
#: s, of innovations whose size is tested, and numbers of the newest blocks: few show what is new, many what is small
_WINDOW, _COUNTS = 20.0, (2, 4, 8, 16, 32)
#: s, after which innovations count by a factor e less: what changes shows in a short time, what is small in a long one
_MEMORIES = 5.0, 30.0
#: units of a known delay or zero from which on it is declared
_DECLARED = 0.02
#: part of a change by many units that may still lack
_BENT = 0.02
#: s^2/s, by which a delay may walk: by up to 1 ms in a second
_DELAY_WALKS = np.array([1e-8, 1e-7, 1e-6])
#: causes that are told
_TOLD = 3
#: constants that are off by less than this part of their unit are claimed, not taken into account
_MATTERS = 0.2
#: m/s^2, standard deviation of gravity in the axes of a base that is set up by a level
_GRAVITY_STD = 0.3
#: why the IMU is left out where its samples themselves do not say what is wrong with them
_UNEXPLAINED = 'imu_off_prediction', 'imu_bias_implausible'


def _is_taken(found: Found) -> bool:
    """Whether constants that are off are taken into account, not only claimed."""
    group = found.group
    return found.is_told_apart and group.member != ALL and found.units > _MATTERS


def _root_with(covariance: Array, known: Array, is_known: NDArray[np.bool_]) -> Array:
    """Root (p, p) of a covariance (p, p) of constants, of which some are as another one has them, beside the others."""
    rest, own = (np.flatnonzero(some) for some in (~is_known & (covariance.diagonal() > 0.0), is_known))
    of_rest = root_of(covariance[np.ix_(rest, rest)])
    along = solve_triangular(of_rest, known[np.ix_(rest, own)], lower=True)
    values, axes = np.linalg.eigh(known[np.ix_(own, own)] - along.T @ along)
    root = np.zeros_like(covariance)
    root[np.ix_(rest, rest)] = of_rest
    root[np.ix_(own, rest)], root[np.ix_(own, own)] = along.T, axes * np.sqrt(values.clip(0.0))  # rounding
    return root


class LastingTest:
    """Tests the innovations of the last seconds, and weighs the constants of the tracker's filters by them.

    Parameters
    ----------
    machine, config : of the estimator
    tracker : whose innovations are tested
    health : gets the events ``over_confident``, ``over_confident_because`` and ``imu_off_because``
    known : standard deviations, SI, of constants of the IMU that were found before, by kind

    Attributes
    ----------
    found : constants that motion has shown to be far off, by kind: sizes and standard deviations, SI
    walks : variances per second by which biases walk beside what the machine file says, by kind, SI
    """

    def __init__(
        self, machine: Machine, config: EstimatorConfig, tracker: Tracker, health: HealthMonitor,
        known: Mapping[str, Array] | None = None,
    ) -> None:  # fmt: skip
        self._machine, self._config, self._tracker, self._health = machine, config, tracker, health
        self.is_on = config.filter != 'paper' and config.history == 0.0
        self._groups = groups_of(tracker.filter.columns) if tests_constants(config) else []
        self._size = len(tracker.filter.ukf.judge)
        self._found_before = known or {}
        self._prior, self._is_geometry = tracker.filter.prior.copy(), np.zeros(self._size)
        self._is_geometry[[column.place for column in tracker.filter.columns if column.kind in GEOMETRY]] = 1.0
        self._is_known = np.zeros(self._size, dtype=bool)  # as well as innovations tell
        self._is_usual = self._is_known.copy()
        self._priors = {
            'delay': config.imu_delay_std, 'mounting': config.imu_rotation_std, 'place': config.imu_position_std
        }  # fmt: skip
        for group in self._groups:
            self._is_usual[group.places] |= group.kind in self._priors
            if group.kind not in GEOMETRY and group.columns[0].is_considered:
                self._is_known[group.places] = True
            if group.kind in self._found_before:
                std = self._found_before[group.kind] / [column.unit for column in group.columns]
                self._set_prior(group.places, std**2)
                self._is_known[group.places] = True
            if group.kind == 'zero' and group.member != ALL and (zero := tracker.filter.legs.zeros[group.member]):
                self._set_prior(group.places, (zero / group.columns[0].unit) ** 2)  # found beside a wrong IMU: or none
                self._is_known[group.places] = True
        self.walks = dict.fromkeys(WALKING, 0.0)
        self.clear()

    def clear(self) -> None:
        """Forget everything: the clock was restarted."""
        self._epoch, self._is_alone, self._tested_at = 0, False, 0
        self._walk_evidence = np.zeros(len(_DELAY_WALKS))
        self._sums = [self._nothing() for _ in _MEMORIES]
        self._trial = self._nothing()
        self.found: dict[str, tuple[Array, Array]] = {}
        self._taken: list[Found] = []
        self._taken_causes: tuple[LikelyCause, ...] = ()  # by what was declared before
        self._judge_explanation(True)
        self._alarm: str = ''
        self._told: frozenset[str] = frozenset()  # names of causes
        self._health.lasting, self._health.imu_because, self._health.findings = '', '', ()
        self._health.found = {}
        self._tracker.tested_at = NEVER
        self._forget_innovations()
        self._constants = self._explanation = Explanation(np.zeros(self._size), self._prior.copy())
        self._weigh(self._off(self._nothing(), self._groups).claimed, np.zeros(self._size), 1.0)

    def _off(self, seen: ConstantScore, groups: Sequence[Group]) -> Off:
        """Constants that are off; those of the IMU that are not known yet are usually off."""
        unknown = [one for one in groups if one.kind in self._priors and not self._prior[one.places, one.places].any()]
        usual = {one.key: self._priors[one.kind] / one.columns[0].unit for one in unknown}
        return constants_that_are_off(groups, self._prior, seen, usual)

    def _nothing(self) -> ConstantScore:
        return ConstantScore.nothing(self._size)

    def _forget_innovations(self) -> None:
        """Begin anew: innovations so far were those of another filter, or of an IMU that fails."""
        self._blocks: deque[Block] = deque()
        self._waiting: list[tuple[NDArray[Any], ...]] = []
        if self._groups:
            self._tracker.filter.score = self._nothing()

    def _judge_explanation(self, is_explained: bool) -> None:
        """Keep whether innovations are understood; else they do not say that a zero has moved."""
        self._is_explained = is_explained
        tells_zeros = is_explained and self.is_on and bool(self._groups)
        self._tracker.on_zeros_moved = self.take_moved_zeros if tells_zeros else None

    def snapshot(self) -> tuple[Any, ...]:
        """State for :meth:`restore`; what is kept is never written into."""
        filter_ = self._tracker.filter
        score = filter_.score_memory if self._groups else None
        return (
            self._epoch, self._is_alone, self._tested_at, tuple(self._sums), self._trial, self._alarm, self._told,
            tuple(self._blocks), tuple(self._waiting), self._tracker.tested_at, score, self._weighed, self._constants,
            self._prior.copy(), self._is_known.copy(), self._is_explained, self._explanation, self.walks.copy(),
            self._walk_evidence,
        )  # fmt: skip

    def restore(self, snapshot: tuple[Any, ...]) -> None:
        """Restore a snapshot."""
        self._epoch, self._is_alone, self._tested_at, sums, self._trial, self._alarm, self._told, *rest = snapshot
        blocks, waiting, self._tracker.tested_at, score, weighed, self._constants, prior, is_known, *explained = rest
        self._prior, self._is_known = prior.copy(), is_known.copy()
        is_explained, self._explanation, walks, self._walk_evidence = explained
        self._judge_explanation(is_explained)
        for kind in WALKING:
            self._walk(kind, walks[kind] - self.walks[kind])
        self._sums, self._blocks, self._waiting = list(sums), deque(blocks), list(waiting)
        if score is not None:
            self._tracker.filter.score_memory = score
        self._weigh(*weighed)

    # -- estimates -----------------------------------------------------------------------------------------------------

    def add(self, output: EstimatorOutput) -> None:
        """Take an estimate."""
        if not self.is_on:
            return
        innovation, is_alone, stamps = output.innovation, output.by_legs_alone, np.array([output.stamp])
        if innovation is None or is_alone:
            self._take(output.instant.epoch, is_alone, stamps)
        else:
            shared = np.broadcast_to(innovation.shared, innovation.residual.shape)
            self._take(
                output.instant.epoch, False, stamps, innovation.residual[None], innovation.variance[None],
                np.array([innovation.nis]), shared[None],
            )  # fmt: skip

    def add_block(self, block: OutputBlock) -> None:
        """Take estimates of one epoch, none of them after the next test."""
        if self.is_on:
            epoch = int(block.epochs[0])
            self._take(epoch, False, block.stamps, block.residual, block.variance, block.nis, block.shared)

    def _take(self, epoch: int, is_alone: bool, stamps: Integers, *innovations: Array) -> None:
        """Take measurements (N,) ns with their innovations, if there are any; test at the last, if that is due."""
        tracker, end = self._tracker, int(stamps[-1])
        if epoch != self._epoch:
            self.clear()
            self._epoch = epoch
        if tracker.tested_at == NEVER:
            tracker.tested_at, self._tested_at = int(stamps[0]) + _INTERVAL, int(stamps[0])
        if is_alone != self._is_alone:
            self._is_alone, self._trial, self._told = is_alone, self._nothing(), frozenset()
            self._forget_innovations()
        if innovations:
            self._waiting.append((stamps, *innovations))
        if end >= tracker.tested_at:
            tracker.tested_at = end + _INTERVAL
            self._test(end)

    # -- tests ---------------------------------------------------------------------------------------------------------

    def _test(self, end: int) -> None:
        """Test what came up to a stamp [ns]."""
        blocks, seconds = self._blocks, 1e-9 * (end - self._tested_at)
        self._tested_at = end
        if self._waiting and end - self._waiting[0][0][0] > _BLOCK - _INTERVAL:
            blocks.append(Block.of(*(np.concatenate(values) for values in zip(*self._waiting, strict=True))))
            self._waiting = []
        while len(blocks) > 1 and (end - blocks[1].begin) * 1e-9 > _WINDOW:
            blocks.popleft()
        newest = [list(blocks)[-count:] for count in _COUNTS if count <= len(blocks)]
        # of constants that are being found, errors that last count as more noise of each sample
        too_large = max(
            (excess(part, self._machine.drive_labels, are_white=not self._config.estimate) for part in newest),
            key=lambda one: one.ratio, default=Excess(),
        )  # fmt: skip
        nothing = np.zeros(self._size)
        found, further, likely = self._constants_that_are_off(seconds) if self._groups else ([], nothing, nothing)
        self._weigh(further, likely, too_large.ratio)
        is_unexplained = too_large.ratio > 1.0 or bool(found)
        bank = self._tracker.bank
        bank.tries_imu_noise = not self._is_alone and (is_unexplained or bank.label.imu_noise > 1.0)
        self._tell(end, too_large.sentence, self._causes(found))

    def _constants_that_are_off(self, seconds: float) -> tuple[list[Found], Array, Array]:
        """Constants that are off, and their variances, possible and likely, ``seconds`` after the last test."""
        filter_ = self._tracker.filter
        new, filter_.score, self.found = filter_.score, self._nothing(), {}
        lately = self._sums[0].aged(exp(-seconds / _MEMORIES[0]), new)
        self._judge_explanation(self._explanation.predicts(new) and self._explanation.predicts(lately))
        is_better = self._is_explained or self._explanation.predicts_better(lately)
        delays = [one for one in self._known_groups if one.kind == 'delay']
        for delay in delays:  # since the last test
            place, walked = int(delay.places[0]), self._walk_of_delay(delay, seconds, new)
            self._sums = [sums.walked(place, walked) for sums in self._sums]
        if self._is_alone:
            is_unexplained = self._tracker.imu_report.kind in _UNEXPLAINED
            self._trial = self._trial.aged(exp(-seconds / _MEMORIES[-1]), new) if is_unexplained else self._nothing()
            new = self._nothing()
        self._sums = [old.aged(exp(-seconds / memory), new) for old, memory in zip(self._sums, _MEMORIES, strict=True)]
        off = [self._off(sums, self._groups) for sums in self._sums]
        newest, known, everything = off[0], off[-1], self._sums[-1]
        told = newest.found + known.found
        if self._is_alone:  # the IMU that is tried says why it does not fit, the legs alone are as before
            groups = [group for group in self._groups if group.kind not in GEOMETRY]  # no witness against the legs
            told = self._off(self._trial, groups).found
            everything = everything.aged(1.0, self._trial)
            known = self._off(everything, groups)
        self._explanation = Explanation.of(self._prior, known.possible, everything)
        self._taken = []
        if not is_better and any(_is_taken(one) and one.group.kind in self._priors for one in known.found):
            self._tracker.tested_at += _SOON - _INTERVAL  # soon their columns do not say all
        if is_better:  # also where they are not all that is wrong: go on with what innovations say of the IMU
            self._taken = [one for one in known.found if _is_taken(one)]
            self._take_into_account(Explanation.of(self._prior, known.likely, everything), known.likely)
        elif not self._is_alone:  # a bias that walks asserts nothing
            self._taken = [one for one in newest.found if one.group.kind in WALKING and _is_taken(one)]
            constants = Explanation.of(self._prior, newest.likely, self._sums[0])
            for one in self._taken:
                self._let_walk(one.group, constants)
        if self._taken:  # innovations before were those of another model
            self._blocks.clear()
            self._waiting = []
        before, self._constants = self._constants, Explanation.of(self._prior, newest.likely, self._sums[0])
        if not self._is_explained:  # an IMU that is not understood is no witness against legs
            stays = self._is_geometry > 0.0
            self._constants.sizes[stays] = before.sizes[stays]
            both = np.ix_(stays, stays)
            self._constants.covariance[stays], self._constants.covariance[:, stays] = 0.0, 0.0
            self._constants.covariance[both] = before.covariance[both]
        self._taken_causes = self._causes(self._taken)
        if not self._is_alone:
            self._declare()
        taken = {one.group.key for one in self._taken}
        claimed, likely = np.maximum(off[0].claimed, off[1].claimed), np.maximum(off[0].likely, off[1].likely)
        return [one for one in told if one.group.key not in taken], claimed, likely

    def _walk_of_delay(self, delay: Group, seconds: float, new: ConstantScore) -> float:
        """Variance, in its unit, by which a delay has walked since the last test: mean over likely walks.

        An IMU that is noisier than stated is no witness: its errors look like steps of the delay, too.
        """
        place, steps = int(delay.places[0]), _DELAY_WALKS * seconds / delay.columns[0].unit ** 2
        self._walk_evidence = exp(-seconds / _MEMORIES[-1]) * self._walk_evidence
        if not self._is_alone and self._tracker.bank.label.imu_noise == 1.0:
            self._walk_evidence = self._walk_evidence + self._constants.evidence_of_steps(place, steps, new)
        return float(steps @ probabilities(self._walk_evidence, POSSIBLE / len(steps)))

    def _declare(self) -> None:
        """Add delay and zeros of drives that are known to the declared ones, before what grows with squares matters.

        The estimate is the same; state and constants are those of the new delay and zeros from now on.
        """
        filter_, constants = self._tracker.filter, self._constants
        known = {group.key for group in self._known_groups}
        for group in self._groups:
            if group.kind not in RATES or group.member == ALL or not known & {group.key, rate_of(group)}:
                continue
            place, unit = int(group.places[0]), group.columns[0].unit
            grown = growth_of(group, self._groups, known, constants, filter_.elapsed)
            size = float(constants.sizes[place]) + grown / unit
            if not abs(size) > max(_DECLARED, CERTAIN * float(constants.std[place])):
                continue
            if group.kind == 'zero':
                filter_.legs.zeros[group.member] += size * unit
            elif not self._declare_delay(size * unit):
                continue
            filter_.ukf.state += size * filter_.ukf.sensitivity[:, place]
            constants.sizes[place] -= size
            if rate_of(group) not in known and abs(size) > 1.0:  # all else was said beside a square of it
                self._set_prior([place], float(constants.covariance[place, place]) + (_BENT * size) ** 2)
                others = self._is_known & (np.arange(self._size) != place)
                self._sums = [ConstantScore.of_known(constants.sizes, constants.std, others)] * len(_MEMORIES)
            else:  # what a rate made of it until now is a constant of its own
                self._widen_prior(place, size**2)
                self._sums = [sums.moved(place, size) for sums in self._sums]
            self._is_known[place] = True

    def take_moved_zeros(self, moved: Offsets) -> None:
        """Zeros of drives have moved, and are known with these variances: what innovations said of them was before."""
        filter_ = self._tracker.filter
        for leg, (_, variance) in moved.items():
            place = self._tracker.zero_columns[leg]
            unit = next(one.unit for one in filter_.columns if one.place == place)
            self._widen_prior(place, variance / unit**2)
            self._is_known[place] = True
            self._constants = self._constants.anew(place, float(self._prior[place, place]) ** 0.5)
            self._sums = [sums.without(place) for sums in self._sums]
            filter_.score, self._trial = filter_.score.without(place), self._trial.without(place)
        self._weigh(*self._weighed)
        self._blocks.clear()
        self._waiting = []

    def _declare_delay(self, size: float) -> bool:
        """Count a delay [s] more as declared, if it can be."""
        tracker, now, later = self._tracker, self._tracker.now, round(1e9 * size)
        if now is None or 'delay' in self.found:
            return False
        tracker.delay.nanoseconds += later
        tracker.now = now._replace(instant=now.instant._replace(stamp=now.instant.stamp + later))
        if tracker.angular_acceleration.last == now.instant:
            tracker.angular_acceleration.last = tracker.now.instant
        return True

    def known_constants(self) -> dict[Key, Array]:
        """Constants that were found, SI, by kind and member: by how much they are off."""
        return {
            group.key: self._constants.sizes[group.places] * group.columns[0].unit for group in self._known_groups
        }

    @property
    def _known_groups(self) -> list[Group]:
        return [group for group in self._groups if self._is_known[group.places].all()]

    def _take_into_account(self, constants: Explanation, wider: Array) -> None:
        """Go on with constants as innovations have them, or find that those of the IMU or gravity are far off."""
        known = {group.key for group in (*self._known_groups, *(one.group for one in self._taken))}
        elapsed = self._tracker.filter.elapsed
        far = far_constants(self._groups, known, constants, elapsed, self._priors | {'gravity': _GRAVITY_STD})
        # what was found before is not found again by an IMU that is noisier than stated: to begin anew costs the motion
        if self._tracker.bank.label.imu_noise == 1.0 or not far.keys() <= self._found_before.keys():
            self.found = far
        for group in (one.group for one in self._taken):
            if group.kind in WALKING:
                self._let_walk(group, constants)
                continue
            self._is_known[group.places] = True
            self._prior[group.places, group.places] += wider[group.places]

    def _let_walk(self, group: Group, constants: Explanation) -> None:
        """Let a bias that drifts walk from now on, by as much in the time of the memory: no drift is the same for ever.

        Until now it stood still for the filter, whose state and covariance get what the drift has made of them.
        """
        filter_, places = self._tracker.filter, group.places
        moved, sizes = filter_.ukf.sensitivity[:, places].copy(), constants.sizes[places]
        rate = group.columns[0].unit * sizes
        self._walk(group.kind, float(rate @ rate) / len(rate) * _MEMORIES[0])
        filter_.ukf.state += moved @ sizes
        filter_.covariance[:] += moved @ (constants.covariance[np.ix_(places, places)] + np.diag(sizes**2)) @ moved.T
        filter_.ukf.sensitivity[:, places] = 0.0
        self._sums = [ConstantScore.of_known(constants.sizes, constants.std, self._is_known)] * len(_MEMORIES)

    def _set_prior(self, places: Integers | list[int], variances: Array | float) -> None:
        """Constants are independent of all others from now on, with variances in squares of their units."""
        self._prior[places], self._prior[:, places] = 0.0, 0.0
        self._prior[places, places] = variances

    def _widen_prior(self, place: int, variance: float) -> None:
        """A constant may be off by at least so much, a variance in the square of its unit."""
        self._prior[place, place] = max(self._prior[place, place], variance)

    def _walk(self, kind: str, further: float) -> None:
        self.walks[kind] += further
        self._tracker.filter.walk[WALKING[kind]] += further

    def _weigh(self, further: Array, likely: Array, ratio: float) -> None:
        """Claim further variances (p,), and constants that were found as well as innovations tell them together.

        Innovations are judged by geometry that is off, with ``likely`` variances (p,), but not by an IMU that is off:
        it is not used then.
        """
        self._weighed = further, likely, ratio
        is_stated = self._config.claim == 'accuracy'
        judged = self._prior + np.diag(self._is_explained * self._is_geometry * likely)
        claimed = self._prior * is_stated + np.diag(np.where(self._is_usual, is_stated, 1.0) * further)
        known, alone = self._constants.covariance, np.diag(self._constants.covariance.diagonal())
        found = np.where(self._is_known, self._constants.sizes, 0.0)
        claim, judge = (_root_with(*one, self._is_known) for one in ((claimed, known), (judged, alone)))
        self._tracker.filter.weigh_constants(claim, judge, ratio, found)
        self._tracker.alone.filter.weigh_constants(claim, judge)

    # -- what is told --------------------------------------------------------------------------------------------------

    def _tell(self, end: int, sentence: str, causes: tuple[LikelyCause, ...]) -> None:
        """Say what is wrong, and what the likeliest causes are: each once, until all is well again."""
        health, because = self._health, told(causes)
        alarm = '' if self._is_alone else sentence or ('constants are not as they should be' if causes else '')
        taken, health.found = self._taken_causes, self._known_in_words()
        for cause in taken:
            if f'{cause.name}, taken' not in self._told:
                mend = health.found.get(cause.name, cause.mend)
                told_of = f'{cause.name}, {cause.size}: taken into account ({mend})'
                health.event(end, 'constants_found', told_of)
        if alarm and not self._alarm:
            health.event(end, 'over_confident', alarm)
        if causes and causes[0].name not in self._told:
            health.event(end, 'imu_off_because' if self._is_alone else 'over_confident_because', because)
        self._alarm = alarm
        names = {*(cause.name for cause in causes[:1]), *(f'{cause.name}, taken' for cause in taken)}
        self._told = self._told | names if names else frozenset()
        health.findings = causes
        health.lasting = f'{alarm}: {because}' if alarm else ''
        health.imu_because = because if causes and self._is_alone else ''

    def _known_in_words(self) -> dict[str, str]:
        """What is known of constants by the motion, and how well, by kind: what a file would have to say."""
        told_of = {}
        for group in (group for group in self._known_groups if group.member != ALL):
            units = np.array([column.unit for column in group.columns])
            size, std = (units * values[group.places] for values in (self._constants.sizes, self._constants.std))
            cause = self._told_cause(Found(group, size, 0.0))
            told_of[cause.name] = f'{cause.mend} (+- {float(np.linalg.norm(std)):.1g})'
        return told_of

    def _told_cause(self, found: Found) -> LikelyCause:
        """A cause in words, with what is declared already."""
        if found.group.kind == 'zero':
            found = found._replace(size=found.size + self._tracker.filter.legs.zeros[found.group.member])
        return told_cause(found, self._machine, 1e-9 * self._tracker.delay.nanoseconds)

    def _causes(self, found: list[Found]) -> tuple[LikelyCause, ...]:
        """Causes in words, the likeliest first, each once."""
        kinds = {(one.group.kind, one.group.member): one for one in sorted(found, key=lambda one: one.gain)}
        likeliest = sorted(kinds.values(), key=lambda one: -one.gain)
        return tuple(self._told_cause(one) for one in likeliest)


def told(causes: tuple[LikelyCause, ...]) -> str:
    """Tell causes in words."""
    if not causes:
        return 'no constant explains it: noise larger than stated, biases that walk, or motion between samples'
    parts = [f'{cause.name}, {cause.size} ({cause.mend})' for cause in causes[:_TOLD]]
    return 'likeliest cause: ' + '; or '.join(parts)
