"""Messages that differ in numbers only are decoded at once; others one by one, to the same arrays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pkm_estimation.bags import decoding
from pkm_estimation.bags.decoding import TYPESTORE, as_table
from pkm_estimation.bags.messages import open_bag
from test_bags import write

DECODERS = {
    '/joint_states': decoding.joint_states,
    '/imu/data_raw': decoding.imu,
    '/ground_truth/odometry': decoding.odometry,
}


def messages(path: Path) -> tuple[dict[str, list[bytes]], dict[str, str]]:
    write(path / 'run', 'mcap')
    with open_bag(path / 'run') as bag:
        found: dict[str, list[bytes]] = {}
        for topic, _, data in bag.read():
            found.setdefault(topic, []).append(data)
        return found, bag.types


def same(one: object, other: object) -> bool:
    if isinstance(one, np.ndarray):
        return one.dtype == np.asarray(other).dtype and np.array_equal(one, other, equal_nan=True)
    return one == other


def test_table_gives_every_bit_of_single_messages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, types = messages(tmp_path)
    for topic, decode in DECODERS.items():
        assert as_table(found[topic], types[topic], TYPESTORE) is not None
        stamps = np.arange(len(found[topic]))
        at_once = decode(stamps, found[topic])
        with monkeypatch.context() as patch:
            patch.setattr(decoding, 'as_table', lambda *_: None)
            one_by_one = decode(stamps, found[topic])
        assert all(same(vars(at_once)[name], value) for name, value in vars(one_by_one).items())


def test_other_texts_or_lengths_are_no_table(tmp_path: Path) -> None:
    found, types = messages(tmp_path)
    imu, kind = found['/imu/data_raw'], types['/imu/data_raw']
    other = TYPESTORE.deserialize_cdr(imu[1], kind)
    name = other.header.frame_id
    for frame in (name[:-1] + '?', name + 'x'):
        other.header.frame_id = frame
        mixed = [imu[0], bytes(TYPESTORE.serialize_cdr(other, kind)), imu[2]]
        assert as_table(mixed, kind, TYPESTORE) is None
        np.testing.assert_array_equal(
            decoding.imu(np.arange(3), mixed).specific_force, decoding.imu(np.arange(3), imu[:3]).specific_force
        )
    assert as_table([imu[0][:40]] * 3, kind, TYPESTORE) is None
