"""Inertial parameters of a machine as one vector: names, maps from fewer parameters, rotors of the drives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pkm_description.arrays import Array
from pkm_description.dynamics.body_blocks import Groups, body_names, identical_leg_groups, owners
from pkm_description.dynamics.friction import joint_shares
from pkm_description.kinematics.arguments import require_machine
from pkm_description.kinematics.joint_motion import JointMotion
from pkm_description.machine import INERTIAL_PARAMETERS, Machine

#: difference, relative to a body's largest parameter, up to which parameters agree with an assumption
AGREEMENT = 1e-9


def rigid_body_parameters(machine: Machine, identical_legs: bool = True) -> Array:
    """Ten parameters per body (P,): the platform's, then those of each leg body from base to platform.

    Parameters
    ----------
    identical_legs : True: legs that are built alike share one set of leg bodies; False: leg by leg, P = 10 (1 + J) with
        the J joints of all legs; 10 fewer for an open chain. Other sharing:
        :func:`pkm_description.dynamics.sharing_matrix`

    Raises
    ------
    ValueError
        If the legs' parameters differ although ``identical_legs`` is asked for; names the body.
    """
    require_machine(machine)
    platform = [machine.platform] if machine.has_platform else []
    bodies = platform + [joint.body for joint in machine.joints]
    full = np.concatenate([body.parameters for body in bodies])
    if not identical_legs:
        return full
    try:
        return sharing_matrix(machine, identical_leg_groups(machine)).values(full)
    except ValueError as error:
        raise ValueError(f'{machine.name}: legs differ, {error}; use identical_legs=False') from None


def rigid_body_parameter_names(machine: Machine, identical_legs: bool = True) -> list[str]:
    """Names (P,) such as ``platform_link.m`` and ``leg_rod.Ixx`` (identical legs) or ``leg1_rod.Ixx``."""
    require_machine(machine)
    if identical_legs:
        return list(sharing_matrix(machine, identical_leg_groups(machine)).names)
    return list(inertial_names(body_names(machine)))


@dataclass(frozen=True)
class ParameterMap:
    """Parameters as a linear function of fewer ones: ``full = matrix @ fewer``.

    Attributes
    ----------
    full_names : P names
    names : R names of the fewer parameters
    matrix : (P, R)
    """

    full_names: tuple[str, ...]
    names: tuple[str, ...]
    matrix: Array

    def __post_init__(self) -> None:
        if self.matrix.shape != (len(self.full_names), len(self.names)):
            raise ValueError(
                f'matrix has shape {self.matrix.shape}, expected ({len(self.full_names)}, {len(self.names)})'
            )

    def __len__(self) -> int:
        return len(self.names)

    def columns(self, regressor: Array) -> Array:
        """Regressor (..., R) of the fewer parameters from that of the full ones (..., P)."""
        return regressor @ self.matrix

    def full(self, values: Array) -> Array:
        """Full parameters (P,) of the fewer ones (R,)."""
        return self.matrix @ values

    def values(self, full: Array) -> Array:
        """Fewer parameters (R,) of full ones (P,).

        Raises
        ------
        ValueError
            If the full parameters do not agree with the assumption; names the one that is furthest off.
        """
        values = self._solve(full)
        scale = _body_scale(self.full_names, full)
        difference = np.abs(self.full(values) - full) / scale
        worst = int(np.argmax(difference)) if len(difference) else 0
        if len(difference) and difference[worst] > AGREEMENT:
            raise ValueError(
                f'{self.full_names[worst]} is {full[worst]:.6g}, by the assumption it would be '
                f'{self.full(values)[worst]:.6g}'
            )
        return values

    def then(self, other: ParameterMap) -> ParameterMap:
        """Further reduction: ``other`` makes the fewer parameters of this map from fewer still."""
        if other.full_names != self.names:
            raise ValueError('the second map does not begin with the parameters where the first one ends')
        return ParameterMap(self.full_names, other.names, self.matrix @ other.matrix)

    def _solve(self, full: Array) -> Array:
        """Fewer parameters that fit; exact copies wherever a full parameter is one of the fewer ones."""
        copies = (self.matrix == 1.0) & (np.count_nonzero(self.matrix, axis=1) == 1)[:, None]
        if copies.any(axis=0).all():
            return np.asarray(full[np.argmax(copies, axis=0)], dtype=float)
        return np.asarray(np.linalg.lstsq(self.matrix, full, rcond=None)[0], dtype=float)


def sharing_matrix(machine: Machine, groups: Groups) -> ParameterMap:
    """Bodies that share one set of inertial parameters; the others keep their own.

    Parameters
    ----------
    groups : name of a set -> names or patterns of its bodies, e.g. ``{'slider': ['leg?_slider']}`` where only the
        sliders are alike, or ``{'long_rod': ['leg[135]_rod'], 'short_rod': ['leg[246]_rod']}``

    Returns
    -------
    ParameterMap
        From ``rigid_body_parameter_names(machine, identical_legs=False)`` to names such as ``slider.m``; a set stands
        where its first body stood.

    Raises
    ------
    ValueError
        If a pattern matches no body, a body belongs to two sets, or a set has the name of another body.
    """
    require_machine(machine)
    bodies = body_names(machine)
    owner = owners(bodies, groups)
    sets = list(dict.fromkeys(owner))
    matrix = np.zeros((len(bodies), len(sets)))
    matrix[np.arange(len(bodies)), [sets.index(name) for name in owner]] = 1.0
    blocks = np.kron(matrix, np.eye(len(INERTIAL_PARAMETERS))).astype(np.float64)
    return ParameterMap(inertial_names(bodies), inertial_names(sets), blocks)


def inertial_names(bodies: Sequence[str]) -> tuple[str, ...]:
    """Ten names per body, ``leg_rod.m`` .. ``leg_rod.Izz``."""
    return tuple(f'{body}.{parameter}' for body in bodies for parameter in INERTIAL_PARAMETERS)


def _body_scale(names: Sequence[str], values: Array) -> Array:
    """Largest absolute value (P,) among the parameters of the same body."""
    owners = [name.rpartition('.')[0] for name in names]
    largest: dict[str, float] = {}
    for owner, value in zip(owners, np.abs(values), strict=True):
        largest[owner] = max(largest.get(owner, 1e-300), float(value))
    return np.array([largest[owner] for owner in owners])


def rotor_regressor(machine: Machine, joint_motion: JointMotion) -> Array:
    """Regressor (N, A, A): the rotors' share of the drive forces = regressor @ ``rotor_parameters``.

    Rotor and screw turn with the joint, so only their sum is seen, and only by their own drive (Mata et al. 2008,
    Eqs. 18 and 19); redundant drives share it.
    """
    columns = machine.drive_columns
    shares = joint_shares(machine, joint_motion, columns)
    return np.swapaxes(joint_motion.accelerations[:, columns, None] * shares, 1, 2)


def rotor_parameters(machine: Machine) -> Array:
    """Reflected inertia (A,) kg or kg m^2 of the drives."""
    return np.array([joint.rotor_inertia for joint in machine.actuated_joints])


def rotor_parameter_names(machine: Machine) -> list[str]:
    """Names (A,) such as ``leg1_prismatic.rotor_inertia``."""
    return [f'{joint.name}.rotor_inertia' for joint in machine.actuated_joints]
