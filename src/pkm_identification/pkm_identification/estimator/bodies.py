"""Ten inertial parameters of bodies: pseudo-inertia, prior, and what base parameters say of them.

A body's pseudo-inertia is ``J = [[second moments of mass, first moments], [first moments', mass]]``. A body that can
exist has a positive definite J, and the other way round: mass > 0, inertia about the centre of mass positive definite,
triangle inequality (Wensing, Kim, Slotine 2018). J is linear in the parameters.

Forces determine base parameters only. To write a machine file, every base parameter must be distributed over the
physical parameters that form it. That needs a prior around the nominal values: the platform's standard deviations are
tens of percent, those of the legs (known from drawings) a few percent, friction has no prior. The result is
the mean of the physical parameters given the base parameters with their covariance (Gauss-Markov with prior).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics.parameter_reduction.reduction import BaseParameters, Indices
from pkm_description.machine import INERTIAL_PARAMETERS, Joint, Machine, RigidBody
from pkm_description.machine.machine import with_joints
from pkm_description.machine.parts import inertia_tensor, unit_inertia
from scipy.linalg import cho_factor, cho_solve

from pkm_identification.estimator.residual_covariance import definite


def pseudo_inertia(parameters: Array) -> Array:
    """Pseudo-inertia (4, 4) of ten parameters (10,), inertia about the origin of the body's frame."""
    inertia = inertia_tensor(parameters[4:])
    pseudo = np.empty((4, 4))
    pseudo[:3, :3] = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    pseudo[:3, 3] = pseudo[3, :3] = parameters[1:4]
    pseudo[3, 3] = parameters[0]
    return pseudo


#: rows and columns of the ten entries of a symmetric matrix (4, 4), and the basis matrices (10, 4, 4) of these
ROWS, COLUMNS = np.triu_indices(4)
BASIS = np.zeros((10, 4, 4))
BASIS[np.arange(10), ROWS, COLUMNS] = BASIS[np.arange(10), COLUMNS, ROWS] = 1.0
#: linear map (10, 16) from the pseudo-inertia's entries to the ten parameters, whose factors are whole numbers
FROM_PSEUDO = np.zeros((10, 16))
FROM_PSEUDO[:, 4 * ROWS + COLUMNS] = np.round(
    np.linalg.inv([pseudo_inertia(unit)[ROWS, COLUMNS] for unit in np.eye(10)]).T
)


def parameters_by_whitened(root: Array) -> Array:
    """Linear map (10, 10) from the entries of Y to the parameters of the pseudo-inertia ``L Y L'``, L = root (4, 4)."""
    spread = np.einsum('ia,kab,jb->kij', root, BASIS, root).reshape(10, 16)
    return np.asarray(FROM_PSEUDO @ spread.T)


def covariance_of_relative(pseudo: Array, relative: float) -> Array:
    """Covariance (10, 10) of a body's parameters in the metric of the cone of possible bodies.

    ``cov(J_ij, J_kl) = s^2 / 2 (J_ik J_jl + J_il J_jk)`` (Lee, Wensing, Park 2020): independent of units and axes, the
    mass has the relative standard deviation s, and a slender or flat body stays one.
    """
    fourth = np.einsum('ik,jl->ijkl', pseudo, pseudo) + np.einsum('il,jk->ijkl', pseudo, pseudo)
    return np.asarray(0.5 * relative**2 * FROM_PSEUDO @ fourth.reshape(16, 16) @ FROM_PSEUDO.T, dtype=float)


def is_inertial(name: str) -> bool:
    """Whether a parameter's name, ``leg_rod.Ixx`` or ``leg1_prismatic.viscous``, is that of a body."""
    return name.rpartition('.')[2] in INERTIAL_PARAMETERS


def places_of_bodies(names: Sequence[str]) -> dict[str, Indices]:
    """Places (10,) of the parameters of every body of which all ten are among the named ones."""
    place = {name: index for index, name in enumerate(names)}
    bodies = (name.removesuffix('.m') for name in names if name.endswith('.m'))
    found = {body: [place.get(f'{body}.{kind}', -1) for kind in INERTIAL_PARAMETERS] for body in bodies}
    return {body: np.array(places) for body, places in found.items() if min(places) >= 0}


def bodies_by_name(names: Sequence[str], values: Array) -> dict[str, Array]:
    """Collect ten parameters per body from named parameters; friction is left out."""
    return {body: np.array(values)[places] for body, places in places_of_bodies(names).items()}


@dataclass(frozen=True)
class PhysicalParameters:
    """Physical parameters under the stated trust in the nominal ones.

    Attributes
    ----------
    names : P free parameters
    nominal, values : (P,)
    covariance : (P, P), contains what the trust in the nominal values leaves open
    infeasible : what is physically impossible, body by body; empty when all is well
    method : of the setting ``physical``
    active : limits of what can exist that hold the values back
    remarks : what the user should know of them
    """

    names: tuple[str, ...]
    nominal: Array
    values: Array
    covariance: Array
    infeasible: tuple[str, ...]
    method: str = 'share_out'
    active: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def std(self) -> Array:
        """Square roots of the covariance's diagonal (P,)."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))


def nominal_covariance(
    names: tuple[str, ...], nominal: Array, platform_uncertainty: float, leg_uncertainty: float
) -> Array:
    """Prior covariance (P, P) of the bodies' parameters around their nominal values; zero for friction.

    Their pseudo-inertias vary as :func:`covariance_of_relative` says.
    """
    covariance = np.zeros((len(names), len(names)))
    for body, places in places_of_bodies(names).items():
        relative = platform_uncertainty if body == 'platform_link' else leg_uncertainty
        covariance[np.ix_(places, places)] = covariance_of_relative(pseudo_inertia(nominal[places]), relative)
    return covariance


def share_out(
    base: BaseParameters, values: Array, covariance: Array, nominal: Array, prior: Array
) -> tuple[Array, Array]:
    """Physical parameters (P,) and their covariance (P, P) of base parameters with a prior.

    Parameters
    ----------
    base : the combinations K
    values, covariance : (B,), (B, B) identified base parameters
    nominal, prior : (P,), (P, P) prior mean and covariance S. Friction has no prior variance and gets a wide
        one, so that they come from the data alone; one that no base parameter contains stays at its nominal value,
        with an infinite variance

    Notes
    -----
    ``p = nominal + S K' (K S K' + C)^-1 (values - K nominal)``, solved by Cholesky after scaling.
    As S grows against C, ``K p`` reproduces ``values`` exactly.
    """
    mean, wide = nominal.copy(), prior.copy()
    alone = (base.combination != 0.0).sum(axis=1) == 1
    friction = [index for index, name in enumerate(base.full_names) if not is_inertial(name)]
    free = [index for index in friction if prior[index, index] == 0.0]
    for index in free:
        rows = np.flatnonzero(base.combination[:, index])
        if len(rows):
            factors = base.combination[rows, index]
            # wide enough to be no information, narrow enough not to lose digits
            wide[index, index] = 1e8 * np.min(np.diag(covariance)[rows] / factors**2)
            if len(rows) == 1 and alone[rows[0]]:
                mean[index] = values[rows[0]]
    gain = wide @ base.combination.T
    innovation = base.combination @ gain + covariance
    scale = np.sqrt(np.diag(innovation))
    factor = cho_factor(definite(innovation / np.outer(scale, scale)))
    difference = (values - base.combination @ mean) / scale
    result = mean + gain @ (cho_solve(factor, difference) / scale)
    left = wide - (gain / scale) @ cho_solve(factor, (gain / scale).T)
    unseen = [index for index in free if not base.combination[:, index].any()]
    left[unseen, unseen] = np.inf
    return result, left


def body_from_parameters(name: str, parameters: Array) -> RigidBody:
    """Body with mass, centre of mass and inertia about it from ten parameters (10,); of no mass: in its frame."""
    mass = float(parameters[0])
    center = parameters[1:4] / mass if mass else np.zeros(3)
    return RigidBody(name, mass, center, inertia_tensor(parameters[4:]) - mass * unit_inertia(center))


def infeasibilities(bodies: dict[str, Array]) -> tuple[str, ...]:
    """Say what no real body can have, for ten parameters per body name.

    Mass positive, inertia about the centre of mass positive definite with the triangle inequality; both
    together mean that the
    second moment of mass, ``tr(I)/2 - I``, has no negative eigenvalue. Rounding of flat and slender bodies is
    allowed for.
    """
    found = []
    for name, parameters in bodies.items():
        if not parameters[0] > 0.0:
            found.append(f'{name}: mass {parameters[0]:.4g} kg is not positive')
            continue
        inertia = body_from_parameters(name, parameters).inertia
        principal = np.linalg.eigvalsh(inertia)
        if principal[0] <= 0.0:
            found.append(
                f'{name}: principal moment of inertia {principal[0]:.4g} kg m^2 '
                'about the centre of mass is not positive'
            )
        elif principal[0] + principal[1] < principal[2] * (1.0 - 1e-6):
            found.append(
                f'{name}: principal moments {principal[0]:.4g} + {principal[1]:.4g} < {principal[2]:.4g} kg m^2 '
                'violate the triangle inequality'
            )
    return tuple(found)


def least_eigenvalues(names: Sequence[str], values: Array) -> dict[str, float]:
    """Least eigenvalue of the pseudo-inertia of each body of which all ten parameters are among the named ones."""
    bodies = bodies_by_name(names, values).items()
    return {body: float(np.linalg.eigvalsh(pseudo_inertia(ten))[0]) for body, ten in bodies}


def machine_with(machine: Machine, names: tuple[str, ...], values: Array) -> Machine:
    """Copy of a machine with other parameters; a shared leg name (``leg_rod``) stands for that body of every leg."""
    bodies = bodies_by_name(names, values)
    friction: dict[str, dict[str, float]] = {}
    for name, value in zip(names, values, strict=True):
        if not is_inertial(name):
            joint_name, _, parameter = name.rpartition('.')
            friction.setdefault(joint_name, {})[parameter] = float(value)

    def body(old: RigidBody) -> RigidBody:
        shared = old.name if old.name in bodies else f'leg_{old.name.partition("_")[2]}'
        return body_from_parameters(old.name, bodies[shared]) if shared in bodies else old

    def changed(joint: Joint) -> Joint:
        own = joint.friction.with_parameters(friction.get(joint.name, {}))
        return replace(joint, body=body(joint.body), friction=own)

    return replace(with_joints(machine, changed), platform=body(machine.platform))
