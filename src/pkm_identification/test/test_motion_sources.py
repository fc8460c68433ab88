"""Every motion source against motions with known derivatives, on machines of several kinds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from known_machines import known_machine
from pkm_description.arrays import Array
from pkm_description.dynamics import inverse_dynamics
from pkm_description.kinematics import drive_positions, joint_motion
from pkm_description.machine import Machine, PlatformMotion
from pkm_description.motion.fourier import FourierCoordinates
from pkm_identification.configuration import MOTION_SOURCES, ColumnSettings, MotionSettings, RowSettings
from pkm_identification.errors import RecordingError
from pkm_identification.excitation.coordinates import coordinates_of
from pkm_identification.motion_source.bands import choose_bands
from pkm_identification.motion_source.by_name import LocalRegression, LowPass, SavitzkyGolay, motion_source
from pkm_identification.motion_source.periods import PeriodMean, find_period, refined_period
from pkm_identification.recording.recording import PlatformPoses, Recording

from pkm_identification import IdentificationConfig, compare_with_truth, identify

BASE, HARMONICS, PERIODS, RATE = 0.2, 5, 3, 200.0
MACHINES = ('srs', 'octopod_8ups', 'valencia_3rps', 'khalifa_3prr', 'five_bar', 'four_rrr', 'delta')
#: largest errors of velocity and acceleration without noise: of the low-pass 3e-5, polynomials smooth more
EXACT = {
    'low_pass': (1e-4, 1e-3), 'fourier': (1e-5, 1e-4), 'periods': (1e-5, 1e-5), 'savitzky_golay': (3e-4, 3e-3),
    'local_regression': (3e-4, 3e-3), 'central_differences': (5e-4, 5e-4), 'estimator': (1e-4, 1e-3),
}  # fmt: skip


def known_motion(machine: Machine, rate: float = RATE, base: float = BASE, fade: float = 0.0) -> PlatformMotion:
    """Periodic motion in the machine's own coordinates, with run-in and run-out of ``fade`` s."""
    coordinates = coordinates_of(machine)
    random = np.random.default_rng(0)
    size = 0.4 * coordinates.scale[:, None] * 2.0 * np.pi * base / HARMONICS
    sine, cosine = (size * random.uniform(-1.0, 1.0, (len(coordinates), HARMONICS)) for _ in range(2))
    series = FourierCoordinates(sine, cosine, base, PERIODS, fade, fade)
    time = np.arange(round((PERIODS / base + 2.0 * fade) * rate)) / rate
    return coordinates.motion(time, *(series.coordinates(time) if fade else series.periodic(time)))


def recorded(
    machine: Machine, motion: PlatformMotion, noise: float = 0.0, effort_noise: float = 0.0, friction: bool = True
) -> Recording:
    random = np.random.default_rng(1)
    positions = drive_positions(machine, motion.position, motion.rotation_base_platform)
    efforts = inverse_dynamics(machine, motion, friction=friction)
    return Recording(
        motion.time,
        positions + noise * random.normal(size=positions.shape),
        efforts + effort_noise * random.normal(size=positions.shape),
        poses=PlatformPoses(motion.time, motion.position, motion.rotation_base_platform),
    )


def errors(machine: Machine, true: PlatformMotion, found: PlatformMotion) -> tuple[float, float]:
    """Errors of the drives' velocities and accelerations from 1 s to 1 s before the end, of their own rms."""
    inner = (true.time > 1.0) & (true.time < true.time[-1] - 1.0)

    def both(motion: PlatformMotion) -> tuple[Array, Array]:
        joints, columns = joint_motion(machine, motion), machine.drive_columns
        return joints.velocities[inner][:, columns], joints.accelerations[inner][:, columns]

    pairs = list(zip(both(found), both(true), strict=True))
    velocity, acceleration = (float(np.sqrt(np.mean((ours - its) ** 2) / np.mean(its**2))) for ours, its in pairs)
    return velocity, acceleration


def settings_of(source: str, base: float = BASE) -> MotionSettings:
    return MotionSettings(source, base_frequency=base, harmonics=15) if source == 'fourier' else MotionSettings(source)


@pytest.mark.parametrize(
    'name',
    [pytest.param(name, marks=() if name == 'srs' else pytest.mark.campaign) for name in MACHINES],
)
def test_sources_follow_a_known_motion(name: str) -> None:
    """Without noise the error is the method's own; with noise every source beats central differences far."""
    machine = known_machine(name)
    motion = known_motion(machine)
    clean, noisy = recorded(machine, motion), recorded(machine, motion, float(machine.leg_sensors.position_noise.max()))
    bands = choose_bands(machine, clean)
    plain = motion_source(MotionSettings('central_differences')).motion(machine, noisy, bands)
    worst = errors(machine, motion, plain.smooth)
    for source in MOTION_SOURCES:
        made = motion_source(settings_of(source)).motion(machine, clean, bands)
        assert made.recording is clean or source == 'periods'
        found = errors(machine, motion, made.smooth)
        assert found[0] < EXACT[source][0] and found[1] < EXACT[source][1], (source, found)
        assert errors(machine, motion, made.lively)[0] < 1e-4, source
        if source != 'central_differences':
            found = errors(machine, motion, motion_source(settings_of(source)).motion(machine, noisy, bands).smooth)
            assert found[0] < 0.3 * worst[0] and found[1] < 0.05 * worst[1], (source, found, worst)


def test_windows_give_the_gain_of_the_low_pass() -> None:
    """A sine at the cut-off frequency comes through at half, far below whole; at the ends, too, there is a value."""
    time = np.arange(4000) / 1000.0
    for kind in (SavitzkyGolay, LocalRegression):
        for degree in (2, 5):
            for frequency, gain in ((20.0, 0.5), (2.0, 1.0)):
                wave = np.sin(2.0 * np.pi * frequency * time)[:, None]
                found = kind(degree).curve(time, wave, 20.0)
                inner = slice(500, -500)
                assert np.abs(found.values - gain * wave)[inner].max() < 0.02, (kind, degree, frequency)
                assert np.isfinite(found.second).all()


def test_local_regression_is_exact_on_its_polynomials_at_uneven_times() -> None:
    random = np.random.default_rng(2)
    time = np.sort(np.arange(400) / 100.0 + 1e-4 * random.uniform(-1.0, 1.0, 400))
    polynomial = np.polynomial.Polynomial(random.normal(size=5))
    found = LocalRegression(4, window=0.4).curve(time, polynomial(time)[:, None], 10.0)
    for order, values in enumerate(found):
        expected = polynomial.deriv(order)(time) if order else polynomial(time)
        assert np.abs(values[:, 0] - expected).max() < 1e-7 * np.abs(expected).max()


def test_a_window_must_hold_the_polynomial() -> None:
    time = np.arange(400) / 100.0
    with pytest.raises(RecordingError, match='a polynomial of degree 5 needs 0.07 s or more'):
        SavitzkyGolay(5, window=0.04).curve(time, time[:, None], 10.0)
    with pytest.raises(RecordingError, match='too few for local polynomials over 601 samples'):
        LocalRegression(5, window=6.0).curve(time, time[:, None], 10.0)


@pytest.mark.parametrize('base', [0.2, 0.21])
def test_period_is_found_between_samples(base: float) -> None:
    """0.21 Hz at 200 Hz is a period of 952.38 samples; the noise is that of the encoders."""
    machine = known_machine('srs')
    positions = recorded(machine, known_motion(machine, base=base), 15e-6).drive_positions
    near = find_period(positions)
    assert near == pytest.approx(RATE / base, abs=0.5)
    assert RATE / refined_period(positions, near) == pytest.approx(base, rel=2e-6)


@pytest.mark.parametrize('base', [0.2, 0.21])
@pytest.mark.parametrize('given', [True, False])
def test_averages_are_better_by_the_root_of_the_periods(base: float, given: bool) -> None:
    """R4-32: mean over M periods better by sqrt(M) within 10 %, and the variances are those of the noise."""
    machine = known_machine('srs')
    motion = known_motion(machine, base=base)
    recording = recorded(machine, motion, 2e-5, 3.0, friction=False)  # it jumps between samples
    found = PeriodMean(base if given else 0.0).motion(machine, recording, choose_bands(machine, recording))
    mean = found.repeatability
    assert mean is not None and mean.periods == PERIODS and mean.found != given
    assert ('given' if given else 'found') in mean.summary
    exact = known_motion(machine, rate=len(mean.time) * base, base=base)
    clean = recorded(machine, exact, friction=False)
    first = slice(0, len(mean.time))
    off = np.sqrt(np.mean((mean.positions - clean.drive_positions[first]) ** 2))
    assert off * np.sqrt(PERIODS) == pytest.approx(2e-5, rel=0.1 if base == 0.2 else 0.2)
    off = np.sqrt(np.mean((mean.efforts - clean.forces[first]) ** 2))
    assert off * np.sqrt(PERIODS) == pytest.approx(3.0, rel=0.1 if base == 0.2 else 0.2)
    if base == 0.2:  # a cubic spline between samples takes a little of the noise away
        assert mean.position_noise == pytest.approx(np.full(6, 2e-5), rel=0.05)
        assert mean.effort_noise == pytest.approx(np.full(6, 3.0), rel=0.05)


def test_run_in_and_run_out_are_left_out() -> None:
    machine = known_machine('srs')
    motion = known_motion(machine, fade=2.0)
    recording = recorded(machine, motion, 15e-6)
    found = PeriodMean().motion(machine, recording, choose_bands(machine, recording))
    assert found.repeatability is not None
    assert found.repeatability.periods == PERIODS
    assert found.repeatability.base_frequency == pytest.approx(BASE, rel=5e-5)
    assert found.recording.time[0] == pytest.approx(2.0, abs=0.5)
    assert found.recording.time[-1] == pytest.approx(17.0, abs=0.5)
    there = found.recording.time
    whole = np.flatnonzero((there > 2.0) & (there < 17.0))  # elsewhere the motion is faded
    same = np.searchsorted(motion.time, there[whole] - 1e-9)
    assert errors(machine, motion[same], found.smooth[whole])[0] < 4e-3


@pytest.mark.parametrize(
    ('base', 'samples', 'words'),
    [
        (0.0, slice(0, 1600), 'less than two periods of'),
        (BASE, slice(0, 1900), 'less than two periods of 0.2 Hz'),
        (0.23, slice(0, 3000), 'less than two periods of 0.23 Hz'),
    ],
)
def test_what_does_not_repeat_is_refused(base: float, samples: slice, words: str) -> None:
    machine = known_machine('srs')
    whole = recorded(machine, known_motion(machine), 15e-6)
    bands = choose_bands(machine, whole)
    part = Recording(whole.time[samples], whole.drive_positions[samples], whole.forces[samples], source='half a run')
    with pytest.raises(RecordingError, match=f'half a run: .*{words}'):
        PeriodMean(base).motion(machine, part, bands)


def test_random_motion_is_not_periodic() -> None:
    random = np.random.default_rng(5)
    time = np.arange(4000) / RATE
    walk = LowPass().curve(time, np.cumsum(random.normal(size=(4000, 6)), axis=0), 2.0).values
    recording = Recording(time, walk, np.zeros_like(walk))
    machine = known_machine('srs')
    for source in (PeriodMean(), PeriodMean(0.2)):
        with pytest.raises(RecordingError, match='less than two periods'):
            source.motion(machine, recording, choose_bands(machine, recording))


def test_a_base_frequency_that_is_a_little_off_is_refused() -> None:
    machine = known_machine('srs')
    recording = recorded(machine, known_motion(machine), 15e-6)
    with pytest.raises(RecordingError, match='check motion.base_frequency'):
        PeriodMean(0.2008).motion(machine, recording, choose_bands(machine, recording))


def test_too_many_harmonics_are_refused() -> None:
    machine = known_machine('srs')
    recording = recorded(machine, known_motion(machine))
    with pytest.raises(RecordingError, match='a period has 1000 samples, at most 499 harmonics'):
        PeriodMean(BASE, 500).motion(machine, recording, choose_bands(machine, recording))


def test_a_motion_within_the_dead_band_is_refused() -> None:
    machine = known_machine('srs')
    recording = recorded(machine, known_motion(machine), 15e-6)
    with pytest.raises(RecordingError, match='no rows are left.*faster than 5 m/s'):
        identify(machine, recording, config=IdentificationConfig(rows=RowSettings(dead_band=5.0)))


def test_lost_poses_of_an_estimator_are_named() -> None:
    machine = known_machine('valencia_3rps')
    recording = replace(recorded(machine, known_motion(machine)), poses=None)
    with pytest.raises(RecordingError, match='no platform poses were recorded'):
        identify(machine, recording, config=IdentificationConfig(MotionSettings('estimator')))


@pytest.mark.usefixtures('fit_alone')
@pytest.mark.parametrize('name', ['srs', pytest.param('delta', marks=pytest.mark.campaign)])
@pytest.mark.parametrize(
    'source',
    [
        # at even times local regression is the same
        pytest.param(one, marks=pytest.mark.campaign if one == 'savitzky_golay' else ())
        for one in MOTION_SOURCES
        if one != 'central_differences'
    ],
)
def test_every_source_identifies(source: str, name: str) -> None:
    """Honest standard deviations with each source, and small force errors; friction of the drives is found."""
    machine = known_machine(name)
    motion = known_motion(machine, rate=100.0)
    sensors = machine.leg_sensors
    recording = recorded(machine, motion, float(sensors.position_noise.max()), float(sensors.effort_noise.max()))
    config = IdentificationConfig(settings_of(source), ColumnSettings(extend=False))
    found = identify(machine, recording, config=config)
    assert found.training.filtered_error.relative < 0.01
    rows = [row for row in compare_with_truth(found, machine) if row.status == 'identified']
    assert len(rows) >= 3
    assert max(abs(row.standardised_error) for row in rows) < 5.0
    assert (found.repeatability is not None) == (source == 'periods')
