"""Whether the IMU is wrong, or the legs are: tests of its samples, its predictions, its biases, and why it is wrong."""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array

from pkm_estimation.exchange.messages import LegSample
from pkm_estimation.exchange.samples import ImuSample, Instant, seconds
from pkm_estimation.models import BIASES
from pkm_estimation.tracking.doubtful_tracker import DoubtfulTracker

#: s after a failure until which its cause is looked for
_LATEST_NAMING = 2.0

#: probability below which a wrong prediction does not look like errors of few legs
_UNLIKELY = 0.01
#: the same where the legs themselves show it
_RARE = 0.05
#: mean square of the normalised residuals of legs that are elsewhere
_ELSEWHERE = 1e4


class LegsJumpedError(Exception):
    """All legs are elsewhere at once: a measurement of another time, or of another zero."""


class ImuSuspectError(Exception):
    """The input is wrong, not the legs.

    Parameters
    ----------
    kind, detail : name of the event, and one sentence
    """

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.kind, self.detail = kind, detail


class ImuJudge(DoubtfulTracker):
    """Tells errors of the IMU from those of legs."""

    def _bad_samples(self, now: Instant, due: Instant, sample: LegSample) -> tuple[str, str] | None:
        """Kind and detail of samples from ``now`` to ``due`` that cannot be right; ``None`` if there are none."""
        span = self.imu_watch.touching(now, due) if self.may_leave_out_imu else None
        if span is None:
            return None
        if not span.is_certain:
            begin = self.imu_fault.moved_since(span.first, sample.positions)
            if not self.continuity.has_moved(begin, sample.positions):
                return None
        return span.kind, span.detail

    def _is_not_the_legs(
        self, stamp: int, sample: LegSample, accused: tuple[int, ...] | None, residual: Array, covariance: Array
    ) -> bool:
        """Whether a measurement that does not fit speaks against the IMU, not against its legs.

        Any error of six legs is one of a pose, so a single measurement proves nothing. But a wrong prediction hardly
        looks like an error of few legs, and a leg that fails breaks off from its own past, or stands still while the
        others move.

        Parameters
        ----------
        accused : legs without which the others fit, ``None`` where there are too many
        residual, covariance : (A,), (A, A) against the prediction
        """
        gate, continuity, positions = self.leg_gate, self.continuity, sample.positions
        if not self.may_leave_out_imu or not continuity.is_known or continuity.is_repeated(positions):
            return False
        if not continuity.goes_on(stamp, positions, residual):
            return False
        if accused is None:
            return True
        chance = gate.chance(accused, sample.used, residual, covariance)
        by_itself = continuity.evidence(stamp, positions, residual)[list(accused)].all()
        return not chance < (_RARE if by_itself else _UNLIKELY)

    def _have_jumped(
        self, stamp: int, sample: LegSample, accused: tuple[int, ...] | None, residual: Array, covariance: Array
    ) -> bool:
        """Whether all legs jumped, arguments as of :meth:`_is_not_the_legs`; LegsJumpedError where they just did.

        No correction leads there: it would be wrong and call itself certain.
        """
        if accused is not None or not self.leg_gate.active or not self.continuity.is_known:
            return False
        off = residual[sample.used]
        if off @ np.linalg.solve(covariance[np.ix_(sample.used, sample.used)], off) < _ELSEWHERE * len(off):
            return False
        if self.continuity.has_jumped:
            return True
        if self.continuity.goes_on(stamp, sample.positions, residual):
            return False
        self.continuity.reject(stamp)
        raise LegsJumpedError

    def _check_scale(self) -> None:
        """Raise ImuSuspectError if all legs have fitted badly for a while, which is none of their faults."""
        scale = self.leg_gate.scale
        if scale > self.largest_scale and self.leg_gate.noise_scale == 1.0:
            detail = (
                f'legs are {scale**0.5:.2g} times as far off its predictions as they should be: check delay and '
                'mounting'
            )
            raise ImuSuspectError('imu_off_prediction', detail)

    def _check_plausible(self) -> None:
        """Raise ImuSuspectError if only an IMU that is wrong explains constraints or biases."""
        if self.may_leave_out_imu and self.filter.constraint_nis > self.largest_constraint_nis:
            raise ImuSuspectError('imu_off_prediction', 'its prediction is a pose that the legs do not admit')
        bias = self._implausible_bias()
        if bias:
            raise ImuSuspectError('imu_bias_implausible', bias)

    def _implausible_bias(self) -> str:
        """What is wrong with the estimated biases; empty if nothing is."""
        largest = self.largest_biases
        biases = np.abs(self.filter.ukf.state[BIASES])
        if (biases <= largest).all():
            return ''
        axis = int(np.argmax(biases / largest))
        what, unit = ('specific force', 'm/s^2') if axis < 3 else ('angular rate', 'rad/s')
        return f'its {what} is off by {biases[axis]:.3g} {unit}, which no bias is: check units, axes and gravity'

    def _likely_cause(self, imu: ImuSample) -> tuple[str, str] | None:
        """Kind and sentence on why the IMU does not fit, once there is enough to say so."""
        began, causes, frame = self.imu_fault.began, self.imu_causes, self.output_model.imu_frame
        if began is None or self.imu_fault.named or seconds(began, imu.instant) > _LATEST_NAMING:
            return None
        gravity = self.alone.filter.rotation.T @ self.alone.filter.geometry.gravity
        covariance = frame.covariance_to_imu(self.alone.felt_covariance)
        causes.add(
            frame.to_imu(imu.value), frame.to_imu(self.alone.felt), covariance.diagonal(), frame.vector_to_imu(gravity)
        )
        return causes.likeliest()

    def _name_imu_fault(self, stamp: int, kind: str, detail: str) -> None:
        """Say what is wrong with an IMU that is left out already."""
        if kind not in (self.imu_fault.kind, *self.imu_fault.named):
            self.imu_fault.name(kind, detail)
            self.health.event(stamp, kind, f'the IMU, left out already: {detail}')
