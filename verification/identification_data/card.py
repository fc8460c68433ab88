"""The data card of a data set."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
from pkm_description.arrays import Array
from pkm_description.report.words import text_table

from verification.identification_data.cases import CASES
from verification.identification_data.dataset import DataSet

_TEXT = """# {machine}, seed {seed}

Simulated recordings for identification: positions and motor efforts of the drives of a parallel machine whose
masses, friction and drive electronics are hidden in `truth.yaml`. Made by

    {command}

that is, {case}. The command makes the same CSV files again, byte by byte, with the versions of `truth.yaml` on the
same kind of computer.

## Files

| file | content |
| --- | --- |
| `training/`, `validation/` | bags (MCAP) with `sensor_msgs/JointState`, as the machine's driver publishes |
| `training.csv`, `validation.csv` | the same: stamp [ns], then position, velocity, effort of each drive, {units} |
| `truth.yaml` | bodies, friction, drive signals, noise, seeds, versions |

The two motions are different. Training {training:g} s, validation {validation:g} s, {rate:g} samples per
second, no gaps.

## Physics

MuJoCo {mujoco}: the closed chain of the machine file's MJCF export, RK4, step {step:g} s. Loops are open by at most
{gap:.2g} um. A servo of {bandwidth:g} Hz with the feed-forward of the nominal machine leads the machine along a
multi-sine of {freedom}. Bodies are those of the machine file, deformed and with another density (seeded), so that
each is a possible body. Gravity and passive joints are as in the machine file; hinges without a drive have friction by
the force across their axes besides where the case has `passive` (`truth.yaml`).

## Friction in the drives

One bristle state z per drive (Canudas de Wit et al. 1995, without micro-damping), driven by the velocity v:

    dz/dt = v - stiffness |v| / g z
    friction = stiffness z + viscous v
    g = coulomb(direction) (1 + (breakaway - 1) exp(-|v / stribeck_velocity|^stribeck_exponent)) + axial |N|
    stiffness = mean coulomb / presliding

N is the force that the drive passes on to its rod: motor effort less friction and rotor inertia.

## Signals

    effort = gain motor_effort + bias + ripple sin(2 pi position / ripple_pitch + ripple_phase)

late by {delay:g} s against the position, with white noise. Positions have white noise and are rounded to the encoder's
resolution. `motor_effort` is the mean of the steps before and after the instant.

## Truth in short

{table}

Motor efforts rms {effort:.4g}, friction rms {friction:.4g} (training, {effort_unit}).

## What it is not

No elasticity, no backlash, no temperature; white noise only; stamps without jitter; motor and rod have one position.
"""


def card_text(data: DataSet, truth: dict[str, Any], command: str) -> str:
    """Markdown page about a data set and its truth."""
    names, friction, signals = data.nominal.actuated_joint_names, data.friction, data.signals
    columns = [
        ('viscous', friction.viscous), ('Coulomb +', friction.coulomb_forward),
        ('Coulomb -', friction.coulomb_backward), ('bias', signals.bias), ('gain', signals.gain),
    ]  # fmt: skip
    rows = [[name, *(f'{column[place] + 0.0:.4g}' for _, column in columns)] for place, name in enumerate(names)]
    turning = [joint.kind == 'revolute' for joint in data.nominal.actuated_joints]
    units = 'm, m/s, N' if not any(turning) else 'rad, rad/s, N m' if all(turning) else 'SI units'
    plain, own = asdict(CASES['plain']), truth['case']
    changes = ', '.join(f'{key} = {value:g}' for key, value in own.items() if value != plain[key])
    table = text_table(['drive', *(title for title, _ in columns)], rows)
    return _TEXT.format(
        machine=data.source,
        case=changes or 'viscous and Coulomb friction and white noise only',
        seed=data.seed,
        command=command,
        units=units,
        training=data.training.recording.duration,
        validation=data.validation.recording.duration,
        rate=1.0 / data.step,
        mujoco=truth['versions']['mujoco'],
        step=data.step,
        gap=1e6 * truth['physics']['largest closure gap'],
        bandwidth=truth['physics']['servo bandwidth'],
        freedom='the platform' if data.nominal.degrees_of_freedom == 6 else 'the drives',
        delay=signals.delay,
        table='\n'.join(f'    {line}' for line in table.splitlines()),
        effort=_rms(data.training.run.efforts),
        friction=_rms(data.training.run.friction),
        effort_unit=units.rpartition(', ')[2],
    )


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))
