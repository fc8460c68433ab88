"""Runs of the simulated machine that pictures are made of."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from pkm_bringup.simulation import SimulationRecord, simulate
from pkm_bringup.simulation.cli import write_record
from pkm_description.machine import Machine, PlatformMotion
from pkm_estimation.bags import RecordedData, read_bag
from pkm_identification.recording.recording import Recording


def recorded_run(machine: Machine, motion: PlatformMotion, seed: int) -> RecordedData:
    """Simulated physics along a motion, as a bag that was recorded and read."""
    record = simulate(machine, motion, seed)
    with tempfile.TemporaryDirectory() as folder:
        bag = Path(folder) / 'run'
        write_record(record, machine, bag, 'mcap')
        return read_bag(bag)


def recording_of(record: SimulationRecord, source: str) -> Recording:
    """Positions and measured forces of a simulated run, for identification."""
    time = record.joint_stamps * 1e-9
    step = float(np.median(np.diff(time)))
    grid = time[0] + step * np.arange(len(time))
    return Recording(grid, record.joint_positions, record.joint_efforts, int(record.joint_stamps[0]), source)
