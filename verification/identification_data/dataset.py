"""A training and a validation recording of a hidden machine, with the truth, from a name, a case and a seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

from pkm_description.arrays import Array
from pkm_description.loading import load_machine
from pkm_description.machine import Machine, PlatformMotion
from pkm_description.motion.profiles import excitation_profile, fast_and_slow_profile, sample_times
from pkm_identification.recording.recording import Recording

from verification.identification_data.cases import CASES, Case
from verification.identification_data.friction import DriveFriction
from verification.identification_data.hidden import drive_friction, hidden_bodies, passive_radius, with_viscous_coulomb
from verification.identification_data.physics import NOTHING, Happening, Physics, Run
from verification.identification_data.signals import DriveSignals, drive_signals

#: s, of training and validation
DURATIONS = (25.0, 15.0)
#: s, physics step and period of the samples
STEP = 0.001
#: ns, stamp of the first sample of the training; the validation follows after a minute
START = 1_800_000_000_000_000_000


@dataclass(frozen=True)
class Measured:
    """One motion: what happened, and what the sensors said of it.

    Attributes
    ----------
    name : ``training`` or ``validation``
    start_stamp : ns
    motion : wanted
    run : the truth
    positions, velocities, efforts : (N, A) measured
    clean_efforts : (N, A) effort signals without noise
    """

    name: str
    start_stamp: int
    motion: PlatformMotion
    run: Run
    positions: Array
    velocities: Array
    efforts: Array
    clean_efforts: Array

    @property
    def recording(self) -> Recording:
        """As identification takes it."""
        time = self.run.time - self.run.time[0]
        return Recording(time, self.positions, self.efforts, self.start_stamp, self.name)

    @property
    def noise_free(self) -> Recording:
        """The same with true drive positions and with effort signals without noise."""
        time = self.run.time - self.run.time[0]
        return Recording(time, self.run.positions, self.clean_efforts, self.start_stamp, self.name)


@dataclass(frozen=True)
class DataSet:
    """Recordings and truth.

    Attributes
    ----------
    source : name or path of the machine file
    case, seed, step : of the data set; s
    nominal : the machine as its file has it, with viscous and Coulomb friction: where an identification begins
    true_machine : hidden bodies; friction viscous and Coulomb with the mean of both directions
    friction, signals : what is in the drives and their electronics
    happening : what changes during the motions
    training : see :class:`Measured`
    validate : simulates the validation
    """

    source: str
    case: Case
    seed: int
    step: float
    nominal: Machine
    true_machine: Machine
    friction: DriveFriction
    signals: DriveSignals
    happening: Happening
    training: Measured
    validate: Callable[[], Measured]

    @cached_property
    def validation(self) -> Measured:
        """The other motion, simulated when it is asked for first: many look at the training alone."""
        return self.validate()


def excitation(machine: Machine, duration: float, seed: int, step: float, validation: bool) -> PlatformMotion:
    """Multi-sine inside the machine's limits: of the platform where it is free, else of the drives."""
    return excitation_profile(machine, duration, seed, validation).evaluate(sample_times(duration, 1.0 / step))


def fast_and_slow(machine: Machine, duration: float, seed: int, step: float, validation: bool) -> PlatformMotion:
    """The same for half of the time, then at 15 % of its size; validation as before."""
    make = excitation_profile if validation else fast_and_slow_profile
    return make(machine, duration, seed, validation).evaluate(sample_times(duration, 1.0 / step))


#: motions by name
MOTIONS = {'excitation': excitation, 'fast_and_slow': fast_and_slow}


def generate(
    source: str,
    case: Case | str = 'plain',
    seed: int = 0,
    durations: tuple[float, float] = DURATIONS,
    step: float = STEP,
    motions: Callable[[Machine, float, int, float, bool], PlatformMotion] = excitation,
    happening: Happening = NOTHING,
) -> DataSet:
    """Simulate a data set; the same arguments give the same numbers.

    Parameters
    ----------
    source : name or path of a machine that MJCF can express
    case : or its name in :data:`CASES`
    seed : of motions, hidden parameters and noise
    durations : s, of training and validation
    step : s, of the physics; one sample per step
    motions : the motion by machine, duration, seed, step and whether it is the validation
    happening : what changes during each motion

    Raises
    ------
    DataSetError, PkmError
        A machine that cannot be simulated.
    """
    if isinstance(case, str):
        if case not in CASES:
            raise ValueError(f'case {case!r}: there are {", ".join(CASES)}')
        case = CASES[case]
    nominal = with_viscous_coulomb(load_machine(source))
    hidden = hidden_bodies(nominal, case, seed)
    physics = Physics(hidden, step, passive_radius(nominal, case))
    friction = drive_friction(nominal, case, seed, physics.drive_inertia, step)
    signals = drive_signals(nominal, case, seed)

    def measured(name: str, stream: int, start: int) -> Measured:
        motion = motions(nominal, durations[stream], seed, step, name == 'validation')
        run = physics.run(motion, nominal, friction, happening)
        return Measured(name, start, motion, run, *signals.measure(run, seed, 3 + stream), signals.clean_efforts(run))

    validate = partial(measured, 'validation', 1, START + round((durations[0] + 60.0) * 1e9))
    true_machine = with_viscous_coulomb(hidden, friction)
    training = measured('training', 0, START)
    return DataSet(source, case, seed, step, nominal, true_machine, friction, signals, happening, training, validate)
