"""The payload of the demo, and what the identification while it runs made of it, with its limits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import yaml
from pkm_description.bounded_yaml import bounded_file
from pkm_description.machine import Machine, RigidBody

from pkm_bringup.demo.criteria import Criterion, criterion
from pkm_bringup.demo.system import DemoError

#: part of the platform's mass, and place in radii of the platform
LOAD, PLACE = 0.1, (0.1, -0.06, 0.12)
#: file that the service ``online_identification/save`` writes
FILE = 'online_parameters.yaml'
#: s of motion after the drop below which the limits are not judged
SHORTEST_JUDGED = 9.0


def payload_of(machine: Machine) -> RigidBody:
    """The mass that is dropped, in one point."""
    place = float(machine.model.radius[0]) * np.array(PLACE)
    return RigidBody('payload', LOAD * machine.platform.mass, place, np.zeros((3, 3)))


def judge_payload(directory: Path, payload: RigidBody, dropped: float, excuse: str = '') -> tuple[Criterion, ...]:
    """Judge when, how much and where; a payload that was not named breaks all limits.

    Parameters
    ----------
    directory : of :data:`FILE`
    payload : the truth
    dropped : s, when
    excuse : why the limits cannot be judged

    Raises
    ------
    DemoError
        The file cannot be read.
    """
    path = directory / FILE
    try:
        said = bounded_file(path).get('payload')
        since = float(said['since']) if said else np.nan
        mass, mass_std = (float(said['mass']), float(said['mass_std'])) if said else (np.nan, np.nan)
        center, center_std = (
            (np.array(said[key], dtype=float) if said else np.full(3, np.nan)) for key in ('center', 'center_std')
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, yaml.YAMLError) as error:
        raise DemoError(f'{path}: the payload cannot be read: {error!r}') from error
    off = center - payload.center_of_mass
    errors = np.abs([(mass - payload.mass) / mass_std, *(off / center_std)])
    stated = f'stated {100.0 * mass_std / payload.mass:.2g} %', f'stated {1e3 * float(np.max(center_std)):.2g} mm'
    return (
        criterion('payload, error of its time', abs(since - dropped), 0.5, 's', excuse=excuse),
        criterion(
            f'payload, error of its mass ({stated[0]})', abs(mass / payload.mass - 1.0), 0.02, '%', 100.0,
            excuse=excuse,
        ),
        criterion(
            f'payload, error of its centre ({stated[1]})', float(np.max(np.abs(off))), 0.005, 'mm', 1e3, excuse=excuse
        ),
        criterion('payload, largest error', float(np.max(errors)), 4.0, 'std', excuse=excuse),
    )  # fmt: skip
