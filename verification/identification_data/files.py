"""A data set as files: bags, CSV, truth, and a card that explains them."""

from __future__ import annotations

import csv
import io
import platform
from dataclasses import asdict, fields
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from pkm_description.joint_states import DriverStreams
from pkm_description.loading import load_machine
from pkm_description.machine import Machine, RigidBody
from pkm_description.motion.profiles import VALIDATION_SEED_OFFSET
from pkm_estimation.bags import BagWriter

from verification.identification_data.card import card_text
from verification.identification_data.dataset import DataSet, Measured
from verification.identification_data.hidden import passive_radius
from verification.identification_data.physics import BANDWIDTH


def write_dataset(data: DataSet, folder: Path, command: str) -> list[Path]:
    """Write ``training`` and ``validation`` (bag and CSV), ``truth.yaml`` and ``README.md``.

    Parameters
    ----------
    folder : see :func:`require_room`
    command : that makes the same data set again, for the card
    """
    require_room(folder)
    folder.mkdir(parents=True, exist_ok=True)
    machine, written = load_machine(data.source), []
    for measured in (data.training, data.validation):
        bag, table = folder / measured.name, folder / f'{measured.name}.csv'
        _write_bag(measured, machine, bag)
        table.write_text(csv_text(measured, data.nominal), encoding='utf-8')
        written += [bag, table]
    truth = truth_of(data)
    path = folder / 'truth.yaml'
    path.write_text(yaml.safe_dump(truth, sort_keys=False, width=120), encoding='utf-8')
    card = folder / 'README.md'
    card.write_text(card_text(data, truth, command), encoding='utf-8')
    return [*written, path, card]


def require_room(folder: Path) -> None:
    """Refuse a folder with a data set.

    Raises
    ------
    FileExistsError
        A bag of that name is there already.
    """
    for name in ('training', 'validation'):
        if (folder / name).exists():
            raise FileExistsError(f'{folder / name} exists; choose another folder')


def csv_text(measured: Measured, machine: Machine) -> str:
    """Stamp [ns], then position, velocity and effort of every drive; the same bytes for the same data."""
    text = io.StringIO()
    names = machine.actuated_joint_names
    writer = csv.writer(text, lineterminator='\n')
    writer.writerow(['stamp_ns', *(f'{name}.{kind}' for kind in ('position', 'velocity', 'effort') for name in names)])
    values = np.concatenate([measured.positions, measured.velocities, measured.efforts], axis=1)
    for stamp, row in zip(stamps(measured).tolist(), values.tolist(), strict=True):
        writer.writerow([stamp, *(f'{value:.10g}' for value in row)])
    return text.getvalue()


def stamps(measured: Measured) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Stamps (N,) ns."""
    return measured.start_stamp + np.round((measured.run.time - measured.run.time[0]) * 1e9).astype(np.int64)


def _write_bag(measured: Measured, machine: Machine, path: Path) -> None:
    joints = DriverStreams(machine).joint_states(measured.positions, measured.velocities, measured.efforts)
    with BagWriter(path, 'mcap') as bag:
        bag.write_joint_states(stamps(measured), *joints, topic=machine.driver.joint_topic)


def truth_of(data: DataSet) -> dict[str, Any]:
    """Everything that is known of a data set, as plain numbers and texts."""
    hidden, names = data.true_machine, list(data.true_machine.actuated_joint_names)
    bodies = [joint.body for leg in hidden.legs for joint in leg.joints]
    return {
        'machine': data.source,
        'case': asdict(data.case),
        'seed': data.seed,
        'seeds': {
            'motion of the training': data.seed,
            'motion of the validation': data.seed + VALIDATION_SEED_OFFSET,
            'bodies': [data.seed, 0],
            'friction': [data.seed, 1],
            'drive signals': [data.seed, 2],
            'noise of the training': [data.seed, 3],
            'noise of the validation': [data.seed, 4],
        },
        'physics': {
            'engine': 'MuJoCo',
            'integrator': 'RK4, friction and effort constant during a step',
            'step': data.step,
            'servo bandwidth': BANDWIDTH,
            'largest closure gap': max(one.run.closure_gap for one in (data.training, data.validation)),
            'steps at the effort limit': [
                float(one.run.saturated.sum()) for one in (data.training, data.validation)
            ],
        },
        'drives': names,
        'friction': {own.name: _plain(getattr(data.friction, own.name)) for own in fields(data.friction)},
        'passive hinges': {'friction per force across the axis': passive_radius(data.nominal, data.case)},
        'signals': {own.name: _plain(getattr(data.signals, own.name)) for own in fields(data.signals)},
        'rotor_inertia': [float(joint.rotor_inertia) for joint in hidden.actuated_joints],
        'bodies': {body.name: _body(body) for body in (*bodies, hidden.platform) if body.mass > 0.0},
        'versions': {
            'Python': platform.python_version(),
            'processor': platform.machine(),
            **{name: metadata.version(name) for name in ('mujoco', 'numpy', 'scipy', 'numba')},
        },
    }  # fmt: skip


def _plain(value: Any) -> Any:
    return np.asarray(value, dtype=float).tolist()


def _body(body: RigidBody) -> dict[str, Any]:
    return {
        'mass': float(body.mass),
        'center_of_mass': _plain(body.center_of_mass),
        'inertia': _plain(body.inertia),
    }
