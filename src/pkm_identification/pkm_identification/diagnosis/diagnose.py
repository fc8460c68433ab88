"""All checks of a recording, each on what those before it have mended."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.dynamics import inverse_dynamics
from pkm_description.errors import Finding, PkmError, State
from pkm_description.kinematics import drive_positions, forward_kinematics, motion_from_drives
from pkm_description.machine import Machine
from scipy.ndimage import maximum_filter

from pkm_identification.diagnosis.arrangement import (
    arrangement,
    dead_drives,
    drop_outs,
    named,
    outlier_findings,
    outliers,
    runs_of,
    without,
)
from pkm_identification.diagnosis.force_model import ForceModel, force_model, rows_of
from pkm_identification.diagnosis.joint_fit import JointFit, joint_fit, ripple_findings, ripples
from pkm_identification.recording.recording import Recording

#: samples that read the same extreme number, and how many times more than read the next one
_SAME, _PILED = 10, 5.0
#: s, least time at the largest effort, and least lack of effort there, of the effort's range
_PLATEAU, _EXCESS = 0.02, 0.03
#: part of the drive's own limit from which a plateau is that limit
_LIMIT = 0.98
#: least error of a gain that is named, and in its standard deviations; the least one that must be told
_GAIN, _GAIN_SIGMAS, _GAIN_TOLD = 0.08, 5.0, 0.2
#: the same in deviations by what the bodies leave open
_GAIN_SLACKS = 3.0
#: what tells more
_LIVELIER = 'record a motion in which every drive has several frequencies and large accelerations (design_excitation)'
#: condition number of the map from drives to platform that is named: absolute, and of that at home
_LARGE, _OF_HOME = 50.0, 5.0
#: part of it from which efforts are not judged: they hang on details of the geometry
_CAREFUL = 0.3
#: s, by which efforts may be late for their bad samples to be left out
_LATEST = 0.01

#: s, from which efforts are judged, and part of the recording that must say something
SHORTEST, _LEAST = 3.0, 0.2

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
    spikes = outliers(recording.forces, 'effort') & ~maximum_filter(clipped(recording.forces), size=(5, 1))
    findings += outlier_findings(machine, 'effort', recording.forces, spikes)
    clean = replace(
        recording,
        drive_positions=without(recording.drive_positions, jumps),
        forces=without(recording.forces, spikes),
    )
    if recording.duration < SHORTEST:
        what = f'{recording.duration:.2f} s are too short to judge the efforts'
        findings.append(Finding('motion', State.CANNOT_TELL, (), what, f'record at least {SHORTEST:g} s of motion'))
        return findings
    try:
        model = force_model(machine, clean)
        poses = conditioning(machine, model)
        findings += singular_findings(poses)
        if not dead.any():
            findings += _of_efforts(machine, clean, model, spikes, poses.is_poor_at(recording.time))
    except PkmError as error:
        what = f'no motion of the machine belongs to this recording: {error}'
        remedy = 'check_robot compares positions with the machine file: units, order, signs, zeros'
        findings.append(Finding('motion', State.CANNOT_TELL, (), what, remedy))
    order = list(State)
    return sorted(findings, key=lambda finding: order.index(finding.state))


def _of_efforts(
    machine: Machine, recording: Recording, model: ForceModel, spikes: NDArray[np.bool_], poor: NDArray[np.bool_]
) -> list[Finding]:
    """Findings that need what the machine should need.

    Parameters
    ----------
    spikes : (N, A) outliers of the efforts
    poor : (N,) samples near singular poses
    """
    if np.mean(poor) > 1.0 - _LEAST:
        return [_too_little()]
    everything = rows_of(model, np.repeat(poor[:, None], machine.actuated_count, axis=1))

    def misfit(order: Array, signs: Array) -> float:
        own = recording.forces[:, order] * signs
        size = _size(model, own)
        fit = joint_fit(model, rows_of(model, model.turning | poor[:, None]), own / size, may_be_late=False)
        return float(np.mean(fit.deviation * size / np.std(own, axis=0)))

    placed = arrangement(machine, everything.of_poses(model.nominal), everything.of_samples(recording.forces), misfit)
    findings = list(placed.findings)
    if not placed.told:
        return findings
    if (placed.order != np.arange(machine.actuated_count)).any() and _is_mirrored(model, placed.order):
        findings = [_with_positions(one) if one.code == 'effort_order' else one for one in findings]
    rate, positions = recording.sample_rate, recording.drive_positions
    efforts = recording.forces[:, placed.order] * placed.factor
    if placed.findings:  # friction is counted in the size of the efforts
        model = force_model(machine, replace(recording, forces=efforts))
    flat, cut = plateaus(efforts, rate), clipped(efforts)
    bad = flat | cut | spikes[:, placed.order]
    # efforts may be late, and then so is what is wrong with them
    unknown = model.turning | poor[:, None]
    left_out = unknown | maximum_filter(bad, size=(2 * round(_LATEST * rate) + 1, 1))
    rows = rows_of(model, left_out)
    if (rows.used.mean(axis=0) < _LEAST).any():
        return [*findings, _too_little()]
    # a slow ripple disturbs gains and delay, so it is taken out first, and looked at again afterwards
    fit = joint_fit(model, rows, efforts, may_be_late=False)
    smooth = efforts.copy()
    for wave in ripples(model, fit, positions, efforts, left_out):
        smooth[:, wave.drive] -= wave.forces
    fit = joint_fit(model, rows, smooth)
    findings += gain_findings(machine, fit)
    # the trough of a ripple at a peak is no saturation
    asked = fit.expected(model) + efforts - smooth
    findings += saturation_findings(model, fit, efforts, asked, flat & ~unknown, cut)
    findings += ripple_findings(machine, ripples(model, fit, positions, efforts, left_out))
    return findings


def _is_mirrored(model: ForceModel, order: Array) -> bool:
    """Whether the machine with drives in another order is its mirror image.

    Then positions in that order are the mirrored motion, whose forces are the mirrored ones: right efforts with swapped
    positions are the same numbers as swapped efforts with right positions.
    """
    places = np.linspace(0, len(model.positions) - 1, _MIRRORED).astype(int)
    rates = np.gradient(model.positions, model.time, axis=0)
    curve = [values[places] for values in (model.positions, rates, np.gradient(rates, model.time, axis=0))]
    forces = []
    for columns in (np.arange(len(order)), order):
        try:
            motion = motion_from_drives(model.machine, model.time[places], *(values[:, columns] for values in curve))
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


def _size(model: ForceModel, efforts: Array) -> float:
    """Efforts (N, A) as multiples of what the nominal machine needs, whatever their unit."""
    return float(np.median(np.std(efforts, axis=0) / np.maximum(np.std(model.nominal, axis=0), 1e-300)))


def _too_little() -> Finding:
    what = 'beside reversals and nearly singular poses too little of the motion is left to judge gains'
    return Finding('motion', State.CANNOT_TELL, (), what, 'record a motion with longer ways, away from such poses')


@dataclass(frozen=True)
class Conditioning:
    """How well the drives determine the motion of the platform.

    Attributes
    ----------
    time : (n,) s
    condition : (n,) condition numbers
    home, limit : that at home, and that from which a pose is nearly singular
    """

    time: Array
    condition: Array
    home: float
    limit: float

    def is_poor_at(self, time: Array) -> NDArray[np.bool_]:
        """Samples (N,) near poses at which efforts are not judged."""
        return np.asarray(np.interp(time, self.time, self.condition) > _CAREFUL * self.limit)


def conditioning(machine: Machine, model: ForceModel) -> Conditioning:
    """Condition numbers at the model's poses."""
    condition = forward_kinematics(machine, model.positions).condition
    at_home = drive_positions(machine, machine.home.position, machine.home.rotation_base_platform)
    home = float(forward_kinematics(machine, at_home[None]).condition[0])
    return Conditioning(model.time, np.nan_to_num(condition, nan=np.inf), home, max(_LARGE, _OF_HOME * home))


def singular_findings(found: Conditioning) -> Iterator[Finding]:
    """Where the drives hardly determine the motion of the platform."""
    worst = int(np.argmax(found.condition))
    if found.condition[worst] > found.limit:
        near = found.condition > found.limit
        seconds = float(np.count_nonzero(near) * np.median(np.diff(found.time)))
        yield Finding(
            'singular_pose', State.SUSPICIOUS, (),
            f'the motion passes a nearly singular pose at {found.time[worst]:.2f} s: condition number '
            f'{found.condition[worst]:.3g}, at home {found.home:.3g}; {seconds:.2g} s are beyond {found.limit:.3g}',
            'plan an excitation that stays away from it (inspect_machine shows the condition number), or leave this '
            'part of the recording out',
            {'condition': float(found.condition[worst]), 'time_s': float(found.time[worst]), 'seconds': seconds},
        )  # fmt: skip


def gain_findings(machine: Machine, fit: JointFit) -> Iterator[Finding]:
    """Drives whose gain is unlike that of the others, and those of which this recording does not tell it."""
    unsure = []
    limits = np.maximum(_GAIN, np.maximum(_GAIN_SIGMAS * fit.gain_std, _GAIN_SLACKS * fit.gain_slack))
    for label, gain, std, limit in zip(machine.drive_labels, fit.gain, fit.gain_std, limits, strict=True):
        if abs(gain - 1.0) <= limit and limit > _GAIN_TOLD:
            unsure.append(label)
        if abs(gain - 1.0) > limit:
            yield Finding(
                'effort_gain', State.WRONG, (label,),
                f'the effort of {label} is {gain:.3f} +- {std:.3f} times what it should be beside the other drives',
                f'calibrate its torque constant or force sensor; driver file: effort: {{scale: {{{label}: '
                f'{1.0 / gain:.4f}}}}}',
                {'gain': float(gain), 'gain_std': float(std)},
            )  # fmt: skip
    if unsure:
        least = float(limits.max())
        yield Finding(
            'effort_gain', State.CANNOT_TELL, tuple(unsure),
            f'gains of {named(unsure)} cannot be told beside the others: friction and each drive alone are nearly all '
            f'of the force; an error below {100.0 * least:.0f} % would not be seen', _LIVELIER, {'least': least},
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


def saturation_findings(
    model: ForceModel, fit: JointFit, efforts: Array, asked: Array, flat: NDArray[np.bool_], cut: NDArray[np.bool_]
) -> Iterator[Finding]:
    """Drives whose effort is clipped, or stays at its largest while the fitted machine asks for more.

    Parameters
    ----------
    asked : (N, A) what the fitted machine asks for, ripples included
    flat, cut : (N, A) of :func:`plateaus`, where friction is known, and of :func:`clipped`
    """
    rate = model.sample_rate
    inside = np.zeros(len(efforts), dtype=bool)
    inside[model.places[0] : model.places[-1] + 1] = True
    for drive, label in enumerate(model.machine.drive_labels):
        exact = bool(cut[:, drive].any())
        here = cut[:, drive] if exact else flat[:, drive] & inside
        if not exact and np.count_nonzero(here) < _PLATEAU * rate:
            continue
        column, within = efforts[here, drive], inside[here]
        lacking = (asked[here, drive] - column) * np.sign(column)
        lack = float(np.mean(lacking[within])) if within.any() else 0.0
        largest = model.machine.actuated_joints[drive].limits.effort
        limited = np.abs(column) > _LIMIT * largest
        at_limit = np.count_nonzero(limited) > _PLATEAU * rate
        if at_limit:  # of a largest and a least effort, the one that is the limit
            here, column = here & (np.abs(efforts[:, drive]) > _LIMIT * largest), column[limited]
        level = float(np.mean(np.abs(column)))
        if exact or at_limit or lack > max(_EXCESS * np.ptp(efforts[:, drive]), 4.0 * fit.deviation[drive]):
            seconds = float(np.count_nonzero(here) / rate)
            needed = f'about {lack:.3g} more is needed' if lack > 0.0 else f'the limit of the drive is {largest:.4g}'
            yield Finding(
                'effort_saturation', State.WRONG, (label,),
                f'the effort of {label} stays at {level:.4g} for {seconds:.2g} s in all, where {needed}: '
                'saturation of drive or sensor',
                'scale the motion down, raise the limit of drive or measuring range, or leave these samples out',
                {'level': level, 'seconds': seconds, 'lacking': lack},
            )  # fmt: skip
