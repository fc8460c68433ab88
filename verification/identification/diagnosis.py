"""Faults seeded into recordings of MuJoCo's data: what a diagnosis names, misses and makes up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import KinematicsError, State
from pkm_description.kinematics import forward_kinematics
from pkm_description.loading import load_machine
from pkm_identification.diagnosis import diagnose

from verification.check import Check, equal
from verification.identification.motions import near_singular, several_sines, singular_from
from verification.identification_data.cases import CASES, Case
from verification.identification_data.dataset import DataSet, excitation, generate

#: hidden bodies are this far from the nominal ones; where legs differ their sum can ask for more than drives have
BODIES, UNLIKE_BODIES = 0.3, 0.1
#: s, of the recording; the validation is not looked at
DURATIONS = (25.0, 6.1)
#: machines whose drives reach nearly singular poses inside their strokes, and the name of such data
REACHES_SINGULAR, SINGULAR = ('khalifa_3prr', 'hexaglide_6pus'), 'singular'
#: nearly singular poses that are tried: near them forces are large, and a servo may stay away
_POSES = 6


@dataclass(frozen=True)
class Fault:
    """A fault and how it is named.

    Attributes
    ----------
    name : in words
    code : of the finding; empty: none may come
    spoil : of efforts (N, A) with their time (N,), for a drive and another one, the spoiled efforts
    whose : drives that must be named: ``'one'``, ``'both'``, ``'all'`` one by one, or ``'none'`` in particular
    case : of the data set
    """

    name: str
    code: str
    spoil: Callable[[Array, Array, int, int], Array]
    whose: str = 'one'
    case: str = 'plain'


def _of_one(change: Callable[[Array], Array]) -> Callable[[Array, Array, int, int], Array]:
    def spoil(time: Array, efforts: Array, drive: int, other: int) -> Array:
        spoiled = efforts.copy()
        spoiled[:, drive] = change(efforts[:, drive])
        return spoiled

    return spoil


def _swap(time: Array, efforts: Array, drive: int, other: int) -> Array:
    spoiled = efforts.copy()
    spoiled[:, [drive, other]] = efforts[:, [other, drive]]
    return spoiled


def _with_outliers(column: Array) -> Array:
    random = np.random.default_rng(len(column))
    spoiled, places = column.copy(), random.choice(len(column), 20, replace=False)
    spoiled[places] += 0.3 * np.ptp(column) * random.choice([-1.0, 1.0], 20)
    return spoiled


#: what is seeded
FAULTS = (
    Fault('nothing', '', lambda time, efforts, drive, other: efforts, 'none'),
    Fault('force in kN', 'effort_unit', lambda time, efforts, drive, other: 1e-3 * efforts, 'none'),
    Fault('flipped sign of one effort', 'effort_sign', _of_one(lambda column: -column)),
    Fault('efforts of two legs swapped', 'effort_order', _swap, 'both'),
    Fault('saturation', 'effort_saturation', _of_one(lambda column: np.minimum(column, np.quantile(column, 0.95)))),
    Fault('20 outliers', 'effort_outliers', _of_one(_with_outliers)),
    Fault('zero effort', 'effort_zero', _of_one(lambda column: 0.0 * column)),
    Fault('frozen effort', 'effort_frozen', _of_one(lambda column: column[0] + 0.0 * column)),
    Fault('no efforts', 'effort_zero', lambda time, efforts, drive, other: 0.0 * efforts, 'all'),
    Fault('pass near a singular pose', 'singular_pose', lambda time, efforts, drive, other: efforts, 'none', SINGULAR),
)
#: right data with friction of other kinds: no finding may come
RIGHT = tuple(
    Fault(f'nothing, case {case}', '', lambda time, efforts, drive, other: efforts, 'none', case)
    for case in ('asymmetric', 'stribeck', 'axial', 'unlike_legs')
)


def verdict(data: DataSet, fault: Fault, seed: int) -> str:
    """Empty if a diagnosis names a fault, its drives and nothing else; otherwise what it says."""
    labels, recording = data.nominal.drive_labels, data.training.recording
    drive, other = np.random.default_rng([seed, 9]).choice(len(labels), 2, replace=False).tolist()
    efforts = fault.spoil(recording.time, recording.forces, drive, other)
    found = diagnose(data.nominal, replace(recording, forces=efforts))
    findings = [finding for finding in found if finding.state is not State.CANNOT_TELL]
    wanted = {'one': {labels[drive]}, 'both': {labels[drive], labels[other]}, 'all': set(labels), 'none': set()}
    named = {label for finding in findings for label in finding.drives}
    codes = {finding.code for finding in findings}
    right = codes == ({fault.code} if fault.code else set()) and named == wanted[fault.whose]
    if right:
        return ''
    return f'seed {seed}: {", ".join(sorted(codes)) or "nothing"} of {", ".join(sorted(named)) or "no drive"}'


def case_of(name: str) -> Case:
    """Case of a data set for a diagnosis."""
    case = CASES[name]
    return replace(case, bodies=UNLIKE_BODIES if case.unlike_legs else BODIES)


def data_of(source: str, case: str, seed: int) -> DataSet:
    """Data set for a diagnosis: drives have several frequencies each, and are where the name says."""
    if case == SINGULAR:
        for skip in range(_POSES):
            passing = partial(near_singular, skip=skip)
            data = generate(source, case_of('plain'), seed, DURATIONS, motions=passing)
            positions = data.training.positions[::10]
            if np.max(forward_kinematics(data.nominal, positions).condition) > 1.1 * singular_from(data.nominal):
                return data
        raise KinematicsError(f'{source}, seed {seed}: the servo reaches no nearly singular pose')
    motions = excitation if load_machine(source).degrees_of_freedom == 6 else several_sines
    return generate(source, case_of(case), seed, DURATIONS, motions=motions)


def faults_of(source: str) -> tuple[Fault, ...]:
    """Everything that is tried on a machine."""
    reaches = source in REACHES_SINGULAR
    return tuple(fault for fault in (*FAULTS, *RIGHT) if reaches or fault.case != SINGULAR)


def diagnosis_checks(source: str, first: int, seeds: int) -> Iterator[Check]:
    """Every fault in every seed."""
    faults = faults_of(source)
    wrong: dict[str, list[str]] = {fault.name: [] for fault in faults}
    for seed in range(first, first + seeds):
        for case in dict.fromkeys(fault.case for fault in faults):
            data = data_of(source, case, seed)
            for fault in faults:
                if fault.case == case and (said := verdict(data, fault, seed)):
                    wrong[fault.name].append(said)
    for name, texts in wrong.items():
        told = f' ({"; ".join(texts)})' if texts else ''
        what = f'{name}: seeds in which it is named, and nothing else{told}'
        yield equal('diagnosis', what, seeds, seeds - len(texts))
