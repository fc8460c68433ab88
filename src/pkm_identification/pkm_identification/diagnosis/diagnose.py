"""All checks of a recording, each on what those before it have mended."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.dynamics import inverse_dynamics
from pkm_description.errors import PkmError
from pkm_description.findings import Finding, State
from pkm_description.kinematics import motion_from_drives
from pkm_description.machine import Machine
from scipy.ndimage import maximum_filter

from pkm_identification.diagnosis.arrangement import arrangement
from pkm_identification.diagnosis.drive_faults import delay_findings, gain_findings
from pkm_identification.diagnosis.force_model import ForceModel, force_model
from pkm_identification.diagnosis.joint_fit import joint_fit
from pkm_identification.diagnosis.ripple import ripple_findings, ripples
from pkm_identification.diagnosis.rows import rows_of
from pkm_identification.diagnosis.samples import dead_drives, drop_outs, outlier_findings, outliers, without
from pkm_identification.diagnosis.saturation import clipped, plateaus, saturation_findings
from pkm_identification.diagnosis.singular import conditioning, singular_findings
from pkm_identification.recording.recording import Recording

#: s, by which efforts may be late for their bad samples to be left out
_LATEST = 0.01

#: s, from which efforts are judged, and part of the recording that must say something
SHORTEST, _LEAST = 3.0, 0.2

#: poses at which a machine is compared with its mirror image, and part of the forces by which they may differ
_MIRRORED, _EXACTLY = 20, 1e-3


def diagnose(machine: Machine, recording: Recording) -> list[Finding]:
    """Look for faults of drivers and drives in a recording.

    Wrong masses (tens of percent), friction of another law, biases and noise are no faults: that is what an
    identification finds out.

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
    findings += delay_findings(fit)
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
    what = 'beside reversals and nearly singular poses too little of the motion is left to judge gains and delay'
    return Finding('motion', State.CANNOT_TELL, (), what, 'record a motion with longer ways, away from such poses')
