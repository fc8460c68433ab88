"""Motions for diagnoses: drives with several frequencies each, and a pass near a singular pose."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import KinematicsError
from pkm_description.kinematics import drive_positions, forward_kinematics, motion_from_drives
from pkm_description.machine import Machine, PlatformMotion
from pkm_description.motion.coordinates import Envelope, product
from pkm_description.motion.limits import largest_scale
from pkm_description.motion.profiles import MARGIN, VALIDATION_SEED_OFFSET, sample_times
from scipy.interpolate import make_interp_spline

#: Hz, between which the frequencies of the drives lie, and how many each drive has
_LOWEST, _HIGHEST, _SINES = 0.15, 1.2, 4
#: rad, swing of turning drives at scale 1; sliding ones swing a quarter of the stroke
_TURN = 0.3
#: how many times worse than at home the condition number may become
_CONDITION = 2.4
#: condition number of a nearly singular pose, in those from which a diagnosis names it, and ways that are tried
SINGULAR, _TRIALS = 1.5, 60
#: how many times that the condition number of the whole motion may become
_NEAREST = 20.0
#: s, of fades
_FADE = 3.0

Waves = Callable[[Array], tuple[Array, Array, Array]]


def several_sines(machine: Machine, duration: float, seed: int, step: float, validation: bool) -> PlatformMotion:
    """Every drive with four frequencies, no two alike; inside the machine's limits.

    With one frequency alone the force of a delay is that of viscous friction.
    """
    times, positions = _several_sines(machine, duration, seed + VALIDATION_SEED_OFFSET * validation, step)
    return _motion(machine, times, positions)


def near_singular(
    machine: Machine, duration: float, seed: int, step: float, validation: bool, skip: int = 0
) -> PlatformMotion:
    """The same with a pass near a singular pose in the middle.

    Parameters
    ----------
    skip : poses that are left aside: a servo may not reach them

    Raises
    ------
    KinematicsError
        No straight way of the drives inside their strokes comes near one without passing it.
    """
    seed += VALIDATION_SEED_OFFSET * validation
    times, positions = _several_sines(machine, duration, seed, step)
    part = np.clip((times / duration - 0.35) / 0.3, 0.0, 1.0)
    there = np.sin(np.pi * part)[:, None] ** 4
    wanted = SINGULAR * singular_from(machine)
    for place in _nearly_singular(machine, seed, wanted):
        try:
            motion = _motion(machine, times, positions + there * (place - positions), _NEAREST * wanted)
        except KinematicsError:  # the way there, which the sines bend, leads through a singular pose
            continue
        if skip == 0:
            return motion
        skip -= 1
    raise KinematicsError(f'{machine.name}: no pose inside the strokes is nearly singular')


def singular_from(machine: Machine) -> float:
    """Condition number from which a diagnosis names a pose."""
    return max(50.0, 5.0 * float(forward_kinematics(machine, _home(machine)[None]).condition[0]))


def _nearly_singular(machine: Machine, seed: int, wanted: float) -> Iterator[Array]:
    """Drives (A,) at poses of about a condition number that a diagnosis is to call nearly singular."""
    random, centre, drives = np.random.default_rng([seed, 3]), _home(machine), machine.drive_columns
    lower, upper = machine.position_lower[drives], machine.position_upper[drives]
    lower = np.where(np.isfinite(lower), lower, centre - 1.0)
    upper = np.where(np.isfinite(upper), upper, centre + 1.0)
    for _ in range(_TRIALS):
        way = centre + np.linspace(0.0, 1.0, 400)[:, None] * (random.uniform(lower, upper) - centre)
        found = forward_kinematics(machine, way)
        whole = len(way) if found.trusted.all() else int(np.argmin(found.trusted))
        near = np.flatnonzero(found.condition[:whole] > wanted)
        if len(near) and found.condition[near[0]] < 2.0 * wanted:
            yield np.asarray(way[near[0]])


def _several_sines(machine: Machine, duration: float, seed: int, step: float) -> tuple[Array, Array]:
    """Times (N,) s and drives (N, A)."""
    random = np.random.default_rng(seed)
    waves = _waves(random, machine.actuated_count, duration, _swings(machine) / np.sqrt(_SINES))
    centre = _home(machine)
    condition = _CONDITION * float(forward_kinematics(machine, centre[None]).condition[0])

    def motion(scale: float) -> PlatformMotion:
        positions, velocities, accelerations = (scale * part for part in waves(coarse))
        return motion_from_drives(
            machine, coarse, centre + positions, velocities, accelerations, max_condition=condition
        )

    coarse, times = np.arange(0.0, duration, 0.05), sample_times(duration, 1.0 / step)
    return times, centre + largest_scale(machine, motion, MARGIN) * waves(times)[0]


def _motion(machine: Machine, times: Array, positions: Array, max_condition: float = 1e4) -> PlatformMotion:
    spline = make_interp_spline(times, positions, k=5)
    rates, accelerations = spline(times, 1), spline(times, 2)
    return motion_from_drives(machine, times, positions, rates, accelerations, max_condition=max_condition)


def _waves(random: np.random.Generator, count: int, duration: float, swings: Array) -> Waves:
    """Faded sines (N, A) and their derivatives."""
    # every drive has one frequency of each quarter of the band
    rates = np.linspace(2.0 * np.pi * _LOWEST, 2.0 * np.pi * _HIGHEST, count * _SINES).reshape(_SINES, count)
    rates = random.permuted(rates, axis=1)
    phases = random.uniform(0.0, 2.0 * np.pi, rates.shape)
    # alike in velocity
    sizes = swings * rates.min(axis=0) / rates

    def waves(times: Array) -> tuple[Array, Array, Array]:
        angle = times[:, None, None] * rates + phases
        wave = (sizes * np.sin(angle), sizes * rates * np.cos(angle), -sizes * rates**2 * np.sin(angle))
        fades = tuple(part[:, None] for part in Envelope(duration, _FADE, _FADE).evaluate(times))
        first, second, third = (part.sum(axis=1) for part in wave)
        return product((fades[0], fades[1], fades[2]), (first, second, third))

    return waves


def _swings(machine: Machine) -> Array:
    strokes = (machine.position_upper - machine.position_lower)[machine.drive_columns]
    turns = np.array([joint.kind == 'revolute' for joint in machine.actuated_joints])
    return np.where(turns | ~np.isfinite(strokes), _TURN, 0.25 * strokes)


def _home(machine: Machine) -> Array:
    home = machine.home
    return drive_positions(machine, home.position[None], home.rotation_base_platform[None])[0]
