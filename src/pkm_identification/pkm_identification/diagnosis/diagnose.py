"""Checks of a recording before anything is fitted: signals, arrangement of the efforts, poses.

What only a fit can tell (gains, delays, ripples) is a matter of the identification's own table of terms.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.dynamics import inverse_dynamics
from pkm_description.errors import Finding, PkmError, State
from pkm_description.kinematics import drive_positions, forward_kinematics, motion_from_drives
from pkm_description.machine import Machine, PlatformMotion
from scipy.ndimage import maximum_filter

from pkm_identification.blocks import runs_of
from pkm_identification.columns.observation import ObservationModel
from pkm_identification.diagnosis.arrangement import (
    arrangement,
    dead_drives,
    drop_outs,
    outlier_findings,
    outliers,
    without,
)
from pkm_identification.motion_source.filters import derivatives, excitation_band, low_pass, settling_samples
from pkm_identification.recording.recording import Recording

#: samples that read the same extreme number, and how many times more than read the next one
_SAME, _PILED = 10, 5.0
#: s, least time at the largest effort; part of the drive's own limit from which a plateau is that limit
_PLATEAU, _LIMIT = 0.02, 0.98
#: condition number of the map from drives to platform that is named: absolute, and of that at home
_LARGE, _OF_HOME = 50.0, 5.0
#: part of it from which efforts are not judged: they hang on details of the geometry
_CAREFUL = 0.3
#: s, from which efforts are judged, and part of the recording that must say something
SHORTEST, _LEAST = 3.0, 0.2
#: force band, in excitation bands, and its least, Hz; motion band, in force bands; poses per period of the force band
_BANDS, _LEAST_BAND, _MOTION, _POSES = 2.5, 5.0, 2.0, 16.0
#: poses at which the machine is fitted to efforts in another order
_FITTED = 300
#: poses at which a machine is compared with its mirror image, and part of the forces by which they may differ
_MIRRORED, _EXACTLY = 20, 1e-3


def diagnose(machine: Machine, recording: Recording) -> list[Finding]:
    """Look for faults of drivers and drives in a recording.

    Wrong masses (tens of percent), friction of another law, a delay of the efforts, biases and noise are no faults:
    that is what an identification finds out.

    Parameters
    ----------
    machine : nominal machine
    recording : positions and efforts of its drives, some seconds of motion at least

    Returns
    -------
    list of Finding
        The gravest first; empty if all is well.

    Raises
    ------
    RecordingError
        Another number of drives than the machine has.
    """
    recording.require_drives(machine)
    dead, findings = dead_drives(machine, recording)
    if dead.all():
        return findings
    findings += drop_outs(machine, recording, dead)
    jumps = outliers(recording.drive_positions, 'position')
    findings += outlier_findings(machine, 'position', recording.drive_positions, jumps)
    # the corner where a signal is cut off is no outlier
    cut = clipped(recording.forces)
    spikes = outliers(recording.forces, 'effort') & ~maximum_filter(cut, size=(5, 1))
    findings += outlier_findings(machine, 'effort', recording.forces, spikes)
    findings += saturation_findings(machine, recording, cut)
    clean = replace(
        recording, drive_positions=without(recording.drive_positions, jumps), forces=without(recording.forces, spikes)
    )
    if recording.duration < SHORTEST:
        what = f'{recording.duration:.2f} s are too short to judge the efforts'
        findings.append(Finding('motion', State.CANNOT_TELL, (), what, f'record at least {SHORTEST:g} s of motion'))
        return findings
    try:
        model = nominal_forces(machine, clean)
        condition, home = conditioning(model)
        findings += singular_findings(model.motion.time, condition, home)
        if not dead.any():
            findings += _of_efforts(model, condition <= _CAREFUL * max(_LARGE, _OF_HOME * home))
    except PkmError as error:
        what = f'no motion of the machine belongs to this recording: {error}'
        remedy = 'check_robot compares positions with the machine file: units, order, signs, zeros'
        findings.append(Finding('motion', State.CANNOT_TELL, (), what, remedy))
    order = list(State)
    return sorted(findings, key=lambda finding: order.index(finding.state))


@dataclass(frozen=True)
class NominalForces:
    """What the nominal machine should need at some poses of a recording.

    Attributes
    ----------
    machine : nominal
    motion : of the platform at the poses
    positions : (n, A) of the drives
    forces, efforts : (n, A) of the machine, and as they were measured, below the force band
    """

    machine: Machine
    motion: PlatformMotion
    positions: Array
    forces: Array
    efforts: Array


def nominal_forces(machine: Machine, recording: Recording) -> NominalForces:
    """Forces along the smoothed motion of a recording.

    Raises
    ------
    KinematicsError, RecordingError
        Positions that close no pose, or that show no motion.
    """
    rate, time = recording.sample_rate, recording.time
    band = excitation_band(recording.drive_positions, rate)
    cutoff = min(max(_BANDS * band, _LEAST_BAND), 0.2 * rate)
    smooth = low_pass(recording.drive_positions, rate, _MOTION * cutoff)
    rates, accelerations = derivatives(time, smooth)
    # the filter's starts are left out at both ends
    edge = settling_samples(rate, _MOTION * cutoff)
    places = np.arange(edge, len(time) - edge, max(1, int(rate / (_POSES * cutoff))))
    motion = motion_from_drives(machine, time[places], smooth[places], rates[places], accelerations[places])
    forces = inverse_dynamics(machine, motion, sign_smoothing=float(0.02 * np.sqrt(np.mean(rates**2))))
    efforts = low_pass(recording.forces, rate, _MOTION * cutoff)[places]
    return NominalForces(machine, motion, smooth[places], forces, efforts)


def _of_efforts(model: NominalForces, good: NDArray[np.bool_]) -> list[Finding]:
    """Unit, sign and order of the efforts, at poses (n,) that are not nearly singular."""
    if np.mean(good) < _LEAST:
        what = 'beside nearly singular poses too little of the motion is left to judge the efforts'
        return [Finding('motion', State.CANNOT_TELL, (), what, 'record a motion away from such poses')]
    chosen = np.flatnonzero(good)[:: max(1, int(np.count_nonzero(good) / _FITTED))]

    def misfit(order: Array, signs: Array) -> float:
        own = model.efforts[chosen][:, order] * signs
        columns = ObservationModel(model.machine).regressor(model.motion[chosen])[0]
        flat = columns.reshape(-1, columns.shape[-1])
        left = own - columns @ np.linalg.lstsq(flat, own.ravel(), rcond=1e-10)[0]
        return float(np.mean(np.std(left, axis=0) / np.std(own, axis=0)))

    order, findings = arrangement(model.machine, model.forces[good], model.efforts[good], misfit)
    if (order != np.arange(len(order))).any() and _is_mirrored(model, order):
        return [_with_positions(one) if one.code == 'effort_order' else one for one in findings]
    return findings


def _is_mirrored(model: NominalForces, order: Array) -> bool:
    """Whether the machine with drives in another order is its mirror image.

    Then positions in that order are the mirrored motion, whose forces are the mirrored ones: right efforts with swapped
    positions are the same numbers as swapped efforts with right positions.
    """
    time = model.motion.time
    places = np.linspace(0, len(time) - 1, _MIRRORED).astype(int)
    rates = np.gradient(model.positions, time, axis=0)
    curve = [values[places] for values in (model.positions, rates, np.gradient(rates, time, axis=0))]
    forces = []
    for columns in (np.arange(len(order)), order):
        try:
            motion = motion_from_drives(model.machine, time[places], *(values[:, columns] for values in curve))
        except PkmError:  # in that order no pose belongs to them
            return False
        forces.append(inverse_dynamics(model.machine, motion, friction=False))
    return bool(np.abs(forces[1] - forces[0][:, order]).max() < _EXACTLY * np.abs(forces[0]).max())


def _with_positions(finding: Finding) -> Finding:
    """Swapped efforts that swapped positions would look like."""
    sentence = (
        f'{finding.sentence}. Or their positions are swapped: with these drives exchanged the machine is its own '
        'mirror image, so no motion tells which'
    )
    return replace(finding, sentence=sentence, remedy=f'look which of both is wrong; {finding.remedy}')


def conditioning(model: NominalForces) -> tuple[Array, float]:
    """Condition numbers (n,) of the map from drives to platform at the model's poses, and that at home."""
    machine = model.machine
    at_home = drive_positions(machine, machine.home.position, machine.home.rotation_base_platform)
    found = forward_kinematics(machine, np.concatenate([model.positions, at_home[None]])).condition
    found = np.nan_to_num(found, nan=np.inf)
    return found[:-1], float(found[-1])


def singular_findings(time: Array, condition: Array, home: float) -> Iterator[Finding]:
    """Where the drives hardly determine the motion of the platform: times and condition numbers (n,), that at home."""
    worst, limit = int(np.argmax(condition)), max(_LARGE, _OF_HOME * home)
    if condition[worst] > limit:
        seconds = float(np.count_nonzero(condition > limit) * np.median(np.diff(time)))
        yield Finding(
            'singular_pose', State.SUSPICIOUS, (),
            f'the motion passes a nearly singular pose at {time[worst]:.2f} s: condition number '
            f'{condition[worst]:.3g}, at home {home:.3g}; {seconds:.2g} s are beyond {limit:.3g}',
            'plan an excitation that stays away from it (inspect_machine shows the condition number), or leave this '
            'part of the recording out',
            {'condition': float(condition[worst]), 'time_s': float(time[worst]), 'seconds': seconds},
        )  # fmt: skip


def clipped(efforts: Array) -> NDArray[np.bool_]:
    """Samples (N, A) at an extreme number that piles up, as no signal with noise does: a clipped signal."""
    found = np.zeros(efforts.shape, dtype=bool)
    for drive, column in enumerate(efforts.T):
        levels, counts = np.unique(column, return_counts=True)
        if len(levels) < 3:
            continue
        for place, neighbour in ((-1, -2), (0, 1)):
            if counts[place] >= _SAME and counts[place] > _PILED * counts[neighbour]:
                found[:, drive] |= column == levels[place]
    return found


def plateaus(efforts: Array, rate: float) -> NDArray[np.bool_]:
    """Samples (N, A) that stay near the largest or the least effort: of peaks, or of saturation below the noise."""
    found = np.zeros(efforts.shape, dtype=bool)
    for drive, column in enumerate(efforts.T):
        noise = 1.4826 * np.median(np.abs(np.diff(column, n=2))) / np.sqrt(6.0)
        width = 6.0 * noise + 1e-6 * np.ptp(column)
        for near in (column > column.max() - width, column < column.min() + width):
            for start, stop in runs_of(near):
                found[start:stop, drive] |= stop - start >= _PLATEAU * rate
    return found


def saturation_findings(machine: Machine, recording: Recording, cut: NDArray[np.bool_]) -> Iterator[Finding]:
    """Drives whose effort is clipped, see :func:`clipped` for ``cut`` (N, A), or stays at the limit of the drive."""
    efforts, rate = recording.forces, recording.sample_rate
    flat = plateaus(efforts, rate)
    for drive, label in enumerate(machine.drive_labels):
        largest = machine.actuated_joints[drive].limits.effort
        exact = bool(cut[:, drive].any())
        here = cut[:, drive] if exact else flat[:, drive] & (np.abs(efforts[:, drive]) > _LIMIT * largest)
        if exact or np.count_nonzero(here) > _PLATEAU * rate:
            level, seconds = float(np.mean(np.abs(efforts[here, drive]))), float(np.count_nonzero(here) / rate)
            yield Finding(
                'effort_saturation', State.WRONG, (label,),
                f'the effort of {label} stays at {level:.4g} for {seconds:.2g} s in all (the limit of the drive is '
                f'{largest:.4g}): saturation of drive or sensor',
                'scale the motion down, raise the limit of drive or measuring range, or leave these samples out',
                {'level': level, 'seconds': seconds},
            )  # fmt: skip
