"""Hydraulic drives: cylinder and valve, the controller of each axis; and MuJoCo's mechanism driven by them.

Heimann & Abdellatif (MSI; R4-44) control their hydraulic hexapod axis by axis, because a better model of the actuator
counts more there than the dynamics of the mechanism; they print no hydraulic data and no equations. The equations here
are those of textbooks (orifice flow with the square root of the pressure drop, compressible chambers, valve of second
order).
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.errors import ConfigurationError
from pkm_description.machine import Machine, PlatformMotion
from pkm_description.settings import Settings, setting

from pkm_bringup.control import LegReference, check_reference
from pkm_bringup.simulation.controlled_simulation import TrackingRecord
from pkm_bringup.simulation.mujoco_simulation import MujocoSimulation, SimulationError
from pkm_bringup.simulation.sensors import Encoder

#: each contains the one before it
STAGES = ('position', 'velocity', 'velocity_and_load')
#: said of every value that the user has not given
_ASSUMED = '(default assumed: the paper prints no hydraulic data)'


@dataclass(frozen=True)
class HydraulicSettings(Settings):
    """Data of a cylinder and its valve, the same for all axes; supplied by the user.

    Read them from a file with ``HydraulicSettings.from_file(path, 'hydraulic')``. The printed figures that the defaults
    keep: 15 kN and 1 m/s per cylinder, valves of more than 50 Hz.

    Raises
    ------
    ConfigurationError
        A value of the wrong kind or out of its range, or a tank above the supply.
    """

    supply_pressure: float = setting(2.1e7, f'Pa {_ASSUMED}', 1e5, 1e9)
    tank_pressure: float = setting(0.0, f'Pa {_ASSUMED}', 0.0, 1e8)
    piston_area: float = setting(1.0e-3, f'of the piston, m^2 {_ASSUMED}', 1e-7, 10.0)
    rod_side_area: float = setting(8.0e-4, f'of the piston less the rod, m^2 {_ASSUMED}', 1e-7, 10.0)
    dead_volume: float = setting(5.0e-5, f'of a chamber with its pipe, piston at its end, m^3 {_ASSUMED}', 1e-9, 10.0)
    bulk_modulus: float = setting(1.0e9, f'of the oil with its pipes, Pa {_ASSUMED}', 1e6, 1e11)
    leakage: float = setting(1.0e-12, f'between the chambers, m^3/s per Pa {_ASSUMED}', 0.0, 1e-6)
    rated_flow: float = setting(8.0e-4, f'of the open valve at the rated drop, m^3/s {_ASSUMED}', 1e-9, 10.0)
    rated_drop: float = setting(3.5e6, f'pressure drop of one edge at the rated flow, Pa {_ASSUMED}', 1e3, 1e9)
    valve_frequency: float = setting(60.0, f'natural frequency of the valve, Hz {_ASSUMED}', 0.1, 1e4)
    valve_damping: float = setting(0.7, f'damping ratio of the valve {_ASSUMED}', 0.05, 10.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tank_pressure >= self.supply_pressure:
            supply = self.supply_pressure
            raise ConfigurationError(
                f'tank_pressure = {self.tank_pressure:g} Pa: must be below supply_pressure = {supply:g} Pa'
            )

    def assumed(self) -> list[str]:
        """Lines about the values that are the assumed defaults; empty if the user gave all of them."""
        return [
            f'{entry.name} = {entry.default:g} is assumed: give the value of your cylinder or valve'
            for entry in fields(self)
            if getattr(self, entry.name) == entry.default
        ]


class Cylinder:
    """Equations of A equal cylinders; arrays (A,), chamber 1 pushes the rod out.

    Parameters
    ----------
    settings : data
    stroke : (A,) m
    """

    def __init__(self, settings: HydraulicSettings, stroke: Array) -> None:
        self.settings = settings
        self._stroke = stroke
        self._gain = settings.rated_flow / np.sqrt(settings.rated_drop)
        self._ratio = settings.rod_side_area / settings.piston_area

    def force(self, pressures: Array) -> Array:
        """Force on the rod (A,) N of chamber pressures (2, A) Pa."""
        return self.settings.piston_area * pressures[0] - self.settings.rod_side_area * pressures[1]

    def flows(self, opening: Array, pressures: Array) -> Array:
        """Flows (2, A) m^3/s into the chambers at valve openings (A,) of -1 .. 1 (positive: rod out)."""
        supply, tank = self.settings.supply_pressure, self.settings.tank_pressure
        out = opening >= 0.0
        first = np.where(out, supply - pressures[0], pressures[0] - tank)
        second = np.where(out, pressures[1] - tank, supply - pressures[1])
        return self._gain * opening * np.array([_signed_root(first), -_signed_root(second)])

    def pressure_rates(self, opening: Array, pressures: Array, position: Array, speed: Array) -> Array:
        """Time derivatives (2, A) Pa/s of the pressures; position from the lower end of the stroke, m."""
        data = self.settings
        volumes = data.dead_volume + np.array(
            [data.piston_area * position, data.rod_side_area * (self._stroke - position)]
        )
        leak = data.leakage * (pressures[0] - pressures[1])
        swept = np.array([-data.piston_area * speed - leak, data.rod_side_area * speed + leak])
        return data.bulk_modulus / volumes * (self.flows(opening, pressures) + swept)

    def drop(self, force: Array, outward: NDArray[np.bool_]) -> Array:
        """Pressure drop (A,) Pa over the valve edge of chamber 1, at constant speed against a force (A,) N.

        Both edges of the valve have the same opening, so the ratio of their drops is that of the areas, squared; with
        the balance of forces this gives the pressures.
        """
        data, squared = self.settings, self._ratio**2
        whole = data.piston_area + data.rod_side_area * squared
        high = np.where(outward, data.tank_pressure, data.supply_pressure)
        low = np.where(outward, data.supply_pressure, data.tank_pressure)
        first = (force + data.rod_side_area * (high + squared * low)) / whole
        return np.asarray(np.where(outward, data.supply_pressure - first, first - data.tank_pressure))

    def opening(self, speed: Array, force: Array) -> Array:
        """Valve opening (A,), not limited, that moves the rod at a speed (A,) m/s against a force (A,) N.

        The square root of the valve flow, inverted; a drop below 1 % of the supply counts as that much, because no
        opening moves a cylinder against a force that it does not have.
        """
        drop = np.maximum(self.drop(force, speed >= 0.0), 0.01 * self.settings.supply_pressure)
        return np.asarray(self.settings.piston_area * speed / (self._gain * np.sqrt(drop)))

    def largest_forces(self) -> tuple[float, float]:
        """Largest force outwards and inwards, N."""
        data = self.settings
        ends = data.supply_pressure, data.tank_pressure
        return (
            data.piston_area * ends[0] - data.rod_side_area * ends[1],
            data.rod_side_area * ends[0] - data.piston_area * ends[1],
        )

    def largest_speeds(self) -> tuple[float, float]:
        """Speed outwards and inwards without load at full opening, m/s."""
        none = np.zeros(1)
        out, back = (1.0 / self.opening(np.array([sign]), none)[0] for sign in (1.0, -1.0))
        return float(out), float(-back)

    def pressures_at_rest(self, force: Array) -> Array:
        """Chamber pressures (2, A) Pa that carry a force (A,) N at rest, with the closed valve's mean of both edges."""
        data = self.settings
        second = 0.5 * (data.supply_pressure + data.tank_pressure) * np.ones_like(force)
        first = (force + data.rod_side_area * second) / data.piston_area
        if ((first < data.tank_pressure) | (first > data.supply_pressure)).any():
            raise ConfigurationError(
                f'forces {np.round(force)} N at rest need pressures outside of tank and supply; check the areas'
            )
        return np.array([first, second])


def _signed_root(drop: Array) -> Array:
    return np.asarray(np.sign(drop) * np.sqrt(np.abs(drop)))


@dataclass(frozen=True)
class HydraulicControlSettings(Settings):
    """Gains of the axis controllers."""

    stage: str = setting(
        'velocity_and_load', 'position loop alone; + desired velocity; + square root of the flow under load',
        choices=STAGES,
    )  # fmt: skip
    position_gain: float = setting(30.0, 'speed for each metre of position error [1/s]', 0.0, 1e4)
    force_damping: float = setting(
        1e-5, 'speed taken back for each newton of force above the expected one [m/s/N]; damps the oil column', 0.0, 1.0
    )
    compensate_valve: bool = setting(True, "take the desired velocity ahead by the valve's delay")


class HydraulicAxes:
    """Valve openings from position errors, desired velocities and expected forces; each axis for itself.

    speed = desired velocity + position_gain * position error - force_damping * (force - expected force), and the
    opening that gives this speed: linear in the speed without load, or with the square root of the pressure drop that
    the expected force leaves (feedback linearisation of the valve). Dead times are not modelled.

    Parameters
    ----------
    cylinder : data of all axes, as the controller believes them to be
    settings : gains

    Attributes
    ----------
    lead_ns : how far ahead the desired velocity is to be taken
    """

    def __init__(self, cylinder: Cylinder, settings: HydraulicControlSettings | None = None) -> None:
        self._cylinder = cylinder
        self.settings = settings or HydraulicControlSettings()
        data = cylinder.settings
        # of a second-order valve that follows a ramp
        delay = 2.0 * data.valve_damping / (2.0 * np.pi * data.valve_frequency)
        self.lead_ns = round(1e9 * delay) if self.settings.compensate_valve else 0

    def openings(
        self, error: Array, desired_velocity: Array, force: Array, expected_force: Array
    ) -> Array:
        """Valve openings (A,) of -1 .. 1.

        Parameters
        ----------
        error : (A,) m, desired minus measured position
        desired_velocity : (A,) m/s, ahead by :attr:`lead_ns`
        force : (A,) N, measured, e.g. from the chamber pressures
        expected_force : (A,) N, of the machine's model: weight, inertia, friction
        """
        settings = self.settings
        speed = settings.position_gain * error - settings.force_damping * (force - expected_force)
        if settings.stage != 'position':
            speed = speed + desired_velocity
        load = expected_force if settings.stage == 'velocity_and_load' else np.zeros_like(expected_force)
        return np.clip(self._cylinder.opening(speed, load), -1.0, 1.0)


#: s of the mechanism; oil columns swing at more than 100 Hz
TIME_STEP = 2e-4
#: of these between two periods of the controllers
_EVERY = 5

#: steps of valve and pressures in one of the mechanism
_SUBSTEPS = 4


class HydraulicDrives:
    """Valves of second order and compressible chambers of all drives.

    Parameters
    ----------
    cylinder : equations and data
    force : (A,) N that the drives carry at the begin

    Attributes
    ----------
    pressures : (2, A) Pa
    spool : (A,) opening of the valves, -1 .. 1
    """

    def __init__(self, cylinder: Cylinder, force: Array) -> None:
        self._cylinder = cylinder
        self._frequency = 2.0 * np.pi * cylinder.settings.valve_frequency
        self._damping = cylinder.settings.valve_damping
        self.pressures = cylinder.pressures_at_rest(force)
        self.spool, self._spool_rate = np.zeros((2, len(force)))

    def advance(self, command: Array, position: Array, speed: Array, step: float) -> Array:
        """Forces (A,) N after a step with commanded openings (A,); position from the lower end of the stroke."""
        small = step / _SUBSTEPS
        for _ in range(_SUBSTEPS):
            acceleration = (
                self._frequency**2 * (command - self.spool) - 2.0 * self._damping * self._frequency * self._spool_rate
            )
            self._spool_rate = self._spool_rate + small * acceleration
            self.spool = np.clip(self.spool + small * self._spool_rate, -1.0, 1.0)
            # Heun: the chambers are stiff against the flow
            first = self._cylinder.pressure_rates(self.spool, self.pressures, position, speed)
            guess = np.maximum(self.pressures + small * first, 0.0)
            second = self._cylinder.pressure_rates(self.spool, guess, position, speed)
            # oil takes no tension
            self.pressures = np.maximum(self.pressures + 0.5 * small * (first + second), 0.0)
        return self._cylinder.force(self.pressures)


@dataclass(frozen=True)
class HydraulicRecord(TrackingRecord):
    """A followed motion, N control periods; saturated are the valves.

    Attributes
    ----------
    openings : (N, A) of the valves, as commanded
    pressures : (N, 2, A) Pa
    """

    openings: Array
    pressures: Array


def track_hydraulically(
    machine: Machine,
    motion: PlatformMotion,
    data: HydraulicSettings | None = None,
    control: HydraulicControlSettings | None = None,
    seed: int = 0,
) -> HydraulicRecord:
    """Let the axis controllers follow a motion on simulated cylinders, valves, mechanism and sensors, at 1 kHz.

    Parameters
    ----------
    machine : with prismatic drives
    motion : begins and ends at rest, begins at home
    data : of the simulated cylinders and valves; default: assumed
    control : gains; default: assumed
    seed : of the sensor noise

    Raises
    ------
    ConfigurationError
        A drive turns.
    ReferenceRefusedError
        The motion cannot be followed.
    SimulationError
        The physics diverged.
    """
    if any(joint.kind != 'prismatic' for joint in machine.actuated_joints):
        raise ConfigurationError(f'{machine.name}: cylinders drive prismatic joints only')
    check_reference(machine, motion)
    reference = LegReference(machine, motion, 0, 'rigid_body_friction')
    lower, upper = np.array([(joint.limits.lower, joint.limits.upper) for joint in machine.actuated_joints]).T
    cylinder = Cylinder(data or HydraulicSettings(), upper - lower)
    axes = HydraulicAxes(cylinder, control)
    simulation = MujocoSimulation(machine, seed, time_step=TIME_STEP)
    encoder = Encoder(machine.leg_sensors, seed)
    drives = HydraulicDrives(cylinder, simulation.data.ctrl.copy())
    times = np.arange(0, reference.end_ns, _EVERY * simulation.step_ns, dtype=np.int64)
    wanted, ahead = reference.evaluate(times), reference.evaluate(times + axes.lead_ns)
    actual, openings, forces = np.empty((3, len(times), machine.actuated_count))
    pressures = np.empty((len(times), 2, machine.actuated_count))
    force = simulation.data.ctrl.copy()
    for sample in range(len(times)):  # physics is sequential
        actual[sample], forces[sample], pressures[sample] = simulation.joint_positions, force, drives.pressures
        measured, _ = encoder.measure(simulation.joint_positions, simulation.joint_velocities)
        error = wanted.positions[sample] - measured
        openings[sample] = axes.openings(error, ahead.rates[sample], force, ahead.forces[sample])
        for _ in range(_EVERY):
            position, speed = simulation.joint_positions - lower, simulation.joint_velocities
            force = drives.advance(openings[sample], position, speed, TIME_STEP)
            if not np.isfinite(force).all():
                raise SimulationError(f'{machine.name}: the oil pressures diverged at t = {simulation.time:.3f} s')
            simulation.step(force)
    time, saturated = 1e-9 * times.astype(float), np.count_nonzero(np.abs(openings) >= 1.0, axis=0)
    return HydraulicRecord(machine, time, wanted.positions, actual, forces, saturated, openings, pressures)
