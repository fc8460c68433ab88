"""Identified parameters as an overlay of the machine file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics.friction import joint_friction_law
from pkm_description.loading.keys import joint_key
from pkm_description.machine import INERTIAL_PARAMETERS, Joint, Machine, RigidBody

from pkm_description import loading
from pkm_identification.errors import InfeasibleParametersError
from pkm_identification.judgement.physical import body_from_parameters
from pkm_identification.result import IdentificationResult

#: keys of a body in a machine file, in the order of :func:`_body_values`
_BODY_KEYS = (
    'mass', 'center_of_mass.x', 'center_of_mass.y', 'center_of_mass.z',
    'inertia.ixx', 'inertia.ixy', 'inertia.ixz', 'inertia.iyy', 'inertia.iyz', 'inertia.izz',
)  # fmt: skip


def write_overlay(result: IdentificationResult, path: str | Path) -> Path:
    """Write bodies and friction of a result as an overlay.

    Raises
    ------
    InfeasibleParametersError
        If a body cannot exist; a machine file with it would be refused when read.
    FileExistsError
        If the file is there already.
    """
    if result.identified_machine is None:
        raise InfeasibleParametersError('no overlay: ' + '; '.join(result.physical.infeasible))
    values = overlay_values(result.identified_machine, result.config.identical_legs, result.config.friction)
    provenance = result.provenance
    return loading.write_overlay(
        path,
        result.machine.name,
        values,
        date=provenance['date'],
        data=provenance['data'],
        method=provenance['method'],
        standard_deviations=overlay_std(result),
    )


def overlay_values(machine: Machine, identical_legs: bool, friction: str) -> dict[str, object]:
    """Dotted keys of the machine file with the machine's bodies and friction.

    With legs identified one by one, every number is a list with one entry per leg.
    """
    values: dict[str, object] = {}
    _put_body(values, 'platform.body', [machine.platform])
    alike: dict[str, list[Joint]] = {}
    for joint in machine.joints:
        if joint.body.mass > 0.0:  # nothing is identified of what stands between the axes of a universal joint
            alike.setdefault(joint_key(machine, joint), []).append(joint)
    for key, joints in alike.items():
        joint = joints[0]
        _put_body(values, f'{key}.body', [joint.body] if identical_legs else [one.body for one in joints])
        if friction == 'all' or (friction == 'actuated' and joint.actuated):
            for name in joint_friction_law(joint).linear_parameter_names:
                values[f'{key}.friction.{name}'] = [getattr(one.friction.law, name) for one in joints]
    return values


def _put_body(values: dict[str, object], key: str, bodies: list[RigidBody]) -> None:
    numbers = np.array([_body_values(body.parameters) for body in bodies])
    columns = [numbers[0, index] if len(bodies) == 1 else numbers[:, index] for index in range(10)]
    values[f'{key}.mass'] = columns[0]
    values[f'{key}.center_of_mass'] = columns[1:4]
    for name, column in zip(_BODY_KEYS[4:], columns[4:], strict=True):
        values[f'{key}.{name}'] = column


def _body_values(parameters: Array) -> Array:
    """Mass, centre of mass and inertia about it (10,) of the ten parameters (10,)."""
    body = body_from_parameters('', parameters)
    return np.concatenate([[body.mass], body.center_of_mass, body.inertia[np.triu_indices(3)]])


def overlay_std(result: IdentificationResult) -> dict[str, float]:
    """Standard deviations by dotted key, of all values that were free; a leg's own value ends with the leg's name."""
    physical = result.physical
    place = {name: index for index, name in enumerate(physical.names)}
    keys = _body_places(result.machine)
    found: dict[str, float] = {}
    for body in dict.fromkeys(name.rpartition('.')[0] for name in physical.names):
        names = [f'{body}.{kind}' for kind in INERTIAL_PARAMETERS]
        if not all(name in place for name in names):
            continue  # friction, or a body partly held at its nominal values
        index = [place[name] for name in names]
        key, suffix = keys[body]
        # the map to centre of mass and inertia is not linear: propagate through its derivative
        derivative = _derivative(physical.values[index])
        variance = np.diag(derivative @ physical.covariance[np.ix_(index, index)] @ derivative.T)
        for name, value in zip(_BODY_KEYS, np.sqrt(np.maximum(variance, 0.0)), strict=True):
            found[f'{key}.{name}{suffix}'] = float(value)
    for leg in result.machine.legs:
        for joint in leg.joints:
            for law in joint_friction_law(joint).linear_parameter_names:
                at = place.get(f'{joint.name}.{law}')
                # friction that the motion did not excite is nominal: there is no standard deviation to state
                if at is not None and np.isfinite(physical.std[at]):
                    key = joint_key(result.machine, joint)
                    found[f'{key}.friction.{law}.{leg.name}'] = float(physical.std[at])
    return found


def _body_places(machine: Machine) -> dict[str, tuple[str, str]]:
    """Dotted key and suffix of every body name, shared (``leg_rod``) and single (``leg1_rod``)."""
    places = {machine.platform.name: ('platform.body', '')}
    for leg in machine.legs:
        for joint in leg.joints:
            key = f'{joint_key(machine, joint)}.body'
            places[joint.body.name] = (key, f'.{leg.name}')
            places[f'leg_{joint.body.name.removeprefix(leg.name + "_")}'] = (key, '')
    return places


def _derivative(parameters: Array) -> Array:
    """Derivative (10, 10) of :func:`_body_values`, central differences on a map that is at most cubic in 1 / mass."""
    steps = 1e-6 * np.maximum(np.abs(parameters), 1e-3 * np.abs(parameters).max())
    columns = [
        (_body_values(parameters + step) - _body_values(parameters - step)) / (2.0 * step.sum())
        for step in np.diag(steps)
    ]
    return np.array(columns).T
