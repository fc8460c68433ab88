"""Errors during the run: takes serialised messages and returns a line of text from time to time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from pkm_description.machine import Machine
from pkm_description.ros.serialized import read_stamp
from pkm_estimation.bags.messages import STREAMS

from pkm_bringup.demo.criteria import bias_errors, estimation_errors

_REFERENCES = ('ground_truth/odometry', 'imu/data_raw')
_LIVE = 'ground_truth', 'platform_odometry', 'baseline_odometry', 'imu_data_raw', 'imu_data'
#: streams of the live line: message type and decoder by topic
LIVE_TOPICS = {topic: (kind, decode) for topic, kind, decode in map(STREAMS.__getitem__, _LIVE)}
HEADER = (
    '    time  motion        position [um]    velocity [mm/s]   attitude [1e-6]    NIS  '
    'bias error [1e-4 of the unit]\n'
    '     [s]                est. (baseline)   est. (baseline)   est. (baseline)        '
    'accelerometer  gyroscope'
)


class LiveErrors:
    """Errors since the last line.

    Parameters
    ----------
    machine : for the true biases

    Attributes
    ----------
    latest_nis : mean normalised innovation squared that the estimator reported last
    latest_estimate : stamp of the last estimate, s
    """

    def __init__(self, machine: Machine) -> None:
        self._imu = machine.imu
        self._pending: dict[str, list[bytes]] = {topic: [] for topic in LIVE_TOPICS}
        self.latest_nis = float('nan')
        self.latest_estimate = 0.0

    def add(self, topic: str, data: bytes) -> None:
        """Keep one message for the next line."""
        self._pending[topic].append(data)
        if topic == 'platform/odometry':
            self.latest_estimate = 1e-9 * read_stamp(data)

    def take_estimator_values(self, values: Mapping[str, str]) -> None:
        """Note the key-value pairs of the estimator's diagnostic status."""
        if 'mean NIS' in values:
            self.latest_nis = float(values['mean NIS'])

    def line(self, time: float, motion: str) -> str:
        """Root mean squares (worst axis) of what came in since the last line, under :data:`HEADER`."""
        # bytes of a stream are kept until the next line and only then decoded, in one go
        streams: dict[str, Any] = {
            topic: LIVE_TOPICS[topic][1](np.zeros(len(data), dtype=np.int64), data) if data else None
            for topic, data in self._pending.items()
        }
        # on a busy computer the estimator is behind: what it has still to be compared with is kept
        self._pending = {
            topic: [item for item in data if topic in _REFERENCES and 1e-9 * read_stamp(item) > self.latest_estimate]
            for topic, data in self._pending.items()
        }
        truth, raw, corrected = (streams[topic] for topic in ('ground_truth/odometry', 'imu/data_raw', 'imu/data'))
        found = [
            None if truth is None or stream is None else estimation_errors(truth, stream)
            for stream in (streams['platform/odometry'], streams['baseline/odometry'])
        ]
        cells = []
        for name, scale in (('position', 1e6), ('velocity', 1e3), ('attitude', 1e6)):
            own, other = (_number(np.nan if one is None else getattr(one, name).max(), scale) for one in found)
            cells.append(f'{own} ({other})')
        accelerometer = gyroscope = np.nan
        if raw is not None and corrected is not None:
            accelerometer, gyroscope = bias_errors(self._imu, raw, corrected)
        lag = time - self.latest_estimate
        parts = [
            f'{time:8.1f}  {motion:<12}',
            *(f'{cell:>18}' for cell in cells),
            f'{_number(self.latest_nis, 1.0):>7}{_number(accelerometer, 1e4):>11}{_number(gyroscope, 1e4):>12}',
            f'  estimator {lag:.1f} s behind' if lag > 1.0 else '',
        ]
        return ''.join(parts)


def _number(value: float, scale: float) -> str:
    return f'{value * scale:.3g}' if np.isfinite(value) else '-'
