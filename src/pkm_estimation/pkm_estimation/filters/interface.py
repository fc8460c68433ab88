"""What a filter needs of a process and of a measurement; points are rows (N, n), each a state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.kernels.structures import structure

from pkm_estimation.kernels.unscented import (
    NOISES,
    CorrectionData,
    FilterData,
    correct,
    correction_data,
    draw_points,
    predict_from_points,
)


class FilterMemory(NamedTuple):
    """Memory of an unscented filter for NumPy, and the same for kernels."""

    data: FilterData
    struct: FilterData


class CorrectionMemory:
    """Memory of a correction for NumPy, and the same for kernels; and the noise and the entries written for the last.

    For a measurement of ``count`` numbers of ``size`` states, and so many columns for constants of the machine.
    """

    def __init__(self, size: int, count: int, constants: int = 0) -> None:
        self.data = correction_data(size, count, constants)
        self.struct: CorrectionData = structure(self.data)
        self.noise: Array | None = None
        self.used: NDArray[np.intp] | None = None


class ProcessStep(ABC):
    """One step of a process model."""

    @abstractmethod
    def propagate(self, points: Array) -> Array:
        """Points (N, n) after the step; may overwrite the given ones."""

    @abstractmethod
    def noise_factor(self, state: Array) -> Array:
        """Square root (n, k), k <= 6, of the process noise at a state (n,)."""

    def add_noise(self, state: Array, covariance: Array, carried: Array) -> None:
        """Add the process noise to a covariance (n, n) after the step.

        Parameters
        ----------
        state : (n,) before the step
        carried : (n, c) covariances with causes of noise that act again; changed in place, too
        """
        factor = self.noise_factor(state)
        covariance += factor @ factor.T

    def predict(self, memory: FilterMemory) -> int:
        """Predict an unscented filter; returns the kernels' status. Compiled models do so in a single call."""
        data, struct = memory
        status = draw_points(struct)
        if status < 0:
            return status
        factor, noise = self.noise_factor(data.state), data.rows[-NOISES:]
        noise[:] = 0.0
        noise[: factor.shape[1], : len(factor)] = factor.T
        data.points[:] = self.propagate(data.points)
        predict_from_points(struct, NOISES)
        return status


class MeasurementModel(ABC):
    """Predicts a measurement."""

    @abstractmethod
    def observe(self, points: Array) -> Array:
        """Predictions (N, m) of points (N, n)."""

    def slopes_by_constants(self, points: Array) -> Array | None:
        """Slopes (m, p) of the prediction with respect to the first p constants that the filter considers.

        At the first of the points (N, n) that were observed last. Default: it does not depend on them.
        """
        return None

    def correct(self, memory: FilterMemory, correction: CorrectionMemory, limit: float) -> int:
        """Correct an unscented filter; returns the kernels' status. Compiled models do so in a single call."""
        status = draw_points(memory.struct)
        if status < 0:
            return status
        correction.data.values[:] = self.observe(memory.data.points)
        if correction.data.constants.size:
            constants, slopes = correction.data.constants, self.slopes_by_constants(memory.data.points)
            constants[:] = 0.0
            if slopes is not None:
                constants[:, : slopes.shape[1]] = slopes
        return correct(memory.struct, correction.struct, limit)


@dataclass(frozen=True)
class FunctionStep(ProcessStep):
    """Step by a function of points (N, n), with noise of a square root (n, k) of its own."""

    function: Callable[[Array], Array]
    noise: Array

    def propagate(self, points: Array) -> Array:
        """Points (N, n) after the step."""
        return self.function(points)

    def noise_factor(self, state: Array) -> Array:
        """Square root (n, k) of the process noise."""
        return self.noise


@dataclass(frozen=True)
class FunctionModel(MeasurementModel):
    """Measurement by a function from points (N, n) to predictions (N, m)."""

    function: Callable[[Array], Array]

    def observe(self, points: Array) -> Array:
        """Predictions (N, m) of points (N, n)."""
        return self.function(points)


# Explicit Runge-Kutta methods for states driven by an input that is known within the step.
#
# Of these methods every stage needs the slope of the stage before it only. So two lists describe one: stage ``i`` lies
# ``nodes[i]`` steps behind the beginning, reached along the slope of stage ``i - 1``, and the step is the sum of all
# slopes times ``weights``.
@dataclass(frozen=True)
class Integrator:
    """A method by its nodes and weights, both in parts of the step.

    Attributes
    ----------
    looks, mixture : where the input is looked at, and the parts of what is seen there in the input of each stage;
        empty: each stage looks at its own node
    """

    nodes: tuple[float, ...]
    weights: tuple[float, ...]
    looks: tuple[float, ...] = ()
    mixture: tuple[tuple[float, ...], ...] = ()


def _third_order() -> Integrator:
    """Heun's method of third order, with inputs whose first and second integral over the step are exact for cubics.

    At its own nodes it would lose the third power of a velocity's input, and the second of a position's. Radau's
    quadrature looks at the input; an input that is linear is the same at the nodes.
    """
    nodes, weights = (0.0, 1.0 / 3.0, 2.0 / 3.0), (0.25, 0.0, 0.75)
    looks = 0.0, 0.6 - 0.1 * sqrt(6.0), 0.6 + 0.1 * sqrt(6.0)
    parts = 1.0 / 9.0, (16.0 + sqrt(6.0)) / 36.0, (16.0 - sqrt(6.0)) / 36.0
    twice = [part * (1.0 - look) / (weights[2] * nodes[2]) for look, part in zip(looks, parts, strict=True)]
    once = [part / weights[2] for part in parts]
    once[0] -= weights[0] / weights[2]
    return Integrator(nodes, weights, looks, ((1.0, 0.0, 0.0), tuple(twice), tuple(once)))


INTEGRATORS: dict[str, Integrator] = {
    # first order, input of the start only: Miletovic et al. 2017, section 4
    'euler': Integrator((0.0,), (1.0,)),
    'heun': Integrator((0.0, 1.0), (0.5, 0.5)),
    'rk3': _third_order(),
    'rk4': Integrator((0.0, 0.5, 0.5, 1.0), (1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0)),
}
