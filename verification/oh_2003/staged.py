"""Oh (2003), chapter 5: a synthetic experiment, and identification in stages 1-A to 3 or of all 24 at once; its checks.

The machine of the experiment differs from the design by up to 5 %. What is measured is what the thesis logged: strut
lengths in encoder steps, and forces. Poses come from the lengths by Newton's method, lengths pass a zero-phase
Butterworth filter of order 8 at 10 Hz, derivatives are central differences of four points (Eqs. 5.1 and 5.2 are lost).
Steps of the encoder, noise of the forces, friction and its share that the law of Eq. 4.5 does not have are ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from pkm_description.arrays import Array
from pkm_description.machine import Machine
from pkm_identification.online.estimators import UnscentedParameterFilter, unobserved_directions
from scipy.signal import butter, sosfiltfilt

from verification.check import Check, at_least, at_most
from verification.oh_2003.campaign import STEP, TRUE, motion_of
from verification.oh_2003.kane import PARAMETERS, pseudo_jacobian, strut_force_regressor
from verification.oh_2003.kinematics import HOME_ANGLES, OhMotion, strut_kinematics
from verification.oh_2003.parameters import OhModel, oh_model

#: N s/m and N of the six struts, and the start values: single-strut tests miss what the other joints add
VISCOUS = np.array([240.0, 180.0, 320.0, 210.0, 275.0, 305.0])
COULOMB = np.array([120.0, 90.0, 160.0, 105.0, 140.0, 155.0])
START_SHARE = 0.5

#: share of the Coulomb friction that ripples with the strut's length, and the length of a ripple (m): joint friction
RIPPLE, PITCH = 0.03, 0.01

#: m of an encoder step, N of noise, Hz, order; N of noise that the filter assumes, all errors included
ENCODER, FORCE_NOISE, CUT_OFF, ORDER = 1e-6, 0.5, 10.0, 8
ASSUMED_NOISE = 5.0

#: share of the design by which the machine differs at most, and of the start values that the filter trusts
OFF_DESIGN, UNSURE = 0.05, 0.1
UNSURE_FRICTION = 1.0

ZONE = 0.002
INERTIAL, FRICTION = tuple(range(12)), tuple(range(12, 24))
NAMES = (*PARAMETERS, *(f'Fric({strut},{kind})' for strut in range(1, 7) for kind in (1, 2)))


@dataclass(frozen=True)
class Experiment:
    """Regressors (N, 6, 24) of what was measured, and forces (N, 6)."""

    regressors: Array
    forces: Array


@dataclass(frozen=True)
class Stage:
    """Estimates (24,) at a stage's end, root mean square of its residuals (N), and the directions that are open."""

    parameters: Array
    residual: float
    unobserved: tuple[dict[str, float], ...]


def friction_columns(rates: Array) -> Array:
    """Columns (N, 6, 12) of Eq. 4.5, as printed."""
    columns = np.zeros((*rates.shape, 12))
    for strut in range(6):
        rate = rates[:, strut]
        moving = np.abs(rate) > ZONE
        columns[:, strut, 2 * strut] = np.where(moving, rate, 0.0)
        columns[:, strut, 2 * strut + 1] = np.where(moving, np.sign(rate), rate / ZONE)
    return columns


def true_parameters() -> Array:
    """Inertial parameters (12,) of the machine of the experiment."""
    return np.asarray(TRUE * (1.0 + OFF_DESIGN * np.random.default_rng(3).uniform(-1.0, 1.0, 12)))


def experiment(model: OhModel, name: str, duration: float = 2.0) -> Experiment:
    """Samples along X, Z or XY."""
    random = np.random.default_rng(AXIS_SEEDS[name])
    motion = motion_of(model, name, duration)
    struts = strut_kinematics(model.geometry, motion)
    friction = np.stack([VISCOUS, COULOMB], axis=1).ravel()
    forces = strut_force_regressor(model.geometry, motion) @ true_parameters()
    forces += friction_columns(struts.rate) @ friction
    forces += RIPPLE * COULOMB * np.sin(2.0 * np.pi * struts.length / PITCH) * np.tanh(struts.rate / ZONE)
    forces += FORCE_NOISE * random.normal(size=forces.shape)
    lengths = ENCODER * np.round(struts.length / ENCODER)
    seen, inside = observed_motion(model, lengths)
    rates = strut_kinematics(model.geometry, seen).rate
    regressors = np.concatenate([strut_force_regressor(model.geometry, seen), friction_columns(rates)], axis=2)
    return Experiment(regressors[inside], forces[inside])


AXIS_SEEDS = {'X': 0, 'Z': 1, 'XY': 2}


def observed_motion(model: OhModel, lengths: Array) -> tuple[OhMotion, slice]:
    """Motion from strut lengths; and the samples away from the ends, where filter and differences hold."""
    smooth = sosfiltfilt(butter(ORDER, CUT_OFF, fs=1.0 / STEP, output='sos'), lengths, axis=0)
    poses = np.tile(np.concatenate([model.home, HOME_ANGLES]), (len(smooth), 1))
    for _ in range(6):
        at = OhMotion.of(poses)
        error = smooth - strut_kinematics(model.geometry, at).length
        transposed = np.swapaxes(pseudo_jacobian(model.geometry, at), 1, 2)
        poses = poses + np.linalg.solve(transposed, error[..., None])[..., 0]
    rates = central_difference(poses)
    return OhMotion.of(poses, rates, central_difference(rates)), slice(200, len(smooth) - 200)


def central_difference(values: Array) -> Array:
    """Derivative by four neighbours, of fourth order; zero at the ends."""
    found = np.zeros_like(values)
    found[2:-2] = (values[:-4] - 8.0 * values[1:-3] + 8.0 * values[3:-1] - values[4:]) / (12.0 * STEP)
    return found


def run_stage(
    data: Experiment, start: Array, std: Array, estimated: Sequence[int], samples: int | None = None
) -> Stage:
    """His filter on some of the 24 parameters; the others rest."""
    found = UnscentedParameterFilter(start, std, alpha=1e-4, beta=2.0, kappa=0.0)
    found.freeze([place for place in range(24) if place not in estimated])
    variances = np.full(6, ASSUMED_NOISE**2)
    for rows, forces in zip(data.regressors[:samples], data.forces[:samples], strict=True):
        found.update(rows, forces, variances)
    residuals = data.forces - data.regressors @ found.parameters
    places = list(estimated)
    names, covariance = [NAMES[place] for place in places], found.covariance[np.ix_(places, places)]
    open_ = unobserved_directions(names, std[places], covariance)
    return Stage(found.parameters, float(np.sqrt(np.mean(residuals**2))), open_)


def first_guess() -> tuple[Array, Array]:
    """Start values (24,): the design and single-strut friction, and standard deviations."""
    friction = START_SHARE * np.stack([VISCOUS, COULOMB], axis=1).ravel()
    start = np.concatenate([TRUE, friction])
    return start, np.concatenate([UNSURE * TRUE, UNSURE_FRICTION * friction])


def stages(data: Experiment, samples: int | None = None) -> dict[str, Stage]:
    """Stages 1-A to 3 of section 5.3, over all samples or the first ones."""
    start, std = first_guess()
    found: dict[str, Stage] = {}
    friction = start
    for turn in ('1', '2'):
        found[f'{turn}-A'] = run_stage(data, np.concatenate([TRUE, friction[12:]]), std, FRICTION, samples)
        friction = found[f'{turn}-A'].parameters
        found[f'{turn}-B'] = run_stage(data, friction, std, INERTIAL, samples)
    found['3'] = run_stage(data, found['2-B'].parameters, std, range(24), samples)
    return found


#: iterations on the axes of Figs. 5.2 to 5.16
SHORT = 60

#: part of the error of the start that may be left: an estimator that does nothing leaves all of it
NEARER = 0.5

#: largest changes of the inertial parameters between the last two stages, per cent (section 5.3.3, grade A)
FROM_STAGE_2 = {'X': 5.0, 'Z': 5.0, 'XY': 39.0}


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """Stages on X, and if there is time on Z and XY; all 24 parameters at once beside them."""
    model = oh_model(machine)
    for name in ('X',) if quick else tuple(FROM_STAGE_2):
        data = experiment(model, name)
        found = stages(data)
        last, before = found['3'].parameters[:12], found['2-B'].parameters[:12]
        design = 100.0 * (last / TRUE - 1.0)
        yield at_most('A15', f'{name}, stage 3 against the design, 12 inertial parameters: worst', 26.0, design, '%')
        change = 100.0 * (last / before - 1.0)
        yield at_most('A15', f'{name}, stage 3 against stage 2-B: worst', FROM_STAGE_2[name], change, '%')
        start, std = first_guess()
        # forces of the bodies: what no motion shows of the parameters does not count
        bodies = data.regressors[..., :12]
        off, off_design = (float(np.linalg.norm(bodies @ (one - true_parameters()))) for one in (last, TRUE))
        what = f'{name}, forces of the bodies by stage 3 off the true ones / by the design'
        yield at_most('A15', what, NEARER, off / off_design)
        residual = float(np.sqrt(np.mean((data.forces - data.regressors @ start) ** 2)))
        what = f'{name}, residual of stage 3 / that of the start values'
        yield at_most('A15', what, NEARER, found['3'].residual / residual)
        once = run_stage(data, start, std, range(24))
        # the regime of friction is known from the rates, so all 24 parameters are linear, and there is one minimum
        ratio = once.residual / found['3'].residual
        what = f'{name}, residual of all 24 at once from the cold start / that of stage 3: the stages are better'
        yield at_least('A14', what, 1.01, ratio)
        worse = found['1-A'].residual / found['3'].residual
        yield at_least('A14', f'{name}, residual of stage 1-A / that of stage 3', 1.0, worse)
        short = run_stage(data, start, std, range(24), SHORT)
        what = f'{name}, all 24 at once, {SHORT} samples as in the figures: directions reported as not observed'
        yield at_least('A14', what, 1, len(short.unobserved))
        yield at_least('A14', f'{name}, residual of these / that of all samples', 1.5, short.residual / once.residual)
