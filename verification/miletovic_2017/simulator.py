"""S3-41 to S3-46: motions, sensor effects, truths, Monte-Carlo."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike
from pkm_description.kinematics import leg_lengths
from pkm_description.kinematics.rotation import rotation_log, rpy_from_matrix
from pkm_description.motion.profiles import RollPitchSines
from pkm_description.motion.recorded_poses import RPY_COLUMNS, RecordedPoses
from pkm_estimation.sensors import SensorConditions, imu_truth, simulate_sensors

from verification.check import Check, at_most, equal, holds, near, within
from verification.miletovic_2017.data import NEUTRAL_LENGTH, D
from verification.miletovic_2017.filter_run import in_band, mean_nis, pooled_rms
from verification.miletovic_2017.pipeline_run import Laboratory, simulated
from verification.miletovic_2017.scenario import INTERVAL, PRINTED, RATE, Scenario, machine_named, profile_named


def first_profile(lab: Laboratory) -> Iterator[Check]:
    """S3-41, in the paper's axes, after the lead-in."""
    machine = machine_named('centred')
    motion = profile_named('centred', 'mp1')(np.arange(10.0, 110.0, INTERVAL))
    position = (motion.position - machine_named('centred').home.position) @ D
    rotation = D @ motion.rotation_base_platform @ D
    rates = np.squeeze((motion.angular_velocity @ D)[:, None] @ rotation, axis=1)
    yield near('S3-41', 'radius of the circle', 0.5, float(np.linalg.norm(position[:, :2], axis=1).mean()), 1e-9, 'm')
    yield at_most('S3-41', 'height', 1e-12, position[:, 2], 'm')
    angle = np.unwrap(np.arctan2(position[:, 1], position[:, 0]))
    yield near('S3-41', 'period of the circle', 5.0, 2 * np.pi / float(np.polyfit(motion.time, angle, 1)[0]), 1e-9, 's')
    yield near('S3-41', 'position angle at 20 s', -90.0, float(np.degrees(angle[1000] - 4 * np.pi)), 1e-6, 'deg')
    yield near('S3-41', 'amplitude of p', 10.0, float(np.degrees(rates[:, 0].max())), 1e-3, 'deg/s')
    yield at_most('S3-41', 'p - q, and r', 1e-12, [*(rates[:, 0] - rates[:, 1]), *rates[:, 2]], 'rad/s')
    crossings = motion.time[1:][(rates[:-1, 0] < -1e-9) & (rates[1:, 0] >= -1e-9)]
    yield near('S3-41', 'period of the rates', 2.5, float(np.diff(crossings).mean()), 1e-3, 's')
    roll, pitch, yaw = rpy_from_matrix(rotation).T
    yield at_most('S3-41', 'yaw - roll x pitch / 2 (Table 2)', 2e-4, yaw - roll * pitch / 2, 'rad')
    lengths = leg_lengths(machine, motion.position, motion.rotation_base_platform)
    travel = float(np.abs(lengths - NEUTRAL_LENGTH).max())
    yield within('S3-41', 'largest leg travel from neutral', 0.30, 0.40, travel, 'm')


def second_profile(lab: Laboratory) -> Iterator[Check]:
    """S3-42: the surrogate (the recording is not public), and a file in its place."""
    machine = machine_named('centred')
    motion = profile_named('centred', 'mp2')(np.arange(0.0, 120.0, INTERVAL))
    rates = np.squeeze((motion.angular_velocity @ D)[:, None] @ (D @ motion.rotation_base_platform @ D), axis=1)
    yield at_most('S3-42', 'MP2 surrogate: roll rate', 0.16, rates[:, 0], 'rad/s')
    lengths = leg_lengths(machine, motion.position, motion.rotation_base_platform)
    travel = np.abs(lengths - NEUTRAL_LENGTH).max()
    yield within('S3-42', 'MP2 surrogate: largest leg travel', 0.095, 0.125, float(travel), 'm')
    title = (RollPitchSines.__doc__ or '').split(':')[0]
    yield equal('S3-42', 'labelled', 'MP2 surrogate', title)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / 'recorded.csv'
        table = np.column_stack([motion.time, motion.position, rpy_from_matrix(motion.rotation_base_platform)])
        np.savetxt(path, table[:3000], delimiter=',', header=','.join(RPY_COLUMNS), comments='', fmt='%.15g')
        between = np.arange(5.003, 25.0, INTERVAL)
        recorded, true = RecordedPoses.from_csv(path).evaluate(between), profile_named('centred', 'mp2')(between)
    yield at_most('S3-42', 'recorded file: positions between its samples', 1e-9, recorded.position - true.position, 'm')
    difference = recorded.acceleration - true.acceleration
    yield at_most('S3-42', 'recorded file: accelerations', 1e-3, difference, '(m,rad)/s^2')


def imu_at_any_point(lab: Laboratory) -> Iterator[Check]:
    """S3-43: against differences of the point's positions and attitudes (error of order h^4)."""
    gravity, step = machine_named('srs').gravity, 2e-3
    for motion in ('mp1', 'mp2'):
        evaluate, time = profile_named('srs', motion), np.arange(12.0, 17.0, INTERVAL)
        for arm in (np.array([-0.305, 0.0, 0.0105]), np.array([0.5, 0.4, 1.2])):
            force, rate = imu_truth(evaluate(time), gravity, arm, np.eye(3))
            samples = [evaluate(time + k * step) for k in (-2, -1, 0, 1, 2)]
            places = [s.position + s.rotation_base_platform @ arm for s in samples]
            weights = np.array([-1.0, 16.0, -30.0, 16.0, -1.0]) / (12.0 * step**2)
            acceleration = sum((w * place for w, place in zip(weights, places, strict=True)), np.zeros_like(places[0]))
            here = samples[2].rotation_base_platform
            expected = np.squeeze((acceleration - gravity)[:, None] @ here, axis=1)
            yield at_most('S3-43', f'{motion}: specific force at {arm}', 1e-6, force - expected, 'm/s^2')
        turns = [rotation_log(np.swapaxes(here, 1, 2) @ s.rotation_base_platform) for s in samples]
        difference = (8.0 * (turns[3] - turns[1]) - (turns[4] - turns[0])) / (12.0 * step)
        yield at_most('S3-43', f'{motion}: angular rate', 1e-6, rate - difference, 'rad/s')


#: S3-44: effect by effect
EFFECTS: dict[str, dict[str, object]] = {
    'noise': {'noise': True},
    'bias': {'bias': True},
    'heavy tails': {'noise': True, 'heavy_tails': True},
    'averaging IMU': {'averaging': True},
    'delay': {'imu_delay': 0.03},
    'delay by axis': {'imu_delay': (0.01, 0.02, 0.03, 0.02, 0.03, 0.05)},
    'fluctuating delay': {'imu_delay': 0.03, 'imu_delay_fluctuation': 0.005},
    'misalignment': {'imu_misalignment': (0.01, 0.01, -0.01)},
    'bias drift': {'gyroscope_drift': (1e-6, 0.0, 0.0)},
    'leg offsets': {'leg_offsets': 3e-4},
    'bursts': {'burst_std': 1e-4},
    'quantisation': {'accelerometer_step': 1e-3, 'gyroscope_step': 1e-4, 'length_step': 2e-6},
    'random losses': {'imu_loss': 0.05, 'leg_loss': 0.05},
    'gaps': {'imu_gaps': ((3.0, 3.1),), 'leg_gaps': ((5.0, 6.0),)},
}


def sensor_effects(lab: Laboratory) -> Iterator[Check]:
    """S3-44."""
    machine, evaluate = machine_named('srs'), profile_named('srs', 'mp1')
    time = np.arange(0.0, 20.0, INTERVAL)
    off = SensorConditions(noise=False, bias=False)

    def bits(conditions: SensorConditions, seed: int) -> bytes:
        data = simulate_sensors(machine, evaluate, time, conditions, seed)
        return b''.join(getattr(data, name).tobytes() for name in data.__dataclass_fields__)

    ideal = bits(off, 1)
    yield equal('S3-44', 'all effects off: the same bits for any seed', True, ideal == bits(off, 2))
    conditions = {name: replace(off, **settings) for name, settings in EFFECTS.items()}  # type: ignore[arg-type]
    changed = [name for name, one in conditions.items() if bits(one, 1) != ideal]
    yield equal('S3-44', 'effects that can be switched on by themselves', list(EFFECTS), changed)
    repeated = [name for name, one in conditions.items() if bits(one, 1) == bits(one, 1)]
    yield equal('S3-44', 'effects that repeat bit by bit', list(EFFECTS), repeated)
    everything = SensorConditions(**{k: v for settings in EFFECTS.values() for k, v in settings.items()})  # type: ignore[arg-type]
    yield equal('S3-44', 'all at once: bit-identical repeat', True, bits(everything, 1) == bits(everything, 1))
    yield equal('S3-44', 'all at once: another seed, other bits', True, bits(everything, 1) != bits(everything, 2))
    run = simulated(Scenario('srs', duration=5.0))
    yield holds('S3-44', 'stamps', f'every {1 / RATE:g} s', f'{np.ptp(np.diff(run.stamps))} ns apart from that',
                bool((np.diff(run.stamps) == round(1e9 / RATE)).all()))  # fmt: skip


STATES = ('x', 'y', 'z', 'u', 'v', 'w', 'ex', 'ey', 'ez', 'lx', 'ly', 'lz', 'lp', 'lq', 'lr')

#: m, m/s, 1 in 1e-6; m/s^2 in 1e-5; rad/s in 1e-6
SCALES = np.array([1e6] * 9 + [1e5] * 3 + [1e6] * 3)

#: of the prototype: motion, integrator, truth; u [mm/s], z [um], mean NIS, least and greatest share of a leg in band
INTEGRATOR_FIGURES = (
    ('mp1', 'euler', 'exact', 3.0, 14.0, 330.0, 0.11, 0.29),
    ('mp2', 'euler', 'exact', 0.060, 2.3, 96.0, 0.24, 0.58),
    ('mp1', 'heun', 'exact', 0.037, 2.1, 5.40, 0.965, 0.965),
    ('mp1', 'rk4', 'exact', 0.031, 2.1, 5.39, 0.965, 0.965),
    ('mp1', 'euler', 'euler', 0.031, 2.1, 5.46, 0.964, 0.964),
)

#: of the prototype: title, motion, integrator, truth, rms errors of the fifteen states
MONTE_CARLO_FIGURES = (
    ('MP1, Heun, exact truth', 'mp1', 'heun', 'exact',
     (4.6, 5.0, 2.1, 37, 41, 24, 1.10, 1.30, 1.52, 3.8, 1.4, 1.3, 1.5, 2.1, 2.5)),
    ('MP1, Euler, Euler truth', 'mp1', 'euler', 'euler',
     (4.3, 4.8, 2.1, 31, 37, 24, 1.13, 1.32, 1.56, 3.8, 1.4, 0.9, 1.5, 2.1, 2.5)),
    ('MP2 surrogate, Heun', 'mp2', 'heun', 'exact',
     (4.3, 4.8, 1.9, 31, 37, 23, 1.13, 1.28, 1.51, 4.0, 1.4, 1.0, 1.6, 2.1, 2.6)),
)  # fmt: skip
FINAL_SIGMA = (4.5, 4.9, 2.3, 31, 38, 25, 1.18, 1.40, 1.62, 0.70, 0.90, 0.73, 1.6, 1.9, 1.9)

TOLERANCE = 0.15
#: s, left out of the statistics; the runs last 100 s, also in quick mode
SETTLING = 20.0
#: runs of the prototype
PROTOTYPE_RUNS = 6


def truths(lab: Laboratory) -> Iterator[Check]:
    """S3-45: 100 s as the prototype, all its figures; the prototype's surrogate of MP2 had other random phases."""
    for motion, integrator, truth, u, z, nis, least, greatest in INTEGRATOR_FIGURES:
        runs = lab.filters(_runs(motion, integrator, truth)[: 2 if lab.quick else PROTOTYPE_RUNS])
        rms = pooled_rms(runs, SETTLING)
        name = f'{motion}, {integrator}, {truth} truth'
        band = in_band(runs, SETTLING)
        for what, expected, found, unit in (
            ('u', u, 1e3 * rms[3], 'mm/s'),
            ('z', z, 1e6 * rms[2], 'um'),
            ('mean NIS', nis, mean_nis(runs, SETTLING), ''),
            ('least share of a leg in band', least, band.min(), ''),
            ('greatest share of a leg in band', greatest, band.max(), ''),
        ):
            low, high = (1.0 - TOLERANCE) * expected, (1.0 + TOLERANCE) * expected
            yield within('S3-45', f'{name}: {what}, prototype {expected:g}', low, high, float(found), unit)


def monte_carlo(lab: Laboratory) -> Iterator[Check]:
    """S3-46: printed start, six runs like the prototype's.

    A bias hardly changes within a run, so six runs are six samples of it. All else is averaged well within a run.
    """
    rows = MONTE_CARLO_FIGURES[:1] if lab.quick else MONTE_CARLO_FIGURES
    lab.filters([one for _, motion, integrator, truth, _ in rows for one in _runs(motion, integrator, truth)])
    for title, motion, integrator, truth, printed in rows:
        runs = lab.filters(_runs(motion, integrator, truth))
        rms = pooled_rms(runs, SETTLING) * SCALES
        fast, slow = slice(0, 9), slice(9, 15)
        expected, found = np.array(printed), rms
        for group, rows_of_group in (('position, velocity, quaternion', fast), ('biases', slow)):
            what = f"{title}: rms of {group}, off the prototype's, relative"
            note = f'{_row(found[rows_of_group])}; prototype: {_row(expected[rows_of_group])}'
            off = found[rows_of_group] / expected[rows_of_group] - 1.0
            yield at_most('S3-46', what, TOLERANCE, off, note=note)
        text = (
            f'NIS {mean_nis(runs, SETTLING):.2f}, in band '
            f'{100 * in_band(runs, SETTLING).min():.1f} to {100 * in_band(runs, SETTLING).max():.1f} %'
        )
        good = 5.2 <= mean_nis(runs, SETTLING) <= 5.7
        yield holds('S3-46', f'{title}: innovations of {len(runs)} runs', 'NIS 5.2 .. 5.7', text, good)
    runs = lab.filters(_runs('mp1', 'heun', 'exact'))
    sigma = runs[0].std[-1] * SCALES
    good = bool((np.abs(sigma / FINAL_SIGMA - 1.0) <= TOLERANCE).all())
    yield holds('S3-46', "MP1: the filter's own sigma at the end", f'{_row(FINAL_SIGMA)} +- 15 %', _row(sigma), good)
    # the printed start leaves the filter overconfident
    ratios = [float(np.mean([run.error[row, 9] / run.std[row, 9] for run in runs])) for row in (50, 200, 1000)]
    what = 'MP1, printed start: error of bias x over its sigma after 0.5, 2, 10 s, mean of the runs'
    good = bool((np.abs(np.array(ratios) / (50.0, 14.0, 6.0) - 1.0) <= TOLERANCE).all())
    yield holds('S3-46', what, '50 14 6 +- 15 %', _row(ratios), good)


def _row(values: ArrayLike) -> str:
    return ' '.join(f'{value:.3g}' for value in np.asarray(values))


def _runs(motion: str, integrator: str, truth: str) -> list[Scenario]:
    scenario = Scenario(
        motion=motion,
        duration=100.0,
        truth=truth,
        config=replace(PRINTED, integrator=integrator),
        start='printed',
    )
    return [replace(scenario, seed=seed) for seed in range(1, PROTOTYPE_RUNS + 1)]
