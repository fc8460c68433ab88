"""What may be wrong with the model of an estimator for long: its signature, its size, and what mends it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import degrees, inf
from typing import NamedTuple

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kinematics.rotation import rotation_exp, rpy_from_matrix
from pkm_description.machine import Leg, Machine, Pose
from pkm_description.machine.sensors import MEMS_ACCELEROMETER_WALK, MEMS_GYROSCOPE_WALK

from pkm_estimation.config import EstimatorConfig
from pkm_estimation.stream.blocks import LegErrors
from pkm_estimation.stream.replay import Window


class Model(NamedTuple):
    """What a replay computes with."""

    machine: Machine
    config: EstimatorConfig
    window: Window


@dataclass(frozen=True)
class Cause:
    """A cause with p parameters, all zero in the present model.

    Attributes
    ----------
    name : in words
    steps : (p,) sizes at which its signature is computed
    apply : the model with the parameters (p,)
    describe : the parameters (p,) in words
    mend : what to do, by the parameters
    of_legs : for a model, what errors of the positions its parameters are to first order, where it is nothing else
    usual : standard deviation of its parameters before anything is measured, where some of them show so little that
        they would come out absurd
    """

    name: str
    steps: Array
    apply: Callable[[Model, Array], Model]
    describe: Callable[[Array], str]
    mend: Callable[[Model, Array], str]
    of_legs: Callable[[Model], LegErrors] | None = None
    usual: float = inf


@dataclass(frozen=True)
class Spread:
    """A cause that makes innovations larger, but says nothing about their direction.

    Attributes
    ----------
    name : in words
    levels : factors to try
    apply, describe, mend : as those of :class:`Cause`, of a factor
    """

    name: str
    levels: Sequence[float]
    apply: Callable[[Model, float], Model]
    describe: Callable[[float], str]
    mend: Callable[[Model, float], str]


def causes(machine: Machine) -> Iterator[Cause]:
    """All causes that have a signature."""
    yield Cause(
        'delay of the IMU', np.array([1e-4]), _later, lambda p: f'{1e3 * p[0]:.2f} ms',
        lambda m, p: f'imu_delay: {m.config.imu_delay + p[0]:.5f}',
    )  # fmt: skip
    yield Cause(
        'clock skew', np.array([1e-4, 1e-5]), _skewed,
        lambda p: f'{1e6 * p[1]:.3g} ppm between the clocks of IMU and legs',
        lambda m, p: f'synchronise the clocks, or estimate: [imu_delay], imu_delay_walk: {max(abs(p[1]), 1e-6):.1g}',
    )  # fmt: skip
    yield Cause(
        'mounting of the IMU', np.full(3, 1e-3), _mounted,
        lambda p: f'turned by {degrees(float(np.linalg.norm(p))):.3g} degrees',
        lambda m, p: f'sensors.imu.rpy: {_list(_rpy(m, p))}',
    )  # fmt: skip
    yield Cause(
        'place of the IMU', np.full(3, 1e-3), _placed, lambda p: f'{1e3 * float(np.linalg.norm(p)):.3g} mm',
        lambda m, p: f'sensors.imu.xyz: {_list(m.machine.imu.position + p)}',
    )  # fmt: skip
    yield Cause(
        'gravity', np.array([1e-3]), _heavier, lambda p: f'{100.0 * p[0]:+.3g} %',
        lambda m, p: f'gravity: {_list((1.0 + p[0]) * m.machine.gravity)}',
    )  # fmt: skip
    yield Cause(
        'base is not level', np.full(2, 1e-3), _tilted, lambda p: f'{degrees(float(np.linalg.norm(p))):.3g} degrees',
        lambda m, p: f'gravity: {_list(_tilt(p) @ m.machine.gravity)}',
    )  # fmt: skip
    for sensor, rows in (('accelerometer', slice(0, 3)), ('gyroscope', slice(3, 6))):
        yield Cause(
            f'scale or units of the {sensor}', np.array([1e-3]), _scaled(rows), lambda p: f'factor {1.0 + p[0]:.5g}',
            lambda m, p: f'driver: the samples times {1.0 + p[0]:.5g}',
        )  # fmt: skip
    drives = list(zip(machine.drive_labels, machine.position_units, strict=True))
    for drive, (name, unit) in enumerate(drives):
        yield _offset(drive, name, f'm{unit}')
    for drive, (name, unit) in enumerate(drives):
        yield _drift(drive, name, f'm{unit}')
    for index, leg in enumerate(machine.legs):
        if len(leg.platform_closures) == 1 and machine.drives_are_struts:
            yield _geometry(index, leg.name)


def _offset(drive: int, name: str, unit: str) -> Cause:
    return Cause(
        f'offset of {name}', np.array([2e-5]), _longer(drive, False), lambda p: f'{1e3 * p[0]:+.3g} {unit}',
        lambda m, p: f'{name}: zero of its sensor, or estimate: [leg_offsets]', _length_errors(drive, False),
    )  # fmt: skip


def _drift(drive: int, name: str, unit: str) -> Cause:
    return Cause(
        f'drift of {name}', np.array([2e-5, 2e-6]), _longer(drive, True), lambda p: f'{1e3 * p[1]:+.3g} {unit}/s',
        lambda m, p: f'{name}: its sensor, or estimate: [leg_offsets] with leg_offset_walk',
        _length_errors(drive, True),
    )  # fmt: skip


def _geometry(index: int, name: str) -> Cause:
    return Cause(
        f'geometry of {name}', np.full(6, 2e-5), _moved(index),
        lambda p: f'joints {1e3 * float(np.linalg.norm(p[:3])):.3g} mm (base) and '
        f'{1e3 * float(np.linalg.norm(p[3:])):.3g} mm (platform) off',
        lambda m, p: f'{name}: calibrate its joint centres', _joint_errors(index), _USUAL_MISFIT,
    )  # fmt: skip


def spreads(machine: Machine) -> Iterator[Spread]:
    """All causes that have a size only."""
    yield Spread(
        'bias walk', (1.0, 3.0, 10.0, 30.0), _walking,
        lambda f: f'about {_WALKS[0] * f:.2g} m/s^2, {_WALKS[1] * f:.2g} rad/s per sqrt(s)',
        lambda m, f: f'accelerometer_bias_walk: {_WALKS[0] * f:.2g}, gyroscope_bias_walk: {_WALKS[1] * f:.2g}',
    )  # fmt: skip
    yield Spread(
        'motion between the samples of the IMU', (0.1, 0.3, 0.6, 1.2), _kicked,
        lambda f: f'jumps of acceleration, of which samples miss about {0.5 * f:.2g}',
        lambda m, f: 'a faster IMU, or samples averaged over their interval (filtered before they are taken), or a '
        f'larger q_scale, from {2.0 * m.config.q_scale:g} on',
    )  # fmt: skip
    yield Spread(
        'noise of the IMU', (2.0, 5.0, 20.0, 100.0),
        lambda m, f: m._replace(config=replace(m.config, q_scale=f * m.config.q_scale)),
        lambda f: f'variance times {f:g}',
        lambda m, f: f'q_scale: {f * m.config.q_scale:g}, or adapt_noise: q',
    )  # fmt: skip
    yield Spread(
        'noise of the legs', (2.0, 5.0, 20.0, 100.0),
        lambda m, f: m._replace(config=replace(m.config, r_scale=f * m.config.r_scale)),
        lambda f: f'variance times {f:g}',
        lambda m, f: f'r_scale: {f * m.config.r_scale:g}',
    )  # fmt: skip


#: standard deviations of noise from which on a sample is not on a smooth path
_SEEN = 4.0
#: m, by which joint centres are off, apart from mistakes: a strut that is moved as a whole hardly shows it
_USUAL_MISFIT = 0.01
#: random walks that are tried, times factors: those of a usual MEMS IMU
_WALKS = MEMS_ACCELEROMETER_WALK, MEMS_GYROSCOPE_WALK


def _list(values: Array) -> str:
    return '[' + ', '.join(f'{value:.6g}' for value in values) + ']'


def _later(m: Model, p: Array) -> Model:
    return m._replace(config=replace(m.config, imu_delay=m.config.imu_delay + float(p[0])))


def _skewed(m: Model, p: Array) -> Model:
    """A delay that grows, counted from the middle of the window."""
    window = m.window
    elapsed = window.elapsed - window.elapsed.mean()
    late = np.rint(1e9 * (p[0] + p[1] * elapsed)).astype(np.int64)
    return m._replace(window=window._replace(leg_stamps=window.leg_stamps + late))


def _mounted(m: Model, p: Array) -> Model:
    return m._replace(window=m.window._replace(imu=m.window.imu @ np.kron(np.eye(2), rotation_exp(p)).T))


def _rpy(m: Model, p: Array) -> Array:
    return rpy_from_matrix(rotation_exp(p) @ m.machine.imu.rotation_platform_imu)


def _placed(m: Model, p: Array) -> Model:
    imu = replace(m.machine.imu, position=m.machine.imu.position + p)
    return m._replace(machine=replace(m.machine, imu=imu))


def _heavier(m: Model, p: Array) -> Model:
    return m._replace(machine=replace(m.machine, gravity=(1.0 + p[0]) * m.machine.gravity))


def _tilt(p: Array) -> Array:
    return rotation_exp(np.append(p, 0.0))


def _tilted(m: Model, p: Array) -> Model:
    return m._replace(machine=replace(m.machine, gravity=_tilt(p) @ m.machine.gravity))


def _scaled(rows: slice) -> Callable[[Model, Array], Model]:
    def apply(m: Model, p: Array) -> Model:
        imu = m.window.imu.copy()
        imu[:, rows] *= 1.0 + p[0]
        return m._replace(window=m.window._replace(imu=imu))

    return apply


def _longer(drive: int, grows: bool) -> Callable[[Model, Array], Model]:
    """Positions less what a sensor measures too much."""

    def apply(m: Model, p: Array) -> Model:
        positions, elapsed = m.window.positions.copy(), m.window.elapsed
        positions[:, drive] -= p[0] + (p[1] * (elapsed - elapsed.mean()) if grows else 0.0)
        return m._replace(window=m.window._replace(positions=positions))

    return apply


def _length_errors(drive: int, grows: bool) -> Callable[[Model], LegErrors]:
    def of(m: Model) -> LegErrors:
        elapsed, drives = m.window.elapsed, m.window.positions.shape[1]
        since = elapsed - elapsed.mean()

        def errors(k: int, pose: Pose) -> Array:
            found = np.zeros((drives, 1 + grows))
            found[drive, 0] = -1.0
            if grows:
                found[drive, 1] = -since[k]
            return found

        return errors

    return of


def _joint_errors(index: int) -> Callable[[Model], LegErrors]:
    """A joint centre that is elsewhere makes the strut longer than was taken into account, by its direction."""

    def of(m: Model) -> LegErrors:
        leg, drives = m.machine.legs[index], m.window.positions.shape[1]
        base, platform = leg.joints[0].translation, leg.platform_closures[0].other_point

        def errors(k: int, pose: Pose) -> Array:
            rotation, found = pose.rotation_base_platform, np.zeros((drives, 6))
            strut = pose.position + rotation @ platform - base
            strut /= strut.dot(strut) ** 0.5
            found[index, :3], found[index, 3:] = strut, -strut @ rotation
            return found

        return errors

    return of


def _moved(index: int) -> Callable[[Model, Array], Model]:
    """Joint centres of a leg elsewhere: on the base (3), on the platform (3), each in its own body's axes."""

    def apply(m: Model, p: Array) -> Model:
        leg = m.machine.legs[index]
        first = replace(leg.joints[0], translation=leg.joints[0].translation + p[:3])
        end = leg.platform_closures[0]
        closures = tuple(
            replace(closure, other_point=closure.other_point + p[3:]) if closure is end else closure
            for closure in leg.closures
        )
        moved: Leg = replace(leg, joints=(first, *leg.joints[1:]), closures=closures)
        legs = (*m.machine.legs[:index], moved, *m.machine.legs[index + 1 :])
        return m._replace(machine=replace(m.machine, legs=legs))

    return apply


def _kicked(m: Model, f: float) -> Model:
    """Where samples are not on a smooth path, their mean over the interval is uncertain by as much.

    A step of size d between two samples, at any time, leaves their mean off by up to d / 2, and the third differences
    of the samples around it are d, -2 d, d. Those of a smooth motion are as small as noise.
    """
    window, imu = m.window, m.machine.imu
    third = np.diff(window.imu[:, :3], 3, axis=0)
    rotation = imu.rotation_platform_imu
    noise = np.sqrt(20.0 * np.diag(rotation @ np.diag(imu.accelerometer_noise**2) @ rotation.T))
    third[(np.abs(third) < _SEEN * noise).all(axis=1)] = 0.0
    if not third.any():
        return m
    lost = 0.5 * f * third * 1e-9 * np.diff(window.imu_stamps)[1:-1, None]
    kicks = np.zeros((len(window.leg_stamps), 3, 3))
    late = round(1e9 * m.config.imu_delay)
    places = np.searchsorted(window.leg_stamps + late, window.imu_stamps[2:-1])
    there = places < len(kicks)
    np.add.at(kicks, places[there], lost[there, :, None] * lost[there, None, :])
    return m._replace(window=window._replace(kicks=kicks))


def _walking(m: Model, f: float) -> Model:
    config, imu = m.config, m.machine.imu
    walks = (config.accelerometer_bias_walk, config.gyroscope_bias_walk)
    own = float(imu.accelerometer_bias_walk.max()), float(imu.gyroscope_bias_walk.max())
    present = [walk if walk >= 0.0 else file for walk, file in zip(walks, own, strict=True)]
    force, rate = (max(f * usual, walk) for usual, walk in zip(_WALKS, present, strict=True))
    return m._replace(config=replace(config, accelerometer_bias_walk=force, gyroscope_bias_walk=rate))
