"""From base parameters back to bodies: the nominal machine, changed as little as the data ask for.

Forces determine base parameters only. To write a machine file, every base parameter must be shared out among the physical
parameters that form it. That needs an assumption, stated here as trust in the nominal values: the platform's
are uncertain by tens of percent, the legs' (known from their drawings) by a few, friction by any amount. The result is
the mean of the physical parameters given the base parameters with their covariance (Gauss-Markov with prior).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pkm_description.machine.model import INERTIAL_PARAMETERS, Machine, RigidBody
from scipy.linalg import cho_factor, cho_solve

from pkm_identification.base_parameters import BaseParameters

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PhysicalParameters:
    """Physical parameters under the stated trust in the nominal ones.

    Attributes
    ----------
    names : P free parameters
    nominal, values, standard_deviations : (P,); a standard deviation contains the remaining trust in the nominal value
    infeasible : what is physically impossible, body by body; empty when all is well
    """

    names: tuple[str, ...]
    nominal: Array
    values: Array
    standard_deviations: Array
    infeasible: tuple[str, ...]


def nominal_uncertainty(
    names: tuple[str, ...], nominal: Array, platform_uncertainty: float, leg_uncertainty: float
) -> Array:
    """Standard deviations (P,) of nominal parameters; infinite for friction.

    First moments and inertias scale with the body's mass and its radius of gyration about the frame's origin, so a
    parameter that happens to be zero is not taken for exactly known.
    """
    sigma = np.full(len(names), np.inf)
    value = dict(zip(names, nominal, strict=True))
    for index, name in enumerate(names):
        body, _, kind = name.rpartition('.')
        if kind not in INERTIAL_PARAMETERS:
            continue
        relative = platform_uncertainty if body == 'platform_link' else leg_uncertainty
        mass = abs(value.get(f'{body}.m', 0.0))
        spread = 0.5 * abs(sum(value.get(f'{body}.{axis}', 0.0) for axis in ('Ixx', 'Iyy', 'Izz')))
        power = 0.0 if kind == 'm' else 0.5 if kind.startswith('m') else 1.0
        # mass^(1-p) * (mass radius^2)^p is kg, kg m, kg m^2 for p = 0, 1/2, 1
        scale = mass ** (1.0 - power) * spread**power
        sigma[index] = relative * max(scale, 1e-9)
    return sigma


def share_out(
    base: BaseParameters, values: Array, covariance: Array, nominal: Array, uncertainty: Array
) -> tuple[Array, Array]:
    """Physical parameters (P,) and their standard deviations (P,) of base parameters with a prior.

    Parameters
    ----------
    base : the combinations K
    values, covariance : (B,), (B, B) identified base parameters
    nominal, uncertainty : (P,) prior mean and standard deviation; an infinite one says: ask the data alone, and is
        allowed for parameters that are base parameters by themselves (friction)

    Notes
    -----
    With ``S = diag(uncertainty^2)``: ``p = nominal + S K' (K S K' + C)^-1 (values - K nominal)``.
    As uncertainty grows against C, ``K p`` reproduces ``values`` exactly.
    """
    free = ~np.isfinite(uncertainty)
    alone = np.array([int(np.flatnonzero(base.independent == index)[0]) for index in np.flatnonzero(free)], dtype=int)
    prior = np.where(free, 0.0, uncertainty)
    start = np.where(free, 0.0, nominal)
    if len(alone):
        # large enough to be no information, small enough not to lose digits
        prior[free] = 1e4 * np.sqrt(np.diag(covariance)[alone])
        start[free] = values[alone]
    gain_left = (base.combination * prior**2).T
    innovation = base.combination @ gain_left + covariance
    scale = np.sqrt(np.diag(innovation))
    factor = cho_factor(innovation / np.outer(scale, scale))
    surprise = (values - base.combination @ start) / scale
    result = start + gain_left @ (cho_solve(factor, surprise) / scale)
    explained = np.einsum('pb,bp->p', gain_left / scale, cho_solve(factor, (gain_left / scale).T))
    return result, np.sqrt(np.maximum(prior**2 - explained, 0.0))


def body_from_parameters(name: str, parameters: Array) -> RigidBody:
    """Body with mass, centre of mass and inertia about it from ten parameters (10,)."""
    mass = float(parameters[0])
    center = parameters[1:4] / mass
    inertia = np.zeros((3, 3))
    inertia[np.triu_indices(3)] = parameters[4:]
    inertia = inertia + np.triu(inertia, 1).T
    return RigidBody(name, mass, center, inertia - mass * (center @ center * np.eye(3) - np.outer(center, center)))


def infeasibilities(bodies: dict[str, Array]) -> tuple[str, ...]:
    """Say what no real body can have, for ten parameters per body name.

    Mass positive, inertia about the centre of mass positive definite with the triangle inequality; both together mean that the
    second moment of mass, ``tr(I)/2 - I``, has no negative eigenvalue. Rounding of flat and slender bodies is allowed for.
    """
    found = []
    for name, parameters in bodies.items():
        if not parameters[0] > 0.0:
            found.append(f'{name}: mass {parameters[0]:.4g} kg is not positive')
            continue
        inertia = body_from_parameters(name, parameters).inertia
        principal = np.linalg.eigvalsh(inertia)
        if principal[0] <= 0.0:
            found.append(f'{name}: principal moment of inertia {principal[0]:.4g} kg m^2 about the centre of mass is not positive')
        elif principal[0] + principal[1] < principal[2] * (1.0 - 1e-6):
            found.append(
                f'{name}: principal moments {principal[0]:.4g} + {principal[1]:.4g} < {principal[2]:.4g} kg m^2 '
                'violate the triangle inequality'
            )
    return tuple(found)


def bodies_by_name(names: tuple[str, ...], values: Array) -> dict[str, Array]:
    """Collect ten parameters per body from named parameters; friction is left out."""
    place = {name: index for index, name in enumerate(names)}
    bodies = dict.fromkeys(name.rpartition('.')[0] for name in names if name.endswith('.m'))
    return {
        body: np.array([values[place[f'{body}.{kind}']] for kind in INERTIAL_PARAMETERS]) for body in bodies
    }


def machine_with(machine: Machine, names: tuple[str, ...], values: Array) -> Machine:
    """Copy of a machine with other parameters; a shared leg name (``leg_rod``) stands for that body of every leg."""
    from dataclasses import replace

    bodies = bodies_by_name(names, values)
    friction = {name: float(value) for name, value in zip(names, values, strict=True) if not _is_inertial(name)}

    def body(old: RigidBody) -> RigidBody:
        shared = old.name if old.name in bodies else f'leg_{old.name.partition("_")[2]}'
        return body_from_parameters(old.name, bodies[shared]) if shared in bodies else old

    legs = []
    for leg in machine.legs:
        joints = tuple(
            replace(
                joint,
                body=body(joint.body),
                friction=replace(
                    joint.friction,
                    viscous=friction.get(f'{joint.name}.viscous', joint.friction.viscous),
                    coulomb=friction.get(f'{joint.name}.coulomb', joint.friction.coulomb),
                ),
            )
            for joint in leg.joints
        )
        legs.append(replace(leg, joints=joints))
    return replace(machine, platform=body(machine.platform), legs=tuple(legs))


def _is_inertial(name: str) -> bool:
    return name.rpartition('.')[2] in INERTIAL_PARAMETERS
