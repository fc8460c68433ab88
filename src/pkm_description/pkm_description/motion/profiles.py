"""Named motion profiles, scaled to the limits of the machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from pkm_description.arrays import Array
from pkm_description.errors import ArgumentError, PkmError
from pkm_description.kinematics.arguments import require_machine
from pkm_description.kinematics.drive_map import motion_from_drives
from pkm_description.kinematics.forward import forward_kinematics
from pkm_description.kinematics.joint_motion import drive_positions
from pkm_description.kinematics.rotation import matrix_from_rpy
from pkm_description.machine import Machine, PlatformMotion, Pose
from pkm_description.motion.circles import Z_DOWN_TO_Z_UP, CircleAndRock
from pkm_description.motion.coordinates import Envelope, product
from pkm_description.motion.fourier import FourierSeries, random_fourier_series
from pkm_description.motion.limits import largest_scale

#: rad/s; harmonics and amplitudes of a manual tracking experiment like the paper's, whose recording is not public
BASE_FREQUENCY = 2.0 * np.pi / 81.92
ROLL_HARMONICS = (6, 13, 27, 41, 53, 73, 103, 139, 194, 229)
PITCH_HARMONICS = (5, 11, 23, 37, 51, 71, 101, 137, 171, 226)
AMPLITUDES = np.radians([1.397, 0.977, 0.441, 0.237, 0.159, 0.099, 0.063, 0.046, 0.036, 0.033])
ROLL_FACTOR, PITCH_FACTOR = 1.6, 0.8
PROFILE_NAMES = ('mp1', 'mp2', 'fourier', 'fourier_validation', 'drives', 'fast_and_slow', 'hold')

#: part of every limit that named profiles keep free
MARGIN = 0.1

#: added to the seed of the validation motion, so that it is another one than the identification motion
VALIDATION_SEED_OFFSET = 1_000_003

#: size of a slow motion, as a part of the fast one's, and what is added to its seed
SLOW, SLOW_SEED_OFFSET = 0.15, 777


def sample_times(duration: float, rate: float) -> np.ndarray:
    """Times 0, 1/rate, ... up to and including ``duration`` (N,) s."""
    if not (duration > 0.0 and rate > 0.0):
        raise ValueError(f'duration = {duration} s and rate = {rate} Hz must be positive')
    return np.arange(round(duration * rate) + 1) / rate


def mp1_profile(
    machine: Machine, duration: float = 100.0, fade_in: float = 10.0, fade_out: float = 10.0
) -> CircleAndRock:
    """Motion profile 1 of Miletovic et al. (2017) around the machine's home, for evaluation at any time.

    On a machine too small, slow or weak for it, radius and rates are scaled down together until every leg
    keeps 10 % of its stroke, speed and force free (SIMONA takes it in full).
    """
    full = CircleAndRock(machine.home, duration, fade_in=fade_in, fade_out=fade_out)

    def scaled(scale: float) -> CircleAndRock:
        return replace(full, radius=scale * full.radius, rate_amplitude=scale * full.rate_amplitude)

    # periodic after the fade-in, so both fades and one period of the circle show every extreme
    times = np.arange(0.0, duration, 0.05)
    times = times[(times < fade_in + 2 * full.circle_period) | (times > duration - fade_out)]
    return scaled(largest_scale(machine, lambda scale: scaled(scale).evaluate(times), MARGIN))


def mp1(machine: Machine, duration: float = 100.0, rate: float = 100.0) -> PlatformMotion:
    """Samples of :func:`mp1_profile`: ``duration`` s at ``rate`` Hz, ending at home at rest."""
    return mp1_profile(machine, duration).evaluate(sample_times(duration, rate))


def mp2_profile(
    machine: Machine, duration: float = 90.0, seed: int = 0, fade_in: float = 5.0, fade_out: float = 5.0
) -> RollPitchSines:
    """Surrogate of motion profile 2 of Miletovic et al. (2017), for evaluation at any time.

    The paper's recording is not public; see :class:`RollPitchSines`. Scaled like :func:`mp1_profile`.
    """
    times = np.arange(0.0, duration, 0.05)
    full = RollPitchSines(machine.home, duration, seed, fade_in=fade_in, fade_out=fade_out)
    scale = largest_scale(machine, lambda scale: replace(full, scale=scale).evaluate(times), MARGIN)
    return replace(full, scale=scale)


def drives_profile(
    machine: Machine, duration: float = 60.0, seed: int = 0, fade_in: float = 3.0, fade_out: float = 3.0
) -> DriveSines:
    """Sines of the drives, for machines of any freedom; scaled like :func:`mp1_profile`."""
    times = np.arange(0.0, duration, 0.05)
    full = DriveSines(without_redundant_legs(machine), duration, 1.0, seed, fade_in, fade_out)
    # between these times the condition number may rise a little
    with_room = replace(full, condition_ratio=0.8 * full.condition_ratio)
    return full.scaled(largest_scale(machine, lambda scale: with_room.scaled(scale).evaluate(times), MARGIN))


def fourier_profile(
    machine: Machine, duration: float, seed: int = 0, validation: bool = False
) -> FourierSeries:
    """Excitation for identification, or another one for validation, for evaluation at any time.

    Periods of about 10 s between fades of 2 s, harmonics up to 1 Hz: well below the bandwidth of a leg servo,
    high enough for inertial forces to be felt beside the weight.
    """
    fade = 2.0
    if duration <= 2.0 * fade:
        raise ValueError(
            f'duration = {duration} s leaves nothing between fades of {fade} s; give more than {2 * fade} s'
        )
    active = duration - 2.0 * fade
    periods = max(1, round(active / 10.0))
    return random_fourier_series(
        machine,
        duration,
        seed + VALIDATION_SEED_OFFSET * validation,
        harmonics=max(3, min(12, int(active / periods))),
        periods=periods,
        fade=fade,
        margin=MARGIN,
    )


def excitation_profile(
    machine: Machine, duration: float, seed: int = 0, validation: bool = False
) -> FourierSeries | DriveSines:
    """Excitation for identification, or another one for validation: of the drives where the platform is not free."""
    if machine.degrees_of_freedom == 6:
        return fourier_profile(machine, duration, seed, validation)
    fade = min(3.0, duration / 4.0)
    return drives_profile(machine, duration, seed + VALIDATION_SEED_OFFSET * validation, fade, fade)


def fast_and_slow_profile(machine: Machine, duration: float, seed: int = 0, validation: bool = False) -> FastAndSlow:
    """Half of the time the motion of :func:`excitation_profile`, then another one at 15 % of its size.

    For machines whose friction at rest differs from that of motion (Stribeck).
    """
    half = 0.5 * duration
    fast, slow = (
        excitation_profile(machine, half, seed + offset, validation) for offset in (0, SLOW_SEED_OFFSET)
    )
    return FastAndSlow(fast, slow.scaled(SLOW))


def profile(
    name: str, machine: Machine, duration: float, rate: float = 100.0, seed: int = 0
) -> PlatformMotion:
    """Sample a motion by name: it starts and ends at home at rest and stays inside stroke, speed and force.

    Parameters
    ----------
    name : ``'mp1'``, ``'mp2'`` (surrogate), ``'fourier'``, ``'fourier_validation'``, ``'drives'`` (the one for machines
        with fewer than six degrees of freedom), ``'fast_and_slow'`` (``'fourier'`` or ``'drives'``, then the same kind
        at 15 % of its size, for friction at low speed) or ``'hold'``
    duration, rate : s, Hz
    seed : of all motions but ``'mp1'`` and ``'hold'``

    Raises
    ------
    ArgumentError
        For another name, or something that is no machine.
    ValueError
        For a duration that is too short for the fades.
    """
    if not isinstance(name, str):
        names = ', '.join(PROFILE_NAMES)
        raise ArgumentError(f'the first argument is a {type(name).__name__}, expected one of {names}')
    require_machine(machine, 'the second argument')
    if name not in PROFILE_NAMES:
        raise ArgumentError(f'unknown motion profile {name!r}; there are {", ".join(PROFILE_NAMES)}')
    long, middle, short = (min(fade, duration / 4) for fade in (10.0, 5.0, 3.0))
    sources: dict[str, Callable[[], CircleAndRock | RollPitchSines | DriveSines | FourierSeries | FastAndSlow]] = {
        'mp1': lambda: mp1_profile(machine, duration, long, long),
        'mp2': lambda: mp2_profile(machine, duration, seed, middle, middle),
        'drives': lambda: drives_profile(machine, duration, seed, short, short),
        'fourier': lambda: fourier_profile(machine, duration, seed),
        'fourier_validation': lambda: fourier_profile(machine, duration, seed, validation=True),
        'fast_and_slow': lambda: fast_and_slow_profile(machine, duration, seed),
        'hold': lambda: CircleAndRock(
            machine.home, duration, radius=0.0, rate_amplitude=0.0, fade_in=0.0, fade_out=0.0
        ),
    }  # fmt: skip
    return sources[name]().evaluate(sample_times(duration, rate))


@dataclass(frozen=True)
class FastAndSlow:
    """A motion that begins and ends at home at rest, then another one of the same kind at a small part of its size.

    Fast drives pass the speeds at which friction falls from that at rest to that of motion (Stribeck) in a moment:
    their recordings hardly tell these speeds. Slow drives are there all the time.

    Attributes
    ----------
    fast, slow : the two motions, one after the other
    """

    fast: FourierSeries | DriveSines
    slow: FourierSeries | DriveSines

    @property
    def duration(self) -> float:
        """Time at which the platform is back at home for good, s."""
        return self.fast.duration + self.slow.duration

    def evaluate(self, times: Array) -> PlatformMotion:
        """Motion at ascending times (N,) s.

        Raises
        ------
        KinematicsError
            Drives that swing leave the workspace; names the sample.
        """
        times = np.asarray(times, dtype=float)
        begin = self.fast.duration
        first, then = self.fast.evaluate(times[times < begin]), self.slow.evaluate(times[times >= begin] - begin)
        values = {
            name: np.concatenate([getattr(first, name), getattr(then, name)])
            for name in PlatformMotion.__dataclass_fields__
        }
        return PlatformMotion(**values | {'time': times})


@dataclass(frozen=True)
class RollPitchSines:
    """MP2 surrogate: ten sines each in roll and pitch (0.38 to 17.6 rad/s), heave of 15 mm at 0.8 rad/s.

    Not the paper's recording, but of its amplitudes and band (section 4.1, Table 3). Defined in the paper's z-down
    frame and carried into the base frame by diag(1, -1, -1).

    Attributes
    ----------
    home : pose that the motion starts and ends at
    duration : s, the end of the fade-out
    seed : of the sines' phases
    scale : factor on all amplitudes
    heave, heave_frequency : m, rad/s
    fade_in, fade_out : s
    """

    home: Pose
    duration: float = 90.0
    seed: int = 0
    scale: float = 1.0
    heave: float = 0.015
    heave_frequency: float = 0.8
    fade_in: float = 5.0
    fade_out: float = 5.0

    def __post_init__(self) -> None:
        Envelope(self.duration, self.fade_in, self.fade_out)  # checks the fades

    def evaluate(self, time: Array) -> PlatformMotion:
        """Motion at any times (N,) s; at rest at home before 0 and after ``duration``."""
        time = np.asarray(time, dtype=float)
        envelope = Envelope(self.duration, self.fade_in, self.fade_out).evaluate(time)
        random = np.random.default_rng(self.seed)
        roll, pitch = (
            product(envelope, _waves(time, harmonics, self.scale * factor, random.uniform(0.0, 2.0 * np.pi, 10)))
            for harmonics, factor in ((ROLL_HARMONICS, ROLL_FACTOR), (PITCH_HARMONICS, PITCH_FACTOR))
        )
        phase, frequency, size = self.heave_frequency * time, self.heave_frequency, self.scale * self.heave
        sine, cosine = size * np.sin(phase), size * np.cos(phase)
        heave = product(envelope, (sine, frequency * cosine, -(frequency**2) * sine))
        zero = np.zeros_like(time)
        displacement, velocity, acceleration = (
            np.stack([zero, zero, value], axis=1) @ Z_DOWN_TO_Z_UP for value in heave
        )
        rotation = matrix_from_rpy(np.stack([roll[0], pitch[0], zero], axis=1))
        # z-y-x angles without yaw: omega = roll' (cos pitch, 0, -sin pitch) + pitch' (0, 1, 0), base axes
        cosine, sine = np.cos(pitch[0]), np.sin(pitch[0])
        rate = np.stack([cosine * roll[1], pitch[1], -sine * roll[1]], axis=1)
        turning = roll[1] * pitch[1]
        second = np.stack([cosine * roll[2] - sine * turning, pitch[2], -sine * roll[2] - cosine * turning], axis=1)
        return PlatformMotion(
            time=time,
            position=self.home.position + displacement,
            rotation_base_platform=Z_DOWN_TO_Z_UP @ rotation @ Z_DOWN_TO_Z_UP @ self.home.rotation_base_platform,
            linear_velocity=velocity,
            angular_velocity=rate @ Z_DOWN_TO_Z_UP,
            linear_acceleration=acceleration,
            angular_acceleration=second @ Z_DOWN_TO_Z_UP,
        )


def _waves(time: Array, harmonics: tuple[int, ...], factor: float, phases: Array) -> tuple[Array, Array, Array]:
    """Sum of sines (N,) with its first and second derivative."""
    frequencies = BASE_FREQUENCY * np.array(harmonics)
    angles = np.outer(time, frequencies) + phases
    sine, cosine = np.sin(angles), np.cos(angles)
    amplitudes = factor * AMPLITUDES
    return sine @ amplitudes, cosine @ (amplitudes * frequencies), sine @ (-amplitudes * frequencies**2)


#: part of the stroke (or of a turn) that the drives swing to either side at scale 1, and their frequencies
_SWING, _TURN_SWING = 0.25, 0.3
_LOWEST, _HIGHEST = 0.25, 0.6


def without_redundant_legs(machine: Machine) -> Machine:
    """The machine with those of its legs that hold the platform best, so that there is one drive per degree of freedom.

    A machine that is not redundant is returned as it is.

    Raises
    ------
    ArgumentError
        No choice of legs leaves as many drives.
    """
    if not machine.is_redundant:
        return machine
    found = min(_choices(machine), key=lambda one: one[0], default=None)
    if found is None:
        raise ArgumentError(
            f'{machine.name}: no choice of its legs has {machine.degrees_of_freedom} drives, one per freedom, so '
            'its drives cannot swing by themselves; use a motion of the platform'
        )
    return found[1]


def _choices(machine: Machine) -> Iterator[tuple[float, Machine]]:
    """Machines with fewer legs, as many drives as degrees of freedom, and the condition number at home."""
    freedoms = machine.degrees_of_freedom
    for count in range(1, machine.leg_count):
        for legs in combinations(machine.legs, count):
            fewer = replace(machine, legs=legs)
            if fewer.actuated_count == freedoms == fewer.degrees_of_freedom:
                try:
                    yield float(forward_kinematics(fewer, _at_home(fewer)).condition[0]), fewer
                except PkmError:  # these legs do not hold the platform
                    continue


def _at_home(machine: Machine) -> Array:
    """Positions (A,) of the drives at home."""
    return drive_positions(machine, machine.home.position[None], machine.home.rotation_base_platform[None])[0]


@dataclass(frozen=True)
class DriveSines:
    """Sines of all drives around home, one frequency [Hz] and phase each, faded in and out.

    Of a redundant machine the drives of some legs swing, see :func:`without_redundant_legs`; the others follow.

    Attributes
    ----------
    machine : any machine with a platform
    duration, fade_in, fade_out : s
    scale : 1 swings a quarter of the stroke to either side (revolute drives: 0.3 rad)
    seed : of frequencies and phases
    condition_ratio : how many times worse than at home the condition number may become: a real machine, whose drives
        lag, passes into another assembly mode where the exact one just does not
    """

    machine: Machine
    duration: float
    scale: float = 1.0
    seed: int = 0
    fade_in: float = 3.0
    fade_out: float = 3.0
    condition_ratio: float = 3.0

    def scaled(self, factor: float) -> DriveSines:
        """Return the same sines with all amplitudes multiplied."""
        return replace(self, scale=factor * self.scale)

    def evaluate(self, times: Array) -> PlatformMotion:
        """Motion at times (N,) s, exact on the constraints.

        Raises
        ------
        KinematicsError
            The swing leaves the workspace or meets a singular configuration; names the sample.
        ArgumentError
            A redundant machine whose drives cannot swing by themselves.
        """
        times = np.asarray(times, dtype=float)
        machine, random = without_redundant_legs(self.machine), np.random.default_rng(self.seed)
        count = machine.actuated_count
        # evenly spread frequencies, so that no two drives swing alike; which drive has which is drawn
        frequency = 2.0 * np.pi * random.permutation(np.linspace(_LOWEST, _HIGHEST, count))
        angle = times[:, None] * frequency + random.uniform(0.0, 2.0 * np.pi, count)
        swing = self.scale * _swings(machine)
        wave = swing * np.sin(angle), swing * frequency * np.cos(angle), -swing * frequency**2 * np.sin(angle)
        fades = tuple(part[:, None] for part in Envelope(self.duration, self.fade_in, self.fade_out).evaluate(times))
        positions, velocities, accelerations = product((fades[0], fades[1], fades[2]), wave)
        centre = _at_home(machine)
        # as forward kinematics measures it
        condition = forward_kinematics(machine, centre).condition[0]
        return motion_from_drives(
            machine, times, centre + positions, velocities, accelerations,
            max_condition=self.condition_ratio * float(condition),
        )  # fmt: skip


def _swings(machine: Machine) -> Array:
    """Swing of each drive (A,) at scale 1."""
    strokes = (machine.position_upper - machine.position_lower)[machine.drive_columns]
    slides = np.array([joint.kind == 'prismatic' for joint in machine.actuated_joints])
    return np.where(slides & np.isfinite(strokes), _SWING * strokes, _TURN_SWING)
