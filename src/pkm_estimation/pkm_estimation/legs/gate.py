"""Chi-square gate that leaves out single faulty legs, gives the reason, and uses them again when they fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.machine import Machine
from scipy.special import betainc, chdtri, ndtr

from pkm_estimation.filters import Innovation
from pkm_estimation.filters.kalman import solved
from pkm_estimation.kernels.leg_lengths import CORRELATION, LAST_SIZE, LOUDEST, NOISE_SCALE, SCALE, WHITE, accept
from pkm_estimation.legs.fault import Complain, LegFault, LegResidual, LegSensor

Indices = NDArray[np.intp]

#: measurements that must fit after a start before legs can be left out, and number of starts that may be discarded
_PROBATION, _GIVEN_UP_STARTS = 10, 3
#: residuals of one leg above so many standard deviations of a burst are not part of it
_OUTLIER = 6.0
#: tail probability within which the other legs must fit for single legs to be left out
_CLEAN = 1e-3
#: predictions with a std above so many times the sensor noise, as with poor IMU stamps and a raised ``q_scale``, allow
#: only one missing leg
_VAGUE = 4.0


class GateVerdict(NamedTuple):
    """Result for a measurement: the legs to use, and a factor on their noise variances."""

    used: Indices
    noise_scale: float


class LegGate:
    """Tests the innovation of each leg, conditional on the other legs.

    If the normalised innovation squared of a measurement exceeds the chi-square bound, the smallest set of legs without
    which the others fit is left out. If that is more than half of the legs, the filter or the IMU is wrong, not the
    legs: none is left out. The bound grows if all legs fit badly for long (model errors are not leg faults). If the
    errors of all legs are random, as in bursts of noise, the noise variance of the measurement is raised.

    Parameters
    ----------
    machine : names and strokes of the legs
    gate : bound in standard deviations of one leg; 0: no gate

    Attributes
    ----------
    faults : legs that are left out
    fit : (4 + A,) statistics, see :mod:`pkm_estimation.kernels.leg_lengths`; replaced, never written into
    """

    def __init__(self, machine: Machine, gate: float) -> None:
        self.active = gate > 0.0
        self._names = machine.drive_labels
        count = len(self._names)
        self._most_left_out = count // 2
        self._limits = [0.0, *chdtri(np.arange(1, count + 1), 2.0 * ndtr(-gate)).tolist()]
        self._clean = [0.0, *chdtri(np.arange(1, count + 1), _CLEAN).tolist()]
        self._gate = gate
        ends = [(joint.limits.lower, joint.limits.upper) for joint in machine.actuated_joints]
        self._sensors = [
            LegSensor(*sensor)
            for sensor in zip(self._names, machine.leg_sensors.position_noise.tolist(), ends, strict=True)
        ]
        self.reset()

    def reset(self) -> None:
        """Reset everything: the filter starts."""
        self._positions: Array | None = None
        self._given_up = 0
        self.started()

    def started(self) -> None:
        """Reset the faults after a start; its first predictions are on probation."""
        self.faults: dict[int, LegFault] = {}
        self._confirmations = 0
        self._disagree = False
        self.fit = np.zeros(4 + len(self._names))
        self.fit[SCALE], self.fit[NOISE_SCALE], self.fit[LAST_SIZE] = 1.0, 1.0, -1.0

    @property
    def noise_scale(self) -> float:
        """Factor on the noise variances of all legs, above 1 in a burst."""
        return self.fit.item(NOISE_SCALE)

    @property
    def scale(self) -> float:
        """Running mean square of the normalised innovations."""
        return self.fit.item(SCALE)

    @property
    def fitting_nis(self) -> float:
        """Limit of the normalised innovation squared of all legs if the model fits as well as it should."""
        return self._limits[-1]

    @property
    def on_probation(self) -> bool:
        """Whether the start is not confirmed yet: legs are not left out, and the start may be discarded."""
        return self._confirmations < _PROBATION and self._given_up < _GIVEN_UP_STARTS

    def forgive(self, samples: int) -> None:
        """Use legs again that have been left out for fewer measurements."""
        self.faults = {leg: fault for leg, fault in self.faults.items() if fault.samples >= samples}

    def disbelieves(self, legs: Indices) -> bool:
        """Whether all of these legs are left out."""
        return bool(self.faults) and self.faults.keys() >= set(legs.tolist())

    @property
    def given_up_starts(self) -> int:
        """Starts in a row that were not confirmed."""
        return self._given_up

    def confirm_start(self) -> None:
        """Take a start as confirmed: legs may be left out from now on."""
        self._confirmations, self._given_up = _PROBATION, 0

    def give_up_start(self) -> None:
        """Count a start that was not confirmed."""
        self._given_up += 1

    def limit(self, count: int) -> float:
        """Normalised innovation squared of ``count`` legs above which single legs are tested."""
        return self._limits[count] * max(1.0, self.scale) if self.active else float('inf')

    def limit_of(self, count: int) -> float:
        """Bound of the same probability for any measurement of ``count`` numbers."""
        return float(chdtri(count, 2.0 * ndtr(-self._gate))) if self.active else float('inf')

    def accept(self, positions: Array, innovation: Innovation) -> None:
        """Add a measurement (A,) that was used to the statistics."""
        if self.active:
            fit = self.fit.copy()
            shared = np.array(np.broadcast_to(innovation.shared, len(positions)), dtype=float)
            accept(innovation.residual, innovation.variance, shared, fit, np.empty(len(positions)))
            self.accepted(positions, fit, 1)

    def accepted(self, positions: Array, fit: Array, count: int) -> None:
        """Take the statistics after ``count`` measurements that were used, the last of them ``positions`` (A,)."""
        self._positions, self.fit = positions, fit
        if self._confirmations < _PROBATION <= self._confirmations + count:
            self._given_up = 0
        self._confirmations += count

    def accused(self, available: Indices, residual: Array, covariance: Array) -> tuple[int, ...] | None:
        """Legs that :meth:`judge` would leave out beyond those that are; ``None`` if they were too many."""
        return self._failing([leg for leg in available.tolist() if leg not in self.faults], residual, covariance)

    def chance(
        self, accused: tuple[int, ...], available: Indices, residual: Array, covariance: Array
    ) -> float:
        """Probability that a wrong prediction, in any direction, looks like errors of as few legs as these.

        The part of the NIS that is left without k of A legs is then beta distributed, with (A - k) / 2 and k / 2; it is
        small for one of the sets of k legs with at most as many times that probability as there are sets.
        """
        legs = [leg for leg in available.tolist() if leg not in self.faults]
        rest = [leg for leg in legs if leg not in accused]
        part = _nis(rest, residual, covariance) / _nis(legs, residual, covariance)
        count, fewer = len(legs), len(accused)
        return comb(count, fewer) * float(betainc(0.5 * (count - fewer), 0.5 * fewer, min(part, 1.0)))

    def misfit(self, available: Indices, residual: Array, covariance: Array) -> str:
        """Size of the misfit of legs that go on smoothly, in words."""
        legs = [leg for leg in available.tolist() if leg not in self.faults]
        worst = max(legs, key=lambda leg: abs(residual[leg]))
        nis = _nis(legs, residual, covariance)
        return (
            f'its prediction is {1e3 * abs(residual[worst]):.3g} mm off legs that go on smoothly '
            f'(NIS {nis:.3g} of {len(legs)})'
        )

    # -- judgement -----------------------------------------------------------------------------------------------------

    def judge(
        self, positions: Array, available: Indices, residual: Array, covariance: Array, complain: Complain
    ) -> GateVerdict:
        """Choose the legs to use, and the factor on their noise variances.

        Parameters
        ----------
        positions : (A,) m or rad as measured
        available : legs that have a length
        residual, covariance : (A,), (A, A) of positions against the prediction; NaN where a leg has none
        complain : called with reason and detail when a leg is left out, is used again, or its kind of fault is found
        """
        believed = [leg for leg in available.tolist() if leg not in self.faults]
        failing = self._failing(believed, residual, covariance)
        if failing is None:
            return self._disagreement(believed, residual, covariance, available, complain)
        self._disagree = False
        kept = [leg for leg in believed if leg not in failing]
        back, bound = [], self._gate * max(1.0, self.scale) ** 0.5
        alone = len(self.faults) == 1
        for leg in available.tolist():
            if leg in kept:
                continue
            now = _conditional(leg, kept, positions, residual, covariance)
            if leg in self.faults:
                fault = self.faults[leg].after(now, self._gate, bound, alone, complain)
                if fault is None:
                    back.append(leg)
                    del self.faults[leg]
                else:
                    self.faults[leg] = fault
            else:
                last = None if self._positions is None else float(self._positions[leg])
                self.faults[leg] = LegFault.begin(self._sensors[leg], now, last, complain)
        self._find_swapped(positions, kept, residual, covariance, complain)
        return GateVerdict(np.array(sorted(kept + back), dtype=np.intp), self.noise_scale)

    def _disagreement(
        self, legs: list[int], residual: Array, covariance: Array, available: Indices, complain: Complain
    ) -> GateVerdict:
        """Too many legs do not fit: by noise if the errors are random, else by an error of filter or IMU."""
        excess = _nis(legs, residual, covariance) / len(legs)
        noisy = self.fit[CORRELATION] < WHITE and self.noise_scale * excess < LOUDEST
        if not self._disagree:
            names = ', '.join(self._names[leg] for leg in legs)
            if noisy:
                complain('legs_noisy', f'{names}: burst of noise, noise variance raised')
            else:
                complain('legs_disagree', f'{names} do not fit the prediction together: check the IMU; no leg left out')
        self._disagree = True
        if not noisy:
            return GateVerdict(np.array(legs, dtype=np.intp), 1.0)
        self.fit = self.fit.copy()
        self.fit[NOISE_SCALE] *= max(1.0, excess)
        for leg, fault in list(self.faults.items()):
            if leg in available and fault.sigma < _OUTLIER * self.noise_scale**0.5:  # it was the same noise
                complain('leg_returned', f'{self._names[leg]} is as noisy as the others')
                del self.faults[leg]
                legs = [*legs, leg]
        return GateVerdict(np.array(sorted(legs), dtype=np.intp), self.noise_scale)

    def _failing(self, legs: Sequence[int], residual: Array, covariance: Array) -> tuple[int, ...] | None:
        """Smallest set without which the others fit, the most likely of that size; ``None`` if it is too large."""
        most = self._most_left_out if self._is_sharp(legs, covariance) else 1
        for count in range(most - len(self.faults) + 1):
            best, best_nis = None, np.inf
            for left_out in combinations(legs, count):
                rest = [leg for leg in legs if leg not in left_out]
                if not rest:
                    return None
                nis = _nis(rest, residual, covariance)
                limit = self._clean[len(rest)] * max(1.0, self.scale) if count else self.limit(len(rest))
                if nis <= min(best_nis, limit):
                    best, best_nis = left_out, nis
            if best is not None:
                return best
        return None

    def _is_sharp(self, legs: Sequence[int], covariance: Array) -> bool:
        """Whether the prediction is certain enough to leave out several legs, compared to the sensor noise."""
        ratios = [float(covariance[leg, leg]) ** 0.5 / max(self._sensors[leg].noise, 1e-12) for leg in legs]
        return not ratios or float(np.median(ratios)) < _VAGUE

    def _find_swapped(
        self, positions: Array, kept: list[int], residual: Array, covariance: Array, complain: Complain
    ) -> None:
        """Find two legs that fit when their values are exchanged."""
        for one, other in combinations(sorted(self.faults), 2):
            if not np.isfinite(residual[[one, other]]).all():
                continue
            exchange = positions[other] - positions[one]
            exchanged = residual.copy()
            exchanged[one] += exchange
            exchanged[other] -= exchange
            given = [_conditional(leg, kept, positions, exchanged, covariance) for leg in (one, other)]
            fits = all(g.sigma < self._gate for g in given)
            known = all(self.faults[leg].kind == 'swapped' for leg in (one, other))
            if known and not fits:
                self._rename((one, other), 'off_prediction')
            elif known:
                values = float(positions[one]), float(positions[other])
                equal = any(self._sensors[leg].is_same(*values) for leg in (one, other))
                for leg in (one, other):
                    self.faults[leg] = self.faults[leg].beside_its_twin(equal)
            # legs that are equally long fit either way: no proof
            elif fits and all(g.std * self._gate < abs(exchange) for g in given):
                names = f'{self._names[one]} and {self._names[other]}'
                complain('legs_swapped', f'{names} fit their predictions when exchanged: swapped, left out')
                self._rename((one, other), 'swapped')

    def _rename(self, legs: tuple[int, ...], kind: str) -> None:
        for leg in legs:
            self.faults[leg] = replace(self.faults[leg], kind=kind, fitting=0)

    def descriptions(self) -> dict[str, str]:
        """Fault of each leg that is currently left out, by name."""
        return {self._names[leg]: fault.summary for leg, fault in sorted(self.faults.items())}


def _nis(legs: Sequence[int], residual: Array, covariance: Array) -> float:
    rows = list(legs)
    return float(residual[rows] @ solved(covariance[np.ix_(rows, rows)], residual[rows]))


def _conditional(
    leg: int, given: list[int], positions: Array, residual: Array, covariance: Array
) -> LegResidual:
    value = float(positions[leg])
    if not given:
        return LegResidual(value, float(residual[leg]), float(covariance[leg, leg]) ** 0.5)
    gain = solved(covariance[np.ix_(given, given)], covariance[given, leg])
    variance = float(covariance[leg, leg] - gain @ covariance[given, leg])
    return LegResidual(value, float(residual[leg] - gain @ residual[given]), max(variance, 1e-18) ** 0.5)
