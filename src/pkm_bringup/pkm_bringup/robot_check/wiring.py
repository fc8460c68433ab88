"""What the checks know so far of a robot, each standing on what those before it found and mended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.errors import Finding
from pkm_description.machine import Machine

from pkm_bringup.robot_check.arrangement import DriveMotion, Judged
from pkm_bringup.robot_check.delay import ClockShift
from pkm_bringup.robot_check.recorded import Flags, ImuLog, JointLog, Observation
from pkm_bringup.robot_check.time_axis import TimeAxes


@dataclass
class Wiring:
    """State of a run of the checks; each check fills in what later ones need.

    Attributes
    ----------
    machine, seen : what it should be, what was heard
    patch : driver file that grows with the findings
    joints, imu : streams as the suite reads them (through the machine's driver, if it has one)
    times : time axes of both
    columns : (A) entry of the joint states that belongs to each drive; None while unknown
    names_guessed : True if the entries are a guess, as the names are not the machine's
    positions : (K, A) at ``times.joints``, in the suite's convention as far as it was found
    poses_trusted : False where positions are known to be wrong, and not how
    position_scale, position_offset : (A,) which made them of the published ones
    specific_force, angular_rate : (K, 3) at ``times.imu``, in SI units
    imu_usable, gravity_felt : False where the IMU says nothing, or nothing of gravity
    delay : s by which the IMU's times are late and are shifted
    shift : how both clocks differ, as far as motion tells
    motion : drives on a grid
    best : the arrangement that explains the IMU best
    findings : so far
    """

    machine: Machine
    seen: Observation
    patch: DriverPatch
    joints: JointLog | None = None
    imu: ImuLog | None = None
    times: TimeAxes = field(default_factory=lambda: TimeAxes(None, None))
    columns: list[int] | None = None
    names_guessed: bool = False
    positions: Array | None = None
    poses_trusted: bool = True
    position_scale: Array | None = None
    position_offset: Array | None = None
    specific_force: Array | None = None
    angular_rate: Array | None = None
    imu_usable: bool = False
    gravity_felt: bool = True
    delay: float = 0.0
    shift: ClockShift | None = None
    motion: DriveMotion | None = None
    best: Judged | None = None
    findings: list[Finding] = field(default_factory=list)

    @property
    def leg_time(self) -> Array:
        """Times (K,) s of usable joint states."""
        assert self.times.joints is not None
        return self.times.joints.seconds

    @property
    def leg_rows(self) -> NDArray[np.intp]:
        """Messages (K,) of usable joint states."""
        assert self.times.joints is not None
        return self.times.joints.rows

    @property
    def imu_time(self) -> Array:
        """Times (K,) s of usable IMU messages, less the delay found."""
        assert self.times.imu is not None
        return self.times.imu.seconds - self.delay

    @property
    def drive_names(self) -> tuple[str, ...]:
        """Names of the drives."""
        return self.machine.actuated_joint_names

    def named(self, chosen: Flags) -> str:
        """Names of the chosen drives (A,), for a sentence."""
        return ', '.join(name for name, yes in zip(self.drive_names, chosen, strict=True) if yes)


@dataclass
class DriverPatch:
    """Section ``driver`` that grows with the findings.

    Attributes
    ----------
    machine : whose driver it is
    content : the section so far
    """

    machine: Machine
    content: dict[str, Any] = field(default_factory=dict)

    def add(self, key: str, value: Any) -> str:
        """Add ``key`` (dotted for a key inside a section) and return the lines of this entry alone."""
        section, _, name = key.rpartition('.')
        target = self.content.setdefault(section, {}) if section else self.content
        target[name] = value
        alone = {section: {name: value}} if section else {name: value}
        return _dump({'driver': {'machine': self.machine.name} | alone})

    def add_all(self, entries: dict[str, Any]) -> str:
        """Add several entries and return the lines of all of them."""
        part = DriverPatch(self.machine)
        for key, value in entries.items():
            self.add(key, value)
            part.add(key, value)
        return part.text()

    def joints(self, names: Sequence[str]) -> str:
        """Add the names (A), by drive, and return its lines."""
        pairs = zip(names, self.machine.drive_labels, strict=True)
        return self.add('joints', [{name: leg} for name, leg in pairs])

    def by_leg(self, values: Array) -> Any:
        """One number if all drives have the same, else leg: number."""
        numbers = [_round(value) for value in np.asarray(values, dtype=float)]
        if len(set(numbers)) == 1:
            return numbers[0]
        return dict(zip(self.machine.drive_labels, numbers, strict=True))

    def text(self) -> str:
        """The whole file; empty if nothing was added."""
        if not self.content:
            return ''
        return _dump({'driver': {'machine': self.machine.name} | self.content})


def _round(value: float) -> float | int:
    short = float(f'{value:.6g}')
    return int(short) if short in (1.0, -1.0) else short


def _dump(content: dict[str, Any]) -> str:
    return yaml.safe_dump(content, sort_keys=False, default_flow_style=None, width=110).rstrip()
