"""Gains of the efforts relative to each other, and their delay: fitted together with bodies and friction.

The equation of drive l is ``effort_l(t + delay) = gain_l bodies_l(t) + friction_l(t)``, solved by Gauss-Newton. Bodies
have the nominal machine as prior, with a trust of :data:`~pkm_identification.diagnosis.force_model.TRUST`, so that
wrong nominal masses cannot look like gains; the mean gain is 1, for a common gain is the same as other masses. Friction
is free in every drive, in the units of its effort, and may be behind the velocity by itself: contacts deflect before
they slide, so that friction is that of a place a little way back (frictional lag, Canudas de Wit et al. 1995). Where
friction changes fast, that has the force of a delay; a delay of the efforts is what the bodies' forces show, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.errors import Finding, State
from pkm_description.machine import Machine
from scipy.interpolate import CubicSpline

from pkm_identification.blocks import joined, normal_matrix
from pkm_identification.diagnosis.force_model import ForceModel, Rows

#: waves over the travel of a drive between which ripple is looked for
_FEWEST, _MOST = 6.0, 300.0
#: places over the travel at which residuals are collected, many more than waves
_PLACES = 8192
#: amplitude of a ripple above the median of all periods; the same at a period that another drive has
_ABOVE, _KNOWN = 10.0, 4.0
#: least amplitude, in the residual's robust standard deviations and of the friction, which is never modelled exactly
_NOISE, _RIPPLE_FRICTION = 0.25, 0.03
#: standard deviation of gains that is allowed for
_GAINS = 0.5
#: the same of each kind of friction, of the effort
_FRICTION = 0.3
#: s, standard deviation of the time by which friction lags at a drive's root mean square speed, and the part of that
#: speed below which the lag grows no more
_LAG, _SLOWEST = 0.002, 0.05
#: part of the effort that no model of friction explains
_ACCURACY = 0.005
#: rounds of weights and delay
_ROUNDS = 8
#: standard deviations from which rows count less (Huber)
_HUBER = 2.0
#: s, length of the blocks in which residuals may be correlated
_BLOCK = 0.5
#: s, largest step of the delay in one round
_STEP = 0.02


@dataclass(frozen=True)
class JointFit:
    """Result of the fit.

    Attributes
    ----------
    gain, gain_std, gain_slack : (A,) of the efforts, relative to their median; standard deviations by the residuals,
        and by what the trust in the nominal bodies leaves open
    scale : (A,) efforts as multiples of the fitted forces
    delay : s, of efforts behind positions
    deviation : (A,) N or N m, robust standard deviation of the residuals
    rigid : (n, A) fitted forces of the bodies at the model's poses
    friction : (A, F) parameters of the friction columns
    lag : (A,) s, of friction behind the velocity, at a drive's root mean square speed
    """

    gain: Array
    gain_std: Array
    gain_slack: Array
    scale: Array
    delay: float
    deviation: Array
    rigid: Array
    friction: Array
    lag: Array

    def expected(self, model: ForceModel) -> Array:
        """Efforts (N, A) that were to come at the recording's samples."""
        friction = model.friction.forces(self.friction)
        friction = friction + self.lag * _lagging(model, friction)
        forces = self.scale * (model.at_samples(self.rigid) + friction)
        return self.delayed(model, forces)

    def delayed(self, model: ForceModel, values: Array) -> Array:
        """Values (N, A) of the motion at the instants of the efforts."""
        time = model.full_time
        return np.stack([np.interp(time - self.delay, time, column) for column in values.T], axis=1)


def joint_fit(model: ForceModel, rows: Rows, efforts: Array, may_be_late: bool = True) -> JointFit:
    """Fit gains, delay, bodies and friction.

    Parameters
    ----------
    rows : the equations that are fitted
    efforts : (N, A) of the recording
    may_be_late : False keeps the delay at zero
    """
    time, used = model.full_time, rows.used
    spline = CubicSpline(time, efforts)
    count, kinds = efforts.shape[1], len(model.bodies)
    frame, friction = _unit_mean_directions(count), _friction_columns(rows.of_parts(model.friction))
    known, bodies = rows.of_poses(model.known), rows.of_pose_parts(model.bodies)
    delayed = slice(count - 1, 2 * count - 1)
    first = delayed.stop
    gain, rigid, delay, change = np.ones(count), known, 0.0, np.zeros(kinds)
    size = np.sqrt(np.mean(efforts**2, axis=0)) + 1e-300
    floor, deviation = _ACCURACY * size, 0.1 * size
    weights, at = used.copy(), np.nan
    expected, rubbing = model.at_samples(model.known), np.zeros_like(efforts)
    for _ in range(_ROUNDS):
        # by the model: the noise of measured efforts would count as information about the delay
        slope = rows.of_samples(np.gradient(expected, 1.0 / model.sample_rate, axis=0))
        behind = rows.of_samples(_LAG * _lagging(model, rubbing))
        if delay != at:
            at, instants = delay, np.clip(time + delay, time[0], time[-1])
            own = rows.of_samples(spline(instants))
        design = _Design(frame, rigid, slope, gain, bodies, behind, friction)
        # linear around the last gains and bodies; unknown are the gains less 1 and the bodies themselves
        target = own - gain * known + (gain - 1.0) * rigid
        scale = weights / deviation
        solution, inverse = _solve(design, target, scale, first, kinds)
        left = target - design.forces(solution)
        delays, accuracy = solution[delayed], 1.0 / np.diag(inverse)[delayed]
        if may_be_late:
            delay += float(np.clip(np.average(delays, weights=accuracy), -_STEP, _STEP))
        gain = np.clip(1.0 + frame @ solution[: count - 1], 0.2, None)
        change = solution[first : first + kinds]
        rigid = known + bodies @ change
        own_friction = solution[first + kinds + count :].reshape(count, -1)
        rubbing = model.friction.forces(own_friction)
        moved = model.known + model.bodies.forces(change)
        expected = gain * model.at_samples(moved) + rubbing
        deviation = np.array([_robust(left[used[:, drive] > 0.0, drive]) for drive in range(count)])
        # a drive that many columns fit must not outweigh the others
        deviation = np.maximum(np.maximum(deviation, np.median(deviation)), floor)
        far = np.maximum(np.abs(left) / deviation, 1e-300)
        weights = used * np.sqrt(np.minimum(1.0, _HUBER / far))
    covariance = _clustered(inverse, design, scale, left * scale, rows.time)
    std, slack = (
        np.sqrt(np.diag(frame @ own[: count - 1, : count - 1] @ frame.T)) for own in (covariance, inverse)
    )
    usual = float(np.median(gain))
    return JointFit(
        gain / usual,
        std / usual,
        slack / usual,
        gain,
        delay,
        deviation,
        moved,
        own_friction / gain[:, None],
        _LAG * solution[first + kinds : first + kinds + count],
    )


def _lagging(model: ForceModel, friction: Array) -> Array:
    """Change (N, A) of friction (N, A) per second of lag at root mean square speed.

    It lags over a way, which takes slow drives longer.
    """
    pace = np.abs(model.full_rates) / (np.sqrt(np.mean(model.full_rates**2, axis=0)) + 1e-300)
    return np.asarray(-np.gradient(friction, 1.0 / model.sample_rate, axis=0) / np.maximum(pace, _SLOWEST))


@dataclass(frozen=True)
class _Design:
    """Columns (m, A, C) of all unknowns; those of some rows where they are needed, for all of them are large."""

    frame: Array
    rigid: Array
    slope: Array
    gain: Array
    bodies: Array
    behind: Array
    friction: Array

    def __call__(self, part: slice) -> Array:
        own = np.eye(len(self.gain))
        return np.concatenate(
            [
                self.rigid[part, :, None] * self.frame, -self.slope[part, :, None] * own,
                self.gain[:, None] * self.bodies[part], self.behind[part, :, None] * own, self.friction[part],
            ], axis=-1,
        )  # fmt: skip

    def forces(self, values: Array) -> Array:
        """Forces (m, A) of all rows by the unknowns (C,)."""
        return joined(lambda part: self(part) @ values, len(self.rigid))


def _unit_mean_directions(count: int) -> Array:
    """Directions (A, A - 1) in which gains change without changing their mean."""
    return np.linalg.svd(np.ones((1, count)))[2][1:].T


def _friction_columns(own: Array) -> Array:
    """Columns (m, A, A F) of each drive's own friction (m, A, F)."""
    samples, count, kinds = own.shape
    friction = np.zeros((samples, count, count * kinds))
    for drive in range(count):
        friction[:, drive, drive * kinds : (drive + 1) * kinds] = own[:, drive]
    return friction


def _solve(design: _Design, target: Array, scale: Array, first: int, bodies: int) -> tuple[Array, Array]:
    """Weighted least squares with priors on everything but delays; solution and inverse normal matrix."""

    def equations(part: slice) -> Array:
        return np.concatenate([design(part), target[part, :, None]], axis=-1) * scale[part, :, None]

    products = normal_matrix(equations, len(target))
    squares, moments = products[:-1, :-1], products[:-1, -1]
    size = np.sqrt(np.diag(squares))
    size[size < 1e-12 * size.max()] = 1.0
    prior = np.zeros(len(size))
    lags = slice(first + bodies, first + bodies + scale.shape[1])
    prior[first : lags.stop] = 1.0
    prior[: scale.shape[1] - 1] = 1.0 / _GAINS**2
    prior[lags.stop :] = 1.0 / _FRICTION**2
    normal = squares / np.outer(size, size) + np.diag(prior / size**2) + 1e-10 * np.eye(len(size))
    inverse = np.linalg.inv(normal) / np.outer(size, size)
    return inverse @ moments, inverse


def _clustered(inverse: Array, design: _Design, scale: Array, residual: Array, time: Array) -> Array:
    """Covariance with residuals correlated within blocks of time (sandwich); all weighted by ``scale`` (m, A)."""
    weighted = scale * residual
    scores = joined(lambda part: np.einsum('nac,na->nc', design(part), weighted[part]), len(residual))
    block = ((time - time[0]) / _BLOCK).astype(int)
    summed = np.zeros((block[-1] + 1, scores.shape[1]))
    np.add.at(summed, block, scores)
    return np.asarray(inverse @ (summed.T @ summed) @ inverse)


def _robust(values: Array) -> float:
    return max(1.4826 * float(np.median(np.abs(values - np.median(values)))), 1e-300)


@dataclass(frozen=True)
class PositionRipple:
    """A wave over the position of one drive.

    Attributes
    ----------
    drive : its place
    amplitude : N or N m
    period : m or rad
    ratio : amplitude to the median of all periods
    forces : (N,) the wave at the recording's samples
    """

    drive: int
    amplitude: float
    period: float
    ratio: float
    forces: Array


def ripples(
    model: ForceModel, fit: JointFit, positions: Array, efforts: Array, excluded: NDArray[np.bool_]
) -> list[PositionRipple]:
    """Strongest wave of each drive that has one; positions, efforts (N, A) of the recording."""
    residual, late = efforts - fit.expected(model), fit.delayed(model, positions)
    friction = model.friction.forces(fit.friction)
    full = slice(model.places[0], model.places[-1] + 1)
    found: dict[int, PositionRipple] = {}
    for periods in (False, True):  # drives of one kind have ripples of one period
        known = [one.period for one in found.values()] if periods else None
        if known == []:
            break
        for drive in set(range(efforts.shape[1])) - set(found):
            good = ~excluded[full][:, drive]
            wave = _strongest_wave(late[full][good, drive], residual[full][good, drive], known)
            least = _RIPPLE_FRICTION * float(np.sqrt(np.mean(friction[:, drive] ** 2)))
            if wave is not None and wave.amplitude > least:
                forces = wave.forces(late[:, drive])
                found[drive] = PositionRipple(drive, wave.amplitude, wave.period, wave.ratio, forces)
    return [found[drive] for drive in sorted(found)]


def ripple_findings(machine: Machine, found: Iterable[PositionRipple]) -> Iterator[Finding]:
    """Findings about ripples."""
    for one in found:
        label = machine.drive_labels[one.drive]
        unit = 'rad' if machine.actuated_joints[one.drive].kind == 'revolute' else 'm'
        yield Finding(
            'effort_ripple', State.SUSPICIOUS, (label,),
            f'the effort of {label} has a ripple of {one.amplitude:.3g} with a period of {one.period:.4g} {unit} in '
            f'its position, {one.ratio:.0f} times what other periods have',
            'identify with columns for ripple of this period, or compensate cogging in the drive; a ripple harms where '
            'the motion is slow',
            {'amplitude': one.amplitude, 'period': one.period},
        )  # fmt: skip


@dataclass(frozen=True)
class _Wave:
    amplitude: float
    period: float
    ratio: float
    cosine: float
    sine: float

    def forces(self, place: Array) -> Array:
        phase = 2.0 * np.pi * place / self.period
        return np.asarray(self.cosine * np.cos(phase) + self.sine * np.sin(phase))


def _strongest_wave(place: Array, left: Array, periods: list[float] | None) -> _Wave | None:
    """Strongest of all waves, or of those near some periods."""
    if len(place) < 500 or not np.ptp(place) > 0.0:
        return None
    travel, values = float(np.ptp(place)), left - np.median(left)
    spread = 1.4826 * float(np.median(np.abs(values)))
    values = np.clip(values, -4.0 * spread, 4.0 * spread)
    bins = np.round((place - place.min()) * ((_PLACES - 1) / travel)).astype(int)
    half = len(values) // 2
    parts = np.array([_spectrum(bins[own], values[own]) for own in (slice(None, half), slice(half, None))])
    waves = np.arange(parts.shape[1]) * (0.5 * (_PLACES - 1) / _PLACES)
    chosen = (waves >= _FEWEST) & (waves <= _MOST)
    parts, waves = parts[:, chosen], waves[chosen] / travel
    whole = parts.mean(axis=0)
    usual = float(np.median(np.abs(whole)))
    size = np.abs(whole)
    if periods is not None:
        size = np.where(np.abs(waves[:, None] - 1.0 / np.array(periods)).min(axis=1) * travel < 1.0, size, 0.0)
    best = int(np.argmax(size))
    ratio = float(np.abs(whole[best])) / max(usual, 1e-300)
    # the same wave with the same phase in both halves of the recording
    agree = np.abs(parts[0, best] - parts[1, best]) < 0.8 * np.abs(whole[best])
    if ratio < (_ABOVE if periods is None else _KNOWN) or not agree:
        return None
    near = np.linspace(waves[best] - 0.5 / travel, waves[best] + 0.5 / travel, 41)
    peak = float(near[np.argmax(np.abs(_amplitudes(place, values, near)))])
    phase = 2.0 * np.pi * peak * place
    columns = np.stack([np.cos(phase), np.sin(phase), np.ones_like(phase)], axis=1)
    cosine, sine, _ = np.linalg.lstsq(columns, values, rcond=None)[0].tolist()
    amplitude = float(np.hypot(cosine, sine))
    return _Wave(amplitude, 1.0 / peak, ratio, cosine, sine) if amplitude > _NOISE * spread else None


def _spectrum(bins: NDArray[np.int_], values: Array) -> NDArray[np.complex128]:
    """Complex amplitudes of 0, 1/2, 1 ... waves over the travel, of values collected in bins of the position."""
    collected = np.bincount(bins, weights=values, minlength=_PLACES)
    return np.asarray(2.0 / len(values) * np.fft.rfft(collected, 2 * _PLACES))


def _amplitudes(place: Array, values: Array, waves: Array) -> NDArray[np.complex128]:
    """Complex amplitudes of waves [1/m, 1/rad] over the position."""
    return np.asarray(2.0 / len(values) * np.exp(-2j * np.pi * np.outer(waves, place)) @ values)
