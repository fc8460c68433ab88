"""The machine as delivered: its overlay, and whether it moves like the real one under the measured efforts."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics import forward_dynamics, friction_forces, inverse_dynamics
from pkm_description.errors import ConfigurationError, MachineFileError
from pkm_description.kinematics import joint_motion, motion_from_drives
from pkm_description.machine import Machine

from pkm_description import loading
from pkm_identification.blocks import joined
from pkm_identification.columns.observation import ObservationModel
from pkm_identification.fitting.physical_machine import is_carried, overlay_values
from pkm_identification.fitting.prediction import measured, predicted_efforts
from pkm_identification.preparation import PreparedData

#: steps of the integration per sample of the recording
STEPS = 4


@dataclass(frozen=True)
class DeliveredMachine:
    """What a user of the files gets.

    Attributes
    ----------
    machine : read again from the machine file with the overlay
    from_files : False for a machine that has no file: then it is the identified machine itself
    problem : why the overlay does not load, for a machine that was changed in memory, or with values that no file may
        have; then it is the identified machine itself, too, and no overlay is written
    lost : what the overlay does not carry: names of forces that stand in ``parameters.yaml`` only
    """

    machine: Machine
    from_files: bool
    lost: tuple[str, ...]
    problem: str = ''


def delivered_machine(model: ObservationModel, identified: Machine) -> DeliveredMachine:
    """Write the overlay, and load the machine with it.

    Parameters
    ----------
    model : that was fitted
    identified : machine with the identified bodies and friction
    """
    lost = tuple(dict.fromkeys(term.title for term in model.terms if not is_carried(term, model)))
    if not identified.path.is_file():
        return DeliveredMachine(identified, False, lost)
    with tempfile.TemporaryDirectory() as folder:
        overlay = loading.write_overlay(
            Path(folder) / 'overlay.yaml', identified.name,
            overlay_values(identified, model.identical_legs, model.rubbing),
            date='', data='', method='',
        )  # fmt: skip
        try:
            machine = loading.load_machine(identified.path, overlay, 'standard')
        except MachineFileError as error:
            return DeliveredMachine(identified, False, lost, f'the overlay does not fit {identified.path}: {error}')
    return DeliveredMachine(machine, True, lost)


def library_efforts(machine: Machine, data: PreparedData) -> Array:
    """Efforts (N, A) of all samples by the library's inverse dynamics, nothing of the fit in it.

    Friction jumps where a drive reverses, so there it takes the livelier motion, as everywhere in the identification.
    """

    def efforts(part: slice) -> Array:
        smooth, lively = data.motion[part], data.lively[part]
        friction = np.where(data.turning[part], friction_forces(machine, lively), friction_forces(machine, smooth))
        return np.asarray(inverse_dynamics(machine, smooth, friction=False) + friction)

    return measured(joined(efforts, len(data.motion)), data.recording.time, *machine.leg_sensors.lateness)


def forces_beyond_overlay(model: ObservationModel, data: PreparedData, parameters: Array) -> Array:
    """Efforts (N, A) by the terms that an overlay does not carry: ripples, springs, load friction ...

    Parameters
    ----------
    parameters : all parameters of the model, in the order of ``model.all_names``
    """
    carried = [(term, values) for term, values in model.with_parameters(parameters) if is_carried(term, model)]
    if len(carried) == len(model.terms):
        return np.zeros_like(data.recording.forces)
    kept = model.with_terms([term for term, _ in carried])
    own = np.concatenate([parameters[: model.structure_count], *(values for _, values in carried)])
    return predicted_efforts(model, data, parameters) - predicted_efforts(kept, data.with_model(kept), own)


# Direct dynamics: the machine as delivered gets the measured efforts, and shall move like the real one.
#
# Short windows, each from the measured state. Over long ones every simulation of a machine without its controller runs
# away, however good its parameters are: errors of the efforts are integrated twice.
@dataclass(frozen=True)
class DirectDynamics:
    """Simulated against measured motion of the drives at the ends of the windows.

    Attributes
    ----------
    window : s, length of each
    count : of windows
    position_rms, velocity_rms : (A,) error, m or rad and m/s or rad/s
    velocity_change_rms : (A,) how much their speeds change, m/s or rad/s
    """

    window: float
    count: int
    position_rms: Array
    velocity_rms: Array
    velocity_change_rms: Array

    @property
    def relative(self) -> Array:
        """Errors of the speeds as a part of their changes (A,): 1 is a machine that forces do not move."""
        return np.asarray(self.velocity_rms / self.velocity_change_rms)

    @property
    def worst(self) -> float:
        """The largest of them."""
        return float(self.relative.max())

    def __str__(self) -> str:
        return (
            f'direct dynamics: {self.count} windows of {self.window:.3g} s, speeds at their ends are wrong by '
            f'{100 * float(self.relative.min()):.3g} to {100 * self.worst:.3g} % of their changes'
        )


def direct_dynamics(machine: Machine, data: PreparedData, extra_forces: Array, window: float) -> DirectDynamics:
    """Simulate windows of a recording by forward dynamics under the measured efforts.

    Parameters
    ----------
    machine : as delivered
    data : a prepared recording
    extra_forces : (N, A) part of the measured efforts that is not for bodies and friction of the machine file
    window : s

    Raises
    ------
    ConfigurationError
        More drives than degrees of freedom, or a recording without a window of this length.
    """
    if machine.actuated_count != machine.degrees_of_freedom:
        raise ConfigurationError(
            f'{machine.name}: direct dynamics needs as many drives as degrees of freedom, it has '
            f'{machine.actuated_count} and {machine.degrees_of_freedom}; set direct_window to 0'
        )
    rate = data.recording.sample_rate
    length = max(1, round(window * rate))
    starts = np.arange(data.inner.start, data.inner.stop - length, length)
    if not len(starts):
        raise ConfigurationError(
            f'direct_window = {window:g} s: {data.recording.source} has '
            f'{(data.inner.stop - data.inner.start) / rate:.3g} s without the ends of the filters; choose a shorter one'
        )
    efforts = data.recording.forces - extra_forces
    positions, velocities = data.samples.positions, data.samples.velocities
    state = np.stack([positions[starts], velocities[starts]])
    step = 1.0 / rate / STEPS
    width = _smoothing(machine, state, efforts[starts], step)
    for sample in range(length):
        now, then = efforts[starts + sample], efforts[starts + sample + 1]
        for part in range(STEPS):
            ends = [now + (then - now) * (part + place) / STEPS for place in (0.0, 0.5, 1.0)]
            state = _runge_kutta(machine, state, ends, step, width)
    last = starts + length
    return DirectDynamics(
        length / rate, len(starts),
        _rms(state[0] - positions[last]), _rms(state[1] - velocities[last]),
        _rms(velocities[last] - velocities[starts]),
    )  # fmt: skip


def _runge_kutta(machine: Machine, state: Array, efforts: list[Array], step: float, width: float) -> Array:
    """States (2, W, A) one step later, by the classical method; efforts (W, A) at begin, middle and end."""
    first = _slope(machine, state, efforts[0], width)
    second = _slope(machine, state + 0.5 * step * first, efforts[1], width)
    third = _slope(machine, state + 0.5 * step * second, efforts[1], width)
    fourth = _slope(machine, state + step * third, efforts[2], width)
    return np.asarray(state + step / 6.0 * (first + 2.0 * second + 2.0 * third + fourth))


def _slope(machine: Machine, state: Array, efforts: Array, width: float, friction: bool = True) -> Array:
    """Velocities and accelerations (2, W, A) of the drives in states (2, W, A)."""
    positions, velocities = state
    motion = motion_from_drives(machine, np.zeros(len(positions)), positions, velocities, np.zeros_like(positions))
    found = forward_dynamics(
        machine, motion.position, motion.rotation_base_platform, motion.twist, efforts, friction, width
    )
    moved = replace(motion, linear_acceleration=found[:, :3], angular_acceleration=found[:, 3:])
    return np.stack([velocities, joint_motion(machine, moved).accelerations[:, machine.drive_columns]])


def _smoothing(machine: Machine, state: Array, efforts: Array, step: float) -> float:
    """Width of the sign's tanh: a speed that friction takes away in one step, else it would swing to and fro."""
    with_it, without = (_slope(machine, state, efforts, 0.0, friction)[1] for friction in (True, False))
    return float(step * np.abs(with_it - without).max())


def _rms(values: Array) -> Array:
    return np.asarray(np.sqrt(np.mean(values**2, axis=0)))
