"""The machine that was found, as an overlay of its file that loads everywhere."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import PkmError
from pkm_description.kinematics.rotation import rpy_from_matrix
from pkm_description.loading.load import load_machine, machine_content
from pkm_description.loading.overlay import write_overlay
from pkm_description.machine import Leg, Machine
from pkm_description.machine.parts import Placement
from pkm_description.machine.tolerances import OF_STAMPS
from scipy.spatial.transform import Rotation

from pkm_estimation.calibration.problem import Solution
from pkm_estimation.calibration.static_poses import LegRows

#: m or rad, by which what a file says may differ from what was found, by rounding
_SAME = 1e-8
#: m or rad, by which two numbers of a file differ by rounding
_ROUNDING = 1e-12


def geometry_values(content: dict[str, Any], machine: Machine) -> dict[str, object]:
    """Dotted keys of a machine file (``content``, lists by name) and the values of a machine of its kind."""
    home = machine.home
    values: dict[str, object] = {
        'platform.home.xyz': home.position, 'platform.home.rpy': rpy_from_matrix(home.rotation_base_platform)
    }  # fmt: skip
    chains: dict[str, list[Leg]] = {}
    for leg in machine.legs:
        chains.setdefault(leg.chain, []).append(leg)
    for chain, legs in chains.items():
        place = f'leg_chains.{chain}.joints' if chain else 'leg_chain'
        joints = content['leg_chains'][chain]['joints'] if chain else content['leg_chain']
        for name, entry in joints.items():
            own = [_joint_place(content, leg, name, entry) for leg in legs]
            values[f'{place}.{name}.origin.xyz'] = _by_leg([one.position for one in own])
            values[f'{place}.{name}.origin.rpy'] = _by_leg([rpy_from_matrix(one.rotation) for one in own])
        if not chain:
            values['leg_tip'] = _by_leg([leg.tip for leg in legs])
            values |= {f'legs.{leg.name}.platform_point': leg.platform_point for leg in legs}
            continue
        for name, entry in content['leg_chains'][chain]['closures'].items():
            ends = [next(one for one in leg.closures if one.name == f'{leg.name}_{name}') for leg in legs]
            if 'xyz' in entry:
                values[f'leg_chains.{chain}.closures.{name}.xyz'] = _by_leg([end.point for end in ends])
            if 'to_xyz' in entry:
                frames = [_other_frame(content, machine, leg, end.other) for leg, end in zip(legs, ends, strict=True)]
                there = [frame.inverse.point(end.other_point) for frame, end in zip(frames, ends, strict=True)]
                values[f'leg_chains.{chain}.closures.{name}.to_xyz'] = _by_leg(there)
            elif entry.get('to', 'platform') == 'platform':
                pairs = zip(legs, ends, strict=True)
                values |= {f'legs.{leg.name}.platform_point': end.other_point for leg, end in pairs}
    return values


def _by_leg(vectors: list[Array]) -> Array:
    """Vectors of the legs that share a chain as a file has them: each component with one number per leg."""
    return vectors[0] if len(vectors) == 1 else np.stack(vectors, axis=1)


def _joint_place(content: dict[str, Any], leg: Leg, name: str, entry: dict[str, Any]) -> Placement:
    """Pose of a joint of the file in the body before it, of the leg's first in the leg's base frame."""
    full = f'{leg.name}_{name}'
    joint = next(one for one in leg.joints if full in (one.name, one.part_of))
    on_base = joint is leg.joints[0] or entry.get('parent') == 'base_link'
    return joint.place.seen_from(_frame(content['legs'][leg.name], 'base')) if on_base else joint.place


def _other_frame(content: dict[str, Any], machine: Machine, leg: Leg, other: str) -> Placement:
    side = {machine.platform.name: 'platform', 'base_link': 'base'}.get(other)
    return Placement() if side is None else _frame(content['legs'][leg.name], side)


def _frame(entry: dict[str, Any], side: str) -> Placement:
    turn = Rotation.from_euler('xyz', entry.get(f'{side}_rpy', [0.0] * 3)).as_matrix()
    return Placement(np.array(entry[f'{side}_point'], dtype=float), turn)


def new_overlay(folder: Path, name: str) -> Path:
    """Place of an overlay in a folder; raises PkmError where it is there: it is never replaced."""
    overlay = folder / name
    if overlay.exists():
        raise PkmError(f'{overlay} is there already; an overlay is never replaced: give another folder with -o')
    return overlay


def write_calibration(
    path: Path, file: Path, base_overlay: Path | None, machine: Machine, others: dict[str, object],
    origin: tuple[str, str], poses: tuple[Array, Array],
) -> Path:  # fmt: skip
    """Write an overlay with what a machine file does not say, and look whether it loads as the machine that was found.

    Parameters
    ----------
    file, base_overlay : of the machine that was calibrated
    machine : as it was found
    others : further dotted keys and values
    origin : data and method, in words
    poses : (N, 3), (N, 3, 3) at which what is read is compared

    Raises
    ------
    PkmError
        It does not load, or is another machine: nothing is left of it.
    """
    content, replaced = machine_content(file, base_overlay)
    values: dict[str, object] = {key: _at(content, key) for key in replaced}
    found = geometry_values(content, machine) | others
    values |= {key: value for key, value in found.items() if key in values or not _says(content, key, value)}
    data, method = origin
    write_overlay(path, machine.name, values, date=date.today().isoformat(), data=data, method=method)
    try:
        read = load_machine(file, path)
        difference = float(np.abs(LegRows(read).at(*poses)[0] - LegRows(machine).at(*poses)[0]).max())
        if not difference < _SAME:
            raise PkmError(f'the overlay describes a machine that differs by {difference:.3g} m or rad at the drives')
    except PkmError as error:
        path.unlink()
        raise PkmError(f'no overlay is written: the machine that was found does not load again: {error}') from None
    return path


def _at(content: dict[str, Any], dotted: str) -> object:
    place: Any = content
    for part in dotted.split('.'):
        place = place[part]
    return place


def _says(content: dict[str, Any], dotted: str, value: object) -> bool:
    """Whether a machine file says this already."""
    try:
        known, new = (np.asarray(one, dtype=float) for one in (_at(content, dotted), value))
    except (KeyError, TypeError, ValueError):
        return False
    return known.shape == new.shape and bool((np.abs(known - new) < _ROUNDING).all())


def imu_values(machine: Machine) -> dict[str, object]:
    """Values of an overlay for the IMU, and for gravity, which is what it feels."""
    imu = machine.imu
    values: dict[str, object] = {
        'gravity': machine.gravity,
        'sensors.imu.xyz': imu.position,
        'sensors.imu.rpy': rpy_from_matrix(imu.rotation_platform_imu),
    }
    matrices = {'accelerometer': imu.accelerometer_matrix, 'gyroscope': imu.gyroscope_matrix}
    changed = [(name, matrix) for name, matrix in matrices.items() if np.abs(matrix - np.eye(3)).max() > _ROUNDING]
    return values | {f'sensors.imu.{name}.matrix': matrix for name, matrix in changed}


def tolerance_values(solution: Solution) -> dict[str, object]:
    """Values of an overlay for tolerances: what is left of those of the constants that it has, all together."""
    constants, stated, names = solution.constants, solution.constants.machine.tolerances, solution.constants.names
    known = [place for place, name in enumerate(names) if name not in OF_STAMPS]
    std = constants.std[known]
    root = np.linalg.cholesky(std[:, None] * solution.covariance[np.ix_(known, known)] * std)
    return {
        'tolerances.joint_centres': stated.joint_centres,
        'tolerances.leg_zeros': stated.leg_zeros,
        'tolerances.calibrated.constants': [names[place] for place in known],
        'tolerances.calibrated.root': [
            [float(f'{value:.6g}') for value in row[: place + 1]] for place, row in enumerate(root.tolist())
        ],
    }  # fmt: skip
