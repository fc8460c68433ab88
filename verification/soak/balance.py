"""Whether the books of an estimator balance: each sample that came was used, or has a reason why it was not."""

from __future__ import annotations

from collections.abc import Mapping

#: reasons, after the topic's name, why a stamp is rejected
STAMPS = ('zero_stamp', 'duplicate_stamp', 'out_of_order_stamp', 'stamp_jump', 'too_late')
#: reasons why a sample of the IMU is not accepted, and why a measurement of the legs gives no estimate
IMU_REASONS = ('imu_not_finite', *(f'imu_{reason}' for reason in STAMPS))
LEG_REASONS = (
    'legs_rejected', 'legs_queue_overflow', 'legs_dropped_by_reset', *(f'legs_{reason}' for reason in STAMPS)
)  # fmt: skip
#: reasons, after the topic's name, why a message of a running node does not come to the pipeline
NODE_REASONS = ('unreadable', 'lost', 'decimated', 'backlog_overflow', 'dropped_inactive')


def imu_balance(counters: Mapping[str, int]) -> int:
    """Samples of the IMU that were received, less those that were accepted or have a reason; 0 if the books balance."""
    reasons = sum(counters.get(name, 0) for name in IMU_REASONS)
    return counters.get('imu_received', 0) - counters.get('imu_accepted', 0) - reasons


def leg_balance(counters: Mapping[str, int], waiting: int = 0) -> int:
    """Measurements of the legs that were received, less those with an estimate or a reason, and those that wait.

    One that was rejected first and used later (a late sample of the IMU) is counted for both, and as answered late.
    """
    reasons = sum(counters.get(name, 0) for name in LEG_REASONS) - counters.get('legs_answered_late', 0)
    return counters.get('legs_received', 0) - counters.get('estimates', 0) - reasons - waiting


def node_balance(counters: Mapping[str, int], topic: str, sent: int) -> int:
    """Messages that were sent to a running node, less those that its pipeline received and those with a reason."""
    reasons = sum(counters.get(f'{topic}_{reason}', 0) for reason in NODE_REASONS)
    return sent - counters.get(f'{topic}_received', 0) - reasons
