"""Base parameters of a machine with the covariance that a recording gives them, and draws of their noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from known_machines import known_machine
from pkm_description.dynamics.parameter_reduction.reduction import BaseParameters
from pkm_description.loading import load_machine
from pkm_description.motion.profiles import profile
from pkm_identification.columns.observation import ObservationModel
from pkm_identification.estimator.least_squares import weighted
from pkm_identification.judgement.significance import excited_parameters
from synthetic import NOMINAL


@dataclass(frozen=True)
class Case:
    """What a recording of a machine can say: combinations, covariance (B, B) of white noise, truth and nominal (P,)."""

    names: tuple[str, ...]
    base: BaseParameters
    covariance: np.ndarray
    truth: np.ndarray
    nominal: np.ndarray

    def draw(self, random: np.random.Generator, truth: np.ndarray | None = None) -> np.ndarray:
        """Noisy base values (B,)."""
        noise = np.linalg.cholesky(self.covariance) @ random.normal(size=len(self.base))
        return self.base.values(self.truth if truth is None else truth) + noise


def base_of(names: Sequence[str], combination: np.ndarray) -> BaseParameters:
    """Combinations (B, P) of parameters, each headed by its first one."""
    heads = np.array([np.flatnonzero(row)[0] for row in combination])
    none = np.zeros(0, dtype=np.intp)
    return BaseParameters(tuple(names), heads, none, none, combination, np.ones(len(names)))


def case_of(name: str, relative_noise: float, samples: int = 300, overlay: bool = False) -> Case:
    """Case of a machine file along its own excitation; noise relative to the rms force."""
    machine = known_machine(name)
    nominal = load_machine(name, NOMINAL / f'nominal_{name}.yaml') if overlay else machine
    model = ObservationModel(machine)
    kind = 'fourier' if machine.degrees_of_freedom == 6 else 'drives'
    motion = profile(kind, machine, duration=(samples - 1) / 25.0, rate=25.0)
    regressor, _ = model.regressor(motion)
    truth = model.parameters(machine)
    forces = regressor @ truth
    noise = relative_noise * np.sqrt(np.mean(forces**2)) * np.random.default_rng(0).normal(size=forces.shape)
    structure = model.base_parameters()
    base, _ = excited_parameters(structure.columns(regressor), structure)
    covariance = weighted(base.columns(regressor), forces + noise).covariance
    return Case(model.names, base, covariance, truth, model.parameters(nominal))
