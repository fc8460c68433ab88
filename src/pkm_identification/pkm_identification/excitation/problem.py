"""The design of an excitation as a mathematical programme: cost, constraints, and their gradients."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import ConfigurationError, PkmError
from pkm_description.machine import Joint, JointFriction, Machine, PlatformMotion
from pkm_description.machine.machine import with_friction
from pkm_description.motion.fourier import FourierCoordinates

from pkm_identification.columns.observation import ObservationModel, legs_agree
from pkm_identification.excitation.coordinates import coordinates_of
from pkm_identification.excitation.objective import ExcitationSettings, Objective, SeriesSpace
from pkm_identification.excitation.uses import LimitUses, Use

#: part of the mean speed of a swing over the lowest period, below which a sign is smoothed
_SIGN_PART = 0.05
#: step of the differences that gradients are made of, as a part of what is a large swing, speed or acceleration
STEP = 1e-5


@dataclass(frozen=True)
class Point:
    """One series, looked at on the design's grid.

    Attributes
    ----------
    cost : what is minimised
    uses : all limits
    smooth_uses : (K,) upper bounds of the largest uses, smooth functions of the variables
    cost_gradient, use_gradients : (V,), (K, V); empty if they were not asked for
    """

    cost: float
    uses: list[Use]
    smooth_uses: Array
    cost_gradient: Array
    use_gradients: Array


def largest_use(uses: list[Use]) -> float:
    """Largest use of any limit; NaN where one is not a number."""
    return float(np.max([use.largest.max() for use in uses], initial=-np.inf))


def design_machine(machine: Machine) -> Machine:
    """The machine without what has no columns: offsets, and laws by load, which become viscous and Coulomb friction."""

    def linear(joint: Joint) -> JointFriction:
        own = joint.friction
        if own.law.needs_load:
            return JointFriction.viscous_coulomb(own.viscous, own.coulomb)
        return replace(own, law=replace(own.law, offset=0.0))

    changed = any(joint.friction.law.needs_load or joint.friction.law.offset for joint in machine.joints)
    return with_friction(machine, linear) if changed else machine


class ExcitationProblem:
    """All that an optimiser needs to know of a machine and the settings.

    Variables are those of :class:`~pkm_identification.excitation.objective.SeriesSpace`, coordinate by coordinate; one
    more, the logarithm of the base frequency over its nominal value, where the frequency may change.

    Attributes
    ----------
    model, base : columns of the machine, and its base parameters
    weights : (A,) factors of the drives' rows
    sign_width : m/s or rad/s of a tanh in place of the sign of Coulomb friction, so that derivatives exist
    """

    def __init__(self, machine: Machine, settings: ExcitationSettings) -> None:
        self.machine, self.settings = machine, settings
        self.designed = design_machine(machine)
        self.coordinates = coordinates_of(self.designed, settings.coordinates)
        self.space = SeriesSpace(self.coordinates.scale, settings.harmonics, settings.end_conditions)
        self.objective = Objective(settings.objective, settings.condition_weight, settings.sigma_weight)
        self.identical_legs = legs_agree(self.designed) if settings.legs == 'auto' else settings.legs == 'identical'
        slow = 4.0 * float(np.median(self.coordinates.scale)) * settings.base_frequency
        self.sign_width = settings.sign_width or _SIGN_PART * slow
        self.model = ObservationModel(self.designed, self.identical_legs, settings.friction, settings.fixed)
        self.base = self.model.base_parameters(eliminated=settings.eliminated)
        self.weights = drive_weights(machine, settings.weights)
        swift = np.full(machine.actuated_count, settings.max_acceleration or np.inf)
        if settings.max_acceleration and machine.is_redundant:
            raise ConfigurationError(
                f'max_acceleration = {settings.max_acceleration}: {machine.name} has redundant drives, whose '
                'accelerations are not limited one by one; use 0 and limit speed and force'
            )
        box = [settings.max_displacement if unit == 'm' else settings.max_rotation for unit in self.coordinates.units]
        self.limits = LimitUses(
            self.coordinates, self.sign_width, settings.guideway_clearance, swift,
            np.array([limit or np.inf for limit in box]), settings.condition_ratio,
        )
        self.free_frequency = settings.frequency_ratio > 1.0
        # the objective has its samples everywhere, limits their largest uses at single times: half the samples do
        rows = settings.design_samples * machine.actuated_count
        self._every = 2 if not settings.samples and rows >= 8 * len(self.base) else 1
        self._grid = self.space.shapes(2.0 * np.pi * self.grid_times)

    @property
    def ceiling(self) -> float:
        """Largest use of a limit that the settings allow."""
        return 1.0 - self.settings.margin

    @property
    def grid_times(self) -> Array:
        """Part of a period (N,) at which the design looks."""
        return np.arange(self.settings.design_samples) / self.settings.design_samples

    @property
    def size(self) -> int:
        """Number of variables."""
        return int(np.prod(self.space.shape)) + self.free_frequency

    @property
    def coefficient_count(self) -> int:
        """Coefficients before end conditions: C (2 n + 1), one more with a free frequency."""
        return len(self.coordinates) * (2 * self.settings.harmonics + 1) + self.free_frequency

    def frequency(self, variables: Array) -> float:
        """Base frequency, Hz."""
        return self.settings.base_frequency * (float(np.exp(variables[-1])) if self.free_frequency else 1.0)

    def amplitudes(self, variables: Array) -> Array:
        """Variables (C, M) of the series."""
        return variables[: int(np.prod(self.space.shape))].reshape(self.space.shape)

    def scaled(self, variables: Array, factor: float) -> Array:
        """All amplitudes multiplied; the frequency stays."""
        found = factor * variables
        if self.free_frequency:
            found[-1] = variables[-1]
        return np.asarray(found)

    def series(self, variables: Array, periods: int = 1, fade: float = 0.0) -> FourierCoordinates:
        """The series of variables (V,)."""
        return self.space.series(self.amplitudes(variables), self.frequency(variables), periods, fade, fade)

    def random(self, random: np.random.Generator) -> Array:
        """Variables (V,) of a random series, not scaled to the limits."""
        drawn = self.space.random(random).ravel()
        if not self.free_frequency:
            return drawn
        return np.append(drawn, random.uniform(-1.0, 1.0) * np.log(self.settings.frequency_ratio))

    def motion_of(self, series: FourierCoordinates, time: Array) -> PlatformMotion:
        """Motion of a series, fades included, at times (N,) s."""
        return self.coordinates.motion(time, *series.coordinates(time))

    def uses_of(self, series: FourierCoordinates, time: Array) -> list[Use]:
        """Uses of the limits by a series, fades included, at times (N,) s."""
        values = series.coordinates(time)
        move = self.coordinates.at(values[0])
        return self.limits(move, move(time, values[1], values[2]), values[0])

    def largest_use_of(self, series: FourierCoordinates, time: Array) -> float:
        """Largest use of any limit at times (N,) s; infinite out of reach, or through a singular pose."""
        try:
            return largest_use(self.uses_of(series, time))
        except PkmError:
            return np.inf

    def point(self, variables: Array, sharpness: float, gradients: bool = False) -> Point:
        """Cost and limits of variables (V,), and their gradients.

        The largest of the uses u over N samples is replaced by ``log(sum exp(s u)) / s`` (Kreisselmeier-Steinhauser),
        which is never less, and more by at most ``log(2 N) / s``.

        Raises
        ------
        KinematicsError, FloatingPointError
            The series leaves what the machine can reach, or excites nothing.
        """
        speed = 2.0 * np.pi * self.frequency(variables)
        amplitudes = (self.space.scale[:, None] * self.amplitudes(variables)).T
        motion = np.array([shape @ amplitudes * speed**order for order, shape in enumerate(self._grid)])
        uses, matrix = self._along(motion)
        cost, sensitivity = self.objective.cost(matrix.reshape(-1, matrix.shape[-1]))
        smooth = [_smooth_largest(use, sharpness) for use in uses]
        bounds = np.concatenate([bound for bound, _ in smooth])
        if not gradients:
            return Point(cost, uses, bounds, np.zeros(0), np.zeros((0, 0)))
        left = sensitivity.left.reshape(-1, *matrix.shape[:2])
        found = np.zeros((1 + len(bounds), *np.swapaxes(motion, 0, 1).shape))
        shares = np.concatenate([share for _, share in smooth], axis=1)
        steps = np.diag(STEP * self.space.scale)
        for order in range(3):
            # all coordinates at once, a step to either side of each
            near = np.broadcast_to(motion[:, None, None], (3, len(steps), 2, *motion.shape[1:])).copy()
            change = (speed**order * steps)[:, None, None]
            near[order] += np.concatenate([change, -change], axis=1)
            its_uses, its_matrix = self._along(near.reshape(3, -1, motion.shape[-1]), order == 0)
            width = 2.0 * speed**order * np.diag(steps)
            own = np.einsum('kna,csnab,kb->csn', left, its_matrix.reshape(*near.shape[1:3], *matrix.shape),
                            sensitivity.right, optimize=True)  # fmt: skip
            found[0, :: self._every, order] = ((own[:, 0] - own[:, 1]) / width[:, None]).T
            values = np.concatenate([use.values for use in its_uses], axis=1).reshape(*near.shape[1:4], -1)
            count = values.shape[-1]
            found[-count:, :, order] = np.einsum(
                'nk,cnk,c->knc', shares[:, -count:], values[:, 0] - values[:, 1], 1.0 / width
            )
        found = self._by_variables(found, motion[1], motion[2], speed)
        return Point(cost, uses, bounds, found[0], found[1:])

    def _along(self, motion: Array, of_pose: bool = True) -> tuple[list[Use], Array]:
        """Uses, and the matrix (N, A, B) of the watched samples, of values, rates and accelerations (3, N, C).

        ``of_pose``: whether those that rates do not change are among the uses.
        """
        value, rate, second = motion
        move = self.coordinates.at(value)
        made = move(np.arange(len(value), dtype=float), rate, second)
        return self.limits(move, made, value, of_pose), self.matrix(made[:: self._every])

    def matrix(self, motion: PlatformMotion, smooth: bool = True) -> Array:
        """Weighted observation matrix (N, A, B) of the base parameters; ``smooth=False``: with the sign itself."""
        columns, _ = self.model.regressor(motion, self.sign_width if smooth else 0.0)
        return np.asarray(columns[..., self.base.independent] * self.weights[:, None])

    def period_rows(self, variables: Array, samples: int) -> Array:
        """Weighted rows (N A, B) of a period of so many samples, with signs of friction that are not smoothed."""
        series = self.series(variables)
        time = np.arange(samples) / (samples * series.base_frequency)
        matrix = self.matrix(self.coordinates.motion(time, *series.periodic(time)), smooth=False)
        return matrix.reshape(-1, matrix.shape[-1])

    def figure(self, variables: Array, samples: int) -> float:
        """The objective of these rows."""
        return self.objective.value(self.period_rows(variables, samples))

    def _by_variables(self, by_motion: Array, rate: Array, second: Array, speed: float) -> Array:
        """Gradients (K, V) by the variables from those (K, N, 3, C) by values, rates and accelerations."""
        total = np.zeros((len(by_motion), *self.space.shape))
        for order, shape in enumerate(self._grid):
            total += speed**order * np.einsum('knc,nm->kcm', by_motion[:, :, order], shape)
        found = (total * self.space.scale[:, None]).reshape(len(total), -1)
        if not self.free_frequency:
            return found
        # rates grow with the frequency, accelerations with its square
        by_rate, by_second = by_motion[:, :, 1], by_motion[:, :, 2]
        own = np.einsum('knc,nc->k', by_rate, rate) + 2.0 * np.einsum('knc,nc->k', by_second, second)
        return np.column_stack([found, own])


def drive_weights(machine: Machine, weights: str) -> Array:
    """Factors (A,) of the drives' rows: one over their effort noise, 1 in the mean; all 1 without such a figure."""
    if weights == 'equal' or not machine.has_leg_sensors:
        return np.ones(machine.actuated_count)
    noise = np.asarray(machine.leg_sensors.effort_noise, dtype=float)
    drives = [sum(joint.actuated for joint in leg.joints) for leg in machine.legs]
    if len(noise) == machine.leg_count != machine.actuated_count:
        noise = np.repeat(noise, drives)
    if len(noise) != machine.actuated_count or not (noise > 0.0).all():
        return np.ones(machine.actuated_count)
    return np.asarray(1.0 / noise / np.mean(1.0 / noise))


def _smooth_largest(use: Use, sharpness: float) -> tuple[Array, Array]:
    """Smooth upper bound (K,) of the largest use over time, and its derivative (N, K) by the uses."""
    sides = np.stack([use.values, -use.values] if use.two_sided else [use.values])
    top = sides.max(axis=(0, 1))
    share = np.exp(sharpness * (sides - top))
    total = share.sum(axis=(0, 1))
    signed = share[0] - share[1] if use.two_sided else share[0]
    return top + np.log(total) / sharpness, signed / total
