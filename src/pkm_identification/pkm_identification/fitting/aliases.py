"""Forces of drives that a recording cannot tell from others, and deviations that allow for what a fit leaves out.

A column that lies in the span of the others has no value of its own; one that nearly does has a large standard
deviation. Among bodies that is nothing special, base parameters are made for it; between a body and friction, an offset
or a spring it is a property of the motion, and another motion or measurement helps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics.parameter_reduction.reduction import Indices
from scipy.linalg import lstsq

from pkm_identification.columns.friction_term import JUMPS, Pooled
from pkm_identification.estimator.least_squares import with_noise
from pkm_identification.estimator.residual_covariance import RowNoise
from pkm_identification.fitting.model_fit import ModelFit
from pkm_identification.fitting.prediction import all_rows, slope_rows
from pkm_identification.fitting.shape_search import CORRELATION_LAGS, WeighedFit
from pkm_identification.preparation import PreparedData

#: part of a column that is its own, up to which it is not told from the others at all, and hardly
NOT_TOLD, HARDLY_TOLD = 1e-5, 0.03
#: others that are named at most, and part of the largest factor from which one is
NAMED, PART = 4, 0.1
#: equations that are enough to see it
EQUATIONS = 10_000
#: largest standard deviation of the drives of a kind, as a part of the value, and how many are tried
LARGEST, TRIED = 0.5, 200
#: part of a column's length beyond the others from which a deviation is seen
SEEN = 1e-3

_BODY = 'a body'
_RUBBING = 'Coulomb friction'
#: what two kinds of parameters have in common, and what parts them
_REMEDIES = {
    ('effort_offset', _RUBBING): 'an offset acts as Coulomb friction does where a drive never reverses, and as half of '
    'the difference of Coulomb friction by direction: move the drive both ways, and measure its effort free of load',
    ('effort_offset', _BODY): 'gravity pulls almost alike in all poses of this recording: move farther and tilt more, '
    'or measure the effort with the drive free of load',
    (_RUBBING, _BODY): 'gravity pulls almost alike, and so does friction that differs by direction or never reverses: '
    'move farther, tilt more, both ways',
    ('stiffness', _BODY): 'the pull of gravity changes almost in proportion to the position: move farther and tilt '
    'more, or record without the spring',
    ('rotor_inertia', _BODY): 'a rotor resists as the mass that its drive moves: put rotor_inertia of the data sheet '
    'into the machine file and hold it (columns.fixed), or record with gravity along the drive',
    ('effort_offset', 'stiffness'): 'the position changes little beside its distance from zero: move over more of the '
    'stroke',
    ('stiffness', 'rotor_inertia'): 'at one frequency a spring acts as a negative inertia: move at several',
}  # fmt: skip


@dataclass(frozen=True)
class Alias:
    """A parameter of a drive's force that others imitate.

    Attributes
    ----------
    name : of the parameter
    others : names of those that imitate it, the most alike first
    own : part of its force that they leave, 0 to 1
    remedy : what parts them
    """

    name: str
    others: tuple[str, ...]
    own: float
    remedy: str

    def __str__(self) -> str:
        others = ', '.join(self.others)
        if self.own <= NOT_TOLD:
            return f'{self.name} is not told from {others}, only their sum is known: {self.remedy}'
        return (
            f'{self.name} is hardly told from {others}, {100 * self.own:.2g} % of its force is its own: {self.remedy}'
        )


def aliases(data: PreparedData, fit: ModelFit, weak: Sequence[str] = ()) -> tuple[Alias, ...]:
    """Parameters of the terms that the rows of a recording do not tell from others.

    Parameters
    ----------
    weak : names of base parameters that are not known well; only parameters of these are named that are *hardly* told
        from others, for enough data tell them still
    """
    model = fit.model
    # contacts turn at once: how they are deflected tells no force from another
    samples = replace(fit.samples, deflections=None)
    rows = all_rows(model, data, samples)[..., model.free] * data.row_weights[..., None]
    of_terms = model.names[int(np.searchsorted(model.free, model.structure_count)) :]
    open_names = {name for text in weak for name in text.replace('+', ' ').replace('-', ' ').split()}
    return tuple(
        one for one in aliases_of(rows, model.names, of_terms) if one.own <= NOT_TOLD or one.name in open_names
    )


def aliases_of(rows: Array, names: Sequence[str], chosen: Sequence[str]) -> tuple[Alias, ...]:
    """Parameters that least squares of all other columns imitate, each group of them once.

    Parameters
    ----------
    rows : (..., P) weighted columns
    names : P
    chosen : names of the parameters that are looked at
    """
    flat = rows.reshape(-1, len(names))
    flat = flat[:: max(1, len(flat) // EQUATIONS)]
    size = np.linalg.norm(flat, axis=0)
    scaled = np.divide(flat, size, out=np.zeros_like(flat), where=size > 1e-12 * size.max(initial=0.0))
    columns = np.asarray(np.linalg.qr(scaled, mode='r'))  # has the lengths and angles of all columns
    found: dict[frozenset[str], Alias] = {}
    for place in [place for place, name in enumerate(names) if name in chosen and columns[:, place].any()]:
        rest = np.delete(np.arange(len(names)), place)
        factors = lstsq(columns[:, rest], columns[:, place], cond=1e-10, lapack_driver='gelsy')[0]
        own = float(np.linalg.norm(columns[:, place] - columns[:, rest] @ factors))
        if own > HARDLY_TOLD:
            continue
        order = np.argsort(-np.abs(factors), kind='stable')[:NAMED]
        strong = order[np.abs(factors[order]) > PART * np.abs(factors).max()]
        others = tuple(names[rest[other]] for other in strong)
        alias = Alias(names[place], others, own, _remedy(names[place], others))
        found.setdefault(frozenset((alias.name, *others)), alias)
    return tuple(found.values())


def _kinds(names: Sequence[str]) -> Iterator[str]:
    for name in names:
        last = name.rpartition('.')[2]
        if last.startswith(JUMPS):
            yield _RUBBING
        else:
            yield last if any(last in pair for pair in _REMEDIES) else _BODY


def _remedy(name: str, others: Sequence[str]) -> str:
    mine = next(_kinds([name]))
    for its in _kinds(others):
        for pair in ((mine, its), (its, mine)):
            if pair in _REMEDIES:
                return _REMEDIES[pair]
    return 'leave one of them out, or hold it (columns.fixed)'


def allowing_for(fit: ModelFit, changes: Array) -> ModelFit:
    """The fit with deviations that have further changes of what was fitted, each by chance and by itself.

    Parameters
    ----------
    changes : (B + Q', K) of the base parameters and of the nonlinear parameters that the recording determines, by each
        of K standard deviations
    """
    count, known, std = len(fit.base), np.isfinite(fit.shape.std), fit.shape.std.copy()
    std[known] = np.hypot(std[known], np.linalg.norm(changes[count:], axis=1))
    covariance = fit.estimate.covariance + changes[:count] @ changes[:count].T
    return replace(fit, estimate=replace(fit.estimate, covariance=covariance), shape=replace(fit.shape, std=std))


# How far drives that share a law may be from it.
#
# One drive alone hardly determines at which speed its Stribeck friction fades. Drives of the same kind are built alike,
# so these parameters are fitted for all of them together, and Coulomb and viscous friction for each; laws of drives'
# own are a force like others that the recording may show. That it does not show them does not say that the drives are
# alike. So the deviations of the single drives are estimated from the residuals, with their covariance, and from these
# how far drives of a kind are apart (a random-effects model with a flat prior on the standard deviation, Gelman 2006).
# This is part of the error of the shared value as that of a drive, and of whatever is fitted beside it.
def with_spreads(data: PreparedData, fit: ModelFit) -> ModelFit:
    """The fit with standard deviations that allow for drives which differ, of all that drives of a kind share."""
    for term in fit.model.terms:
        if isinstance(term, Pooled) and term.pooled and term.can_be_pooled:
            fit = with_spread(data, fit, term, term.pooling(False))
    return fit


def with_spread(data: PreparedData, fit: ModelFit, shared: Pooled, single: Pooled) -> ModelFit:
    """The fit with standard deviations that allow for drives which differ.

    Parameters
    ----------
    data, fit : a prepared recording, and a fit in which drives share parameters of friction
    shared, single : the friction as it was fitted, and with parameters of the drives' own
    """
    known = [name for name, std in zip(fit.shape.names, fit.shape.std, strict=True) if np.isfinite(std)]
    slopes = slope_rows(fit.model, data, single, fit.samples, fit.parameters)
    for name in set(shared.shape_names) - set(single.shape_names):
        if name not in known:  # it may be anywhere, and the fit knows
            continue
        own = [place for place, other in enumerate(single.shape_names) if shared.shared_name(other) == name]
        column = len(fit.base) + known.index(name)
        others = np.delete(fit.fitted_columns, column, axis=-1)
        value = float(fit.shape.values[fit.shape.names.index(name)])
        std = np.sqrt(_variance(others, slopes[..., own], fit, data.row_weights, value))
        changes = std * fit.weighed(data.row_weights).moved_by(slopes[..., own])
        changes[column] = std * np.eye(len(own))[0]  # it is that of a drive, not of their mean
        fit = allowing_for(fit, changes)
    return fit


def _variance(others: Array, own: Array, fit: ModelFit, row_weights: Array, value: float) -> float:
    """Variance of a parameter among the drives, by columns (n, A, K) of the single ones beside all others (n, A, C)."""
    largest = LARGEST * value
    seen = _seen(others, own, row_weights, largest / fit.noise.std.min())
    if len(seen) < 2:
        return (0.5 * largest) ** 2  # the prior's
    columns = np.concatenate([others, own[..., seen]], axis=-1)
    found = with_noise(columns, fit.errors, row_weights, fit.noise, CORRELATION_LAGS)
    count = others.shape[-1]
    return spread_variance(found.parameters[count:], found.covariance[count:, count:], largest)


def _seen(others: Array, own: Array, row_weights: Array, largest: float) -> Indices:
    """Places of the columns that are not among the others; ``largest`` times a column is more than nothing, too."""
    fit = WeighedFit(others, np.zeros(row_weights.shape), row_weights, RowNoise(np.ones(row_weights.shape[1])))
    lengths = np.linalg.norm(own * row_weights[..., None], axis=(0, 1))
    beyond = np.linalg.norm(fit.beyond(own), axis=(0, 1))
    return np.flatnonzero((beyond > SEEN * lengths) & (beyond * largest > SEEN))


def spread_variance(deviations: Array, covariance: Array, largest: float) -> float:
    """Variance of true values by their estimates (K,) with a covariance (K, K): median under a flat prior.

    The mean is that of a long tail, and intervals by it are too wide; those by the median cover 92 to 100 % where they
    should cover 95 (six drives, test_pooled_spread.py).

    Parameters
    ----------
    largest : standard deviation that is possible
    """
    tried = np.linspace(0.0, largest, TRIED)
    sizes, axes = np.linalg.eigh(covariance)
    whole = sizes + tried[:, None] ** 2  # eigenvalues of the covariance with each spread
    ones, told = axes.sum(axis=0), deviations @ axes
    information = (ones**2 / whole).sum(axis=1)
    quadratic = (told**2 / whole).sum(axis=1) - (ones * told / whole).sum(axis=1) ** 2 / information
    likelihoods = -0.5 * (np.log(whole).sum(axis=1) + np.log(information) + quadratic)
    below = np.cumsum(np.exp(likelihoods - likelihoods.max()))
    return float(tried[np.searchsorted(below, 0.5 * below[-1])] ** 2)
