"""A designed excitation: its motion, its objective, and what it keeps free of the limits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics import inverse_dynamics
from pkm_description.dynamics.parameter_reduction.reduction import BaseParameters
from pkm_description.errors import ArgumentError
from pkm_description.kinematics.joint_motion import joint_motion
from pkm_description.machine import Machine, PlatformMotion
from pkm_description.motion.fourier_coordinates import FourierCoordinates

from pkm_identification.excitation.coordinates import MotionCoordinates
from pkm_identification.excitation.settings import ExcitationSettings


@dataclass(frozen=True)
class Margin:
    """Largest use of one limit of one joint: 0 in the middle of the range or at home, 1 at the limit."""

    limit: str
    name: str
    use: float


@dataclass(frozen=True)
class ExcitationDesign:
    """Result of :func:`~pkm_identification.excitation.design.design_excitation`.

    Attributes
    ----------
    machine, settings : as given
    coordinates : of the series
    series : the motion in these coordinates, with run-in and run-out
    variables : (V,) free variables of the series
    base : base parameters that it was designed for
    objective : of the designed series, measured on the fine grid with the sign of friction as it is
    start_objective : of the random series that the optimisation began with, measured in the same way
    random_objective, random_count : best of so many random series, each with the largest amplitude inside the limits
    measures : condition numbers, plain and column-scaled, with and without friction
    margins : largest use of every limit on the fine grid, run-in and run-out included
    evaluations : of cost and limits, all starts together
    message : what the optimiser said last
    """

    machine: Machine
    settings: ExcitationSettings
    coordinates: MotionCoordinates
    series: FourierCoordinates
    variables: Array
    base: BaseParameters
    objective: float
    start_objective: float
    random_objective: float
    random_count: int
    measures: dict[str, float]
    margins: tuple[Margin, ...]
    evaluations: int
    message: str

    @property
    def duration(self) -> float:
        """Of the whole motion, s."""
        return self.series.duration

    @property
    def tightest(self) -> Margin:
        """The limit that is used most."""
        return max(self.margins, key=lambda one: one.use)

    def evaluate(self, time: Array) -> PlatformMotion:
        """Motion at times (N,) s: from rest at home to rest at home."""
        return self.coordinates.motion(np.asarray(time, dtype=float), *self.series.coordinates(time))

    def sampled(self, rate: float) -> PlatformMotion:
        """Motion at ``rate`` Hz, from 0 to the end at home.

        Raises
        ------
        ArgumentError
            A rate at which the highest harmonic has fewer than four samples.
        """
        least = 4.0 * self.series.harmonics * self.series.base_frequency
        if not rate >= least:
            raise ArgumentError(f'rate = {rate} Hz: the highest harmonic needs at least {least:.3g} Hz')
        count = int(np.ceil(self.duration * rate - 1e-9))
        # the last sample is the end itself, which is at rest
        return self.evaluate(np.minimum(np.arange(count + 1) / rate, self.duration))

    def drive_values(self, motion: PlatformMotion) -> tuple[Array, Array, Array, Array, Array]:
        """Time (N,) s of a motion, and positions, velocities, accelerations and forces (N, A) of the drives."""
        joints, columns = joint_motion(self.machine, motion), self.machine.drive_columns
        positions, velocities, accelerations = (
            part[:, columns] for part in (joints.positions, joints.velocities, joints.accelerations)
        )
        return motion.time, positions, velocities, accelerations, inverse_dynamics(self.machine, motion)

    @property
    def summary(self) -> str:
        """One sentence."""
        tight = self.tightest
        change = '' if self.settings.objective == 'd_optimal' else (
            f' ({100.0 * (self.objective / self.random_objective - 1.0):+.0f} %)'
        )
        return (
            f'{self.settings.objective} {self.objective:.4g}, best of {self.random_count} random series '
            f'{self.random_objective:.4g}{change}; period {self.series.period:.4g} s, {self.duration:.4g} s in all '
            f'with run-in and run-out of {self.series.fade_in:.3g} s each; most used: {tight.limit} of {tight.name}, '
            f'{tight.use:.0%}'
        )
