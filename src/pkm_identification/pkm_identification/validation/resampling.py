"""Standard deviations without a formula: block bootstrap of the rows, and Monte Carlo with re-made recordings.

The formula of the estimate assumes a stationary covariance of the residuals and rows that are known exactly. The
bootstrap asks the residuals themselves; Monte Carlo asks the noise model of the machine file, and runs everything again
from noisy positions and efforts on.
"""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics.parameter_reduction.reduction import BaseParameters
from pkm_description.errors import ConfigurationError

from pkm_identification.columns.observation import ObservationModel
from pkm_identification.configuration import IdentificationConfig
from pkm_identification.fitting.model_fit import ModelFit, fit_model
from pkm_identification.fitting.shape_search import CORRELATION_LAGS
from pkm_identification.motion_source.bands import Bands
from pkm_identification.preparation import PreparedData, prepare
from pkm_identification.recording.recording import Recording

#: blocks are at least this many times longer than the residuals are correlated in the formula
BLOCK = 2
#: ratio of two standard deviations from which they disagree, beside what few samples explain
DISAGREEMENT = 1.25
#: standard errors that count as few samples
CHANCE = 3.0


@dataclass(frozen=True)
class ResampledStd:
    """Spread of base parameters over repetitions.

    Attributes
    ----------
    method : ``block bootstrap`` or ``Monte Carlo``
    count : of repetitions
    seed : of the random numbers
    mean, std : (B,) over the repetitions
    uncertainty : relative standard error of the standard deviations
    """

    method: str
    count: int
    seed: int
    mean: Array
    std: Array
    uncertainty: float

    def disagreements(self, names: tuple[str, ...], formula: Array) -> tuple[str, ...]:
        """Say for which parameters the formula's standard deviations (B,) are another than these."""
        limit = DISAGREEMENT * (1.0 + CHANCE * self.uncertainty)
        ratio = self.std / formula
        found = []
        for word, which in (('smaller', ratio > limit), ('larger', ratio < 1.0 / limit)):
            if which.any():
                worst = int(np.argmax(np.where(which, np.abs(np.log(ratio)), -np.inf)))
                found.append(
                    f'{self.method} with {self.count} repetitions: standard deviations of {int(which.sum())} '
                    f'of {len(names)} base parameters are {word} by the formula, most in {names[worst]}: '
                    f'{formula[worst]:.3g} instead of {self.std[worst]:.3g}'
                )
        return tuple(found)


def block_bootstrap(fit: ModelFit, row_weights: Array, count: int, seed: int = 0) -> ResampledStd:
    """Fit again to blocks of rows, drawn with replacement.

    A block is a stretch of time with the rows of all drives, so that correlation within it and between drives is kept.
    Nonlinear parameters vary along with the others to first order, by their columns.

    Parameters
    ----------
    fit : its rows and residuals
    row_weights : (n, A)
    count : repetitions
    seed : of the random numbers
    """
    columns = fit.noise.weighed(fit.fitted_columns, row_weights)
    number = columns.shape[-1]
    scale = np.linalg.norm(columns.reshape(-1, number), axis=0)
    columns = columns / scale
    residuals = fit.noise.weighed(fit.errors, row_weights)
    length = max(BLOCK * CORRELATION_LAGS, round(len(columns) ** (1.0 / 3.0)))
    edges = np.arange(0, len(columns), length)
    blocks = [slice(start, start + length) for start in edges.tolist()]
    normal = np.stack([np.tensordot(columns[one], columns[one], ([0, 1], [0, 1])) for one in blocks])
    moment = np.stack([np.tensordot(columns[one], residuals[one], ([0, 1], [0, 1])) for one in blocks])
    drawn = np.random.default_rng(seed).integers(len(edges), size=(count, len(edges)))
    # how often each block was drawn
    times = np.apply_along_axis(np.bincount, 1, drawn, minlength=len(edges)).astype(float)
    matrices = np.tensordot(times, normal, axes=1)
    changes = np.linalg.solve(matrices, (times @ moment)[..., None])[..., 0] / scale
    values = fit.estimate.parameters + changes[:, : len(fit.base)]
    used = float(np.count_nonzero(row_weights))
    absorbed = np.sqrt(used / max(used - number, 1.0))
    error = np.sqrt(0.5 / max(count - 1, 1) + 0.5 / max(len(edges) - 1, 1))
    return ResampledStd(
        'block bootstrap', count, seed, values.mean(axis=0), absorbed * values.std(axis=0, ddof=1), float(error)
    )


def monte_carlo(
    data: PreparedData, fit: ModelFit, config: IdentificationConfig, count: int, seed: int = 0,
    executor: Executor | None = None,
) -> ResampledStd:  # fmt: skip
    """Make recordings with the fitted machine and the noise of the machine file, and identify each.

    The mean of the repetitions less the fitted values is the bias that noisy positions, smoothing and rows near
    reversals give.

    Parameters
    ----------
    data, fit : the recording and its fit; its smooth motion and predicted efforts are the truth of the repetitions
    config : settings of the fit
    count : repetitions
    seed : of the first one; each has its own
    executor : runs the repetitions; default: one after another

    Raises
    ------
    ConfigurationError
        The motion comes from an estimator.
    """
    if config.motion.source == 'estimator':
        raise ConfigurationError(
            "monte_carlo makes positions of the drives, so it needs a motion from them, not motion.source = 'estimator'"
        )
    clean = Recording(data.recording.time, data.samples.positions, fit.efforts, source='Monte Carlo')
    run = partial(_one_run, fit.model, clean, config, data.bands, fit.base)
    seeds = [int(one) for one in np.random.SeedSequence(seed).generate_state(count)]
    values = np.array(list(map(run, seeds) if executor is None else executor.map(run, seeds)))
    error = float(np.sqrt(0.5 / max(count - 1, 1)))
    return ResampledStd('Monte Carlo', count, seed, values.mean(axis=0), values.std(axis=0, ddof=1), error)


def _one_run(
    model: ObservationModel, clean: Recording, config: IdentificationConfig, bands: Bands, base: BaseParameters,
    seed: int,
) -> Array:  # fmt: skip
    """Base values (B,) of one noisy recording."""
    random, sensors = np.random.default_rng(seed), model.machine.leg_sensors
    shape = clean.drive_positions.shape
    noisy = Recording(
        clean.time,
        clean.drive_positions + sensors.position_noise * random.normal(size=shape),
        clean.forces + sensors.effort_noise * random.normal(size=shape),
        source=f'Monte Carlo with seed {seed}',
    )
    found = fit_model(prepare(model, noisy, config, bands), model, config)
    return base.values(found.parameters[found.model.free])
