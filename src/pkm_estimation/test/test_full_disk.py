"""Recordings on a disk that becomes full: what was written before is read, and what is lost was said."""

from __future__ import annotations

import re
import resource
from pathlib import Path

import numpy as np
import pytest
from pkm_estimation.bags import BagError, RawBagWriter, read_bag
from pkm_estimation.bags.decoding import TYPESTORE
from pkm_estimation.bags.writer import MessageMakers


@pytest.mark.parametrize('storage', ['mcap', 'sqlite3'])
@pytest.mark.parametrize('kilobytes', [1, 600, 2500])
def test_recording_ends_with_what_can_be_lost(tmp_path: Path, storage: str, kilobytes: int) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    make = MessageMakers().imu(np.zeros((1, 3)), np.zeros((1, 3)), 'imu_link')
    said = ''
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024 * kilobytes, before[1]))
    try:
        bag = RawBagWriter(tmp_path / 'run', storage, TYPESTORE)
        bag.add_topic('/imu/data_raw', 'sensor_msgs/msg/Imu')
        for index in range(20_000):
            bag.write('/imu/data_raw', 10**9 + index, make(0, 10**9 + index))
            if index % 1000 == 0:
                bag.flush()
    except BagError as error:
        said = str(error)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert 'run: cannot be written: ' in said
    assert 'name another place' in said
    if kilobytes == 1:
        return
    total, risked = map(int, re.findall(r'after (\d+) messages, at most the last (\d+) are lost', said)[0])
    assert bag.closed
    with pytest.raises(BagError, match='is closed'):
        bag.write('/imu/data_raw', 1, b'')
    bag.close()
    assert not list((tmp_path / 'run').glob('*.tmp'))
    data = read_bag(tmp_path / 'run')
    imu = data.require(data.imu_data_raw, 'imu/data_raw')
    np.testing.assert_array_equal(imu.stamps, 10**9 + np.arange(len(imu)))
    assert total - risked <= len(imu) <= total
    assert any('metadata.yaml is missing' in text for text in data.warnings)
