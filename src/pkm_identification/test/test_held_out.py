"""Verdict on held-out data: declared limits, the machine as delivered, training data refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from known_machines import known_machine
from pkm_description.dynamics import inverse_dynamics
from pkm_description.errors import ConfigurationError
from pkm_description.friction_laws import ViscousCoulomb
from pkm_description.loading import load_machine
from pkm_description.machine import Machine
from pkm_description.machine.machine import with_friction
from pkm_identification.columns.observation import ObservationModel, observation_model
from pkm_identification.configuration import ColumnSettings, IdentificationConfig, JudgementSettings
from pkm_identification.errors import RecordingError
from pkm_identification.fitting.prediction import predicted_efforts
from pkm_identification.judgement.force_error import force_error
from pkm_identification.pipeline import identify
from pkm_identification.preparation import prepare
from pkm_identification.report.files import write_overlay
from pkm_identification.result import IdentificationResult
from pkm_identification.validation.delivered import delivered_machine, direct_dynamics
from pkm_identification.validation.held_out import (
    FAILED,
    NOT_JUDGED,
    PASSED,
    compare_forces,
    judge,
    require_other_data,
)
from synthetic import clean_signals, recording

#: ask for direct dynamics
WINDOWS = JudgementSettings(direct_window=0.1)


def test_figures_by_their_definitions() -> None:
    """Mata, Eq. 33, and NRMS, written out with loops."""
    random = np.random.default_rng(0)
    measured, predicted = random.normal(size=(2, 50, 3)) + 5.0
    error = force_error(measured, predicted)
    differences = variations = 0.0
    for drive in range(3):
        mean = sum(measured[:, drive]) / 50
        differences += sum(abs(measured[i, drive] - predicted[i, drive]) for i in range(50))
        variations += sum(abs(measured[i, drive] - mean) for i in range(50))
    assert error.relative_absolute == pytest.approx(differences / variations, rel=1e-12)
    spans = [max(column) - min(column) for column in measured.T]
    total = np.sqrt(np.mean((measured - predicted) ** 2))
    assert error.normalised_rms == pytest.approx(total / max(spans), rel=1e-12)
    assert error.normalised_rms_of_drives[1] == pytest.approx(error.rms[1] / spans[1], rel=1e-12)


def test_unused_samples_count_for_nothing() -> None:
    random = np.random.default_rng(1)
    measured, predicted = random.normal(size=(2, 40, 2))
    used = np.ones((40, 2), dtype=bool)
    used[30:] = False
    spoilt = measured.copy()
    spoilt[30:] += 1e6
    first, second = force_error(spoilt, predicted, used), force_error(measured[:30], predicted[:30])
    assert first.relative_absolute == pytest.approx(second.relative_absolute)
    assert first.span == pytest.approx(second.span)
    used[:, 1] = False
    assert np.isnan(force_error(measured, predicted, used).relative_absolute_of_drives[1])


def test_without_limits_nothing_is_judged(result: IdentificationResult) -> None:
    assert result.verdict.status == NOT_JUDGED
    assert 'no limit is declared' in str(result.verdict)


@pytest.mark.parametrize('name', ['max_relative_absolute', 'max_normalised_rms', 'max_rms'])
def test_limits_decide(result: IdentificationResult, name: str) -> None:
    """A limit just above and just below the figure."""
    assert result.validation is not None and result.validation.delivered is not None
    assert result.delivered is not None
    error = result.validation.delivered.filtered_error
    labels = result.machine.drive_labels
    figure = {
        'max_relative_absolute': error.relative_absolute, 'max_normalised_rms': error.normalised_rms,
        'max_rms': float(error.rms.max()),
    }[name]  # fmt: skip
    for factor, status in ((1.01, PASSED), (0.99, FAILED)):
        limits = JudgementSettings(**{name: factor * figure})
        verdict = judge(result.validation, result.training, result.delivered, limits, labels)
        assert verdict.status == status
        assert verdict.figures[0].value == figure
    assert judge(None, result.training, result.delivered, limits, labels).status == NOT_JUDGED
    refused = replace(result.delivered, problem='it does not load')
    assert judge(None, result.training, refused, limits, labels).status == FAILED
    assert judge(result.validation, result.training, None, limits, labels).status == FAILED


def test_delivered_is_what_the_files_give(result: IdentificationResult, srs: Machine, written: Path) -> None:
    """The machine that is judged is the one that a user loads, to the last digit of the forces."""
    loaded = load_machine('srs', written / 'overlay.yaml')
    assert result.delivered is not None and result.delivered.from_files and not result.delivered.lost
    motion = clean_signals(loaded, 'fourier_validation', 6.0, 50.0, 5)[0]
    forces = inverse_dynamics(loaded, motion)
    assert np.array_equal(forces, inverse_dynamics(result.delivered.machine, motion))
    assert result.identified_machine is not None
    scale = np.sqrt(np.mean(forces**2))
    assert np.abs(forces - inverse_dynamics(result.identified_machine, motion)).max() < 1e-9 * scale
    assert np.sqrt(np.mean((forces - inverse_dynamics(srs, motion)) ** 2)) < 0.003 * scale
    assert 'leg_chain.prismatic.friction.coulomb.leg6' in (written / 'overlay.yaml').read_text()
    assert result.validation is not None and result.validation.delivered is not None
    fitted, given = result.validation.fitted, result.validation.delivered
    # the library's inverse dynamics, and the rows of the fit, agree as well as the trust in the drawings lets them
    assert given.filtered_error.relative == pytest.approx(fitted.filtered_error.relative, rel=0.3)
    assert given.error.relative == pytest.approx(fitted.error.relative, rel=0.02)


def test_a_wrong_overlay_is_found_out(result: IdentificationResult, nominal: Machine, validation: tuple) -> None:
    """An overlay with the wrong platform: the base parameters predict well, the verdict is the overlay's."""
    config = result.config
    data = prepare(result.model, recording(nominal, validation, 2), config, result.bands)
    assert result.delivered is not None and result.validation is not None
    spoilt = replace(result.delivered, machine=nominal)
    parameters = result.model.complete(result.physical.values)
    comparison = compare_forces(
        data, result.model, parameters, predicted_efforts(result.model, data, parameters), spoilt
    )
    assert comparison.filtered_error.relative == pytest.approx(result.validation.filtered_error.relative, rel=0.2)
    for limits in (JudgementSettings(max_relative_absolute=0.01), JudgementSettings()):
        verdict = judge(comparison, result.training, spoilt, limits, nominal.drive_labels)
        assert verdict.status == FAILED and 'beside the fit' in verdict.reason
        assert 'keep_base_values' in verdict.reason


@pytest.mark.usefixtures('fit_alone')
@pytest.mark.parametrize(('term', 'status'), [('offset', PASSED), ('spring', FAILED)])
def test_the_overlay_carries_offsets_and_names_what_it_does_not(
    srs: Machine, short: tuple, validation: tuple, tmp_path: Path, term: str, status: str
) -> None:
    """Springs are in parameters.yaml only: with them the limits would be kept, and that is said."""
    signals, others = (
        (one[0], one[1], one[2] + (60.0 * np.arange(6) if term == 'offset' else 500.0 * one[1]))
        for one in (short, validation)
    )
    config = IdentificationConfig.from_mapping({
        'columns.terms': (term,), 'columns.extend': False, 'judgement.max_relative_absolute': 0.02,
    })  # fmt: skip
    found = identify(srs, recording(srs, signals, 1), recording(srs, others, 2), config)
    assert found.verdict.status == status
    if term == 'offset':
        path = write_overlay(found, tmp_path / 'overlay.yaml')
        offsets = [joint.friction.law.offset for joint in load_machine('srs', path).actuated_joints]
        assert np.ptp(np.diff(offsets)) < 60.0 < np.ptp(offsets)
    else:
        assert all(text in found.verdict.reason for text in ('does not carry a spring', 'with it the limits are kept'))
        assert found.validation is not None and found.validation.with_the_rest is not None
        assert found.validation.with_the_rest.filtered_error.relative_absolute < 0.02
        assert str(found.verdict) in found.warnings


def test_training_data_are_refused(srs: Machine, nominal: Machine, excitation: tuple) -> None:
    whole = recording(srs, excitation, 1)
    with pytest.raises(RecordingError, match='2501 of its 2501 samples'):
        identify(nominal, whole, recording(srs, excitation, 1, 'the same again'))
    part = replace(
        whole, time=whole.time[1800:] - whole.time[1800], drive_positions=whole.drive_positions[1800:],
        forces=whole.forces[1800:],
    )  # fmt: skip
    with pytest.raises(RecordingError, match='record one, or choose intervals'):
        require_other_data(whole, part)
    # resampled on another grid, the samples differ; the file and the time do not
    with pytest.raises(RecordingError, match=r'share 7 s of /bags/run'):
        require_other_data(
            replace(whole, origin='/bags/run'),
            replace(part, origin='/bags/run', forces=part.forces + 1.0, start_stamp=whole.start_stamp + 18 * 10**9),
        )
    require_other_data(whole, recording(srs, excitation, 2))  # the same motion, recorded again: other noise


@pytest.mark.usefixtures('fit_alone')
@pytest.mark.parametrize(
    ('name', 'profile', 'limit'),
    [('srs', 'fourier', 0.01), pytest.param('valencia_3rps', 'drives', 0.3, marks=pytest.mark.campaign)],
)
def test_direct_dynamics(name: str, profile: str, limit: float) -> None:
    """The true machine moves as it was recorded; with other efforts it does not."""
    machine = known_machine(name)
    signals = clean_signals(machine, profile, 8.0, 200.0, 0)
    settings = IdentificationConfig(columns=ColumnSettings(extend=False), judgement=WINDOWS)
    found = identify(machine, recording(machine, signals, 1), config=settings)
    assert found.direct is not None and found.direct.count > 50
    assert found.direct.worst < limit
    assert 'direct dynamics' in str(found.direct)
    config = IdentificationConfig()
    model = observation_model(machine, config, signals[1], 200.0)
    data = prepare(model, recording(machine, signals, 1), config)
    right = direct_dynamics(machine, data, np.zeros_like(signals[2]), 0.1)
    assert right.worst == pytest.approx(found.direct.worst, rel=0.3)
    wrong = direct_dynamics(machine, data, 0.2 * signals[2], 0.1)  # four fifths of the efforts
    assert np.all(wrong.relative > 2.0 * right.relative)
    with pytest.raises(ConfigurationError, match='choose a shorter one'):
        direct_dynamics(machine, data, np.zeros_like(signals[2]), 30.0)


def test_a_machine_that_is_not_its_file(srs: Machine) -> None:
    """Another friction law than the file's is written with its name; other legs than the file's are said to be so."""
    machine = known_machine('khalifa_3prr')
    law = ViscousCoulomb(viscous=30.0, coulomb=20.0)
    rubbing = with_friction(machine, lambda one: replace(one.friction, law=law) if one.actuated else one.friction)
    model = ObservationModel(machine)
    delivered = delivered_machine(model, rubbing)
    assert delivered.from_files
    assert [joint.friction.law for joint in delivered.machine.actuated_joints] == [law] * 3
    other = delivered_machine(model, replace(machine, path=srs.path, name='srs'))
    assert not other.from_files and 'does not fit' in other.problem
    assert not delivered_machine(model, replace(machine, path=Path('/nowhere'))).from_files
