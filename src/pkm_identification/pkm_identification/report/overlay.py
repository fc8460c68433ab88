"""Identified parameters as an overlay of the machine file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics.friction import joint_friction_law
from pkm_description.loading.keys import joint_key
from pkm_description.machine import INERTIAL_PARAMETERS, Joint, Machine

from pkm_description import loading
from pkm_identification.columns.joint_terms import DRIVE_INERTIA, TRANSVERSE_FRICTION
from pkm_identification.errors import InfeasibleParametersError
from pkm_identification.fitting.overlay_values import BODY_KEYS, body_values, friction_key, overlay_values
from pkm_identification.result import IdentificationResult


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
    model = result.model
    values = overlay_values(result.identified_machine, model.identical_legs, model.rubbing, model.has_rotors)
    provenance = result.provenance
    return loading.write_overlay(
        path,
        result.machine.name,
        values,
        date=provenance['date'],
        data=f"{provenance['data']} ({provenance['time of the data']})",
        method=provenance['method'] + _not_carried(result),
        standard_deviations=overlay_std(result),
    )


def _not_carried(result: IdentificationResult) -> str:
    """What an overlay has no place for, in words."""
    lost = result.delivered.lost if result.delivered is not None else ()
    return f'; identified besides, and not in an overlay: {"; ".join(lost)}' if lost else ''


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
        for name, value in zip(BODY_KEYS, np.sqrt(np.maximum(variance, 0.0)), strict=True):
            found[f'{key}.{name}{suffix}'] = float(value)
    identified = {joint.name: joint for joint in (result.identified_machine or result.machine).joints}
    for leg in result.machine.legs:
        for joint in leg.joints:
            key = joint_key(result.machine, joint)
            friction = friction_key(result.machine, joint)
            for name, parameter in _names_in_overlay(identified[joint.name], key, friction).items():
                at = place.get(f'{joint.name}.{name}')
                # what the motion did not excite is nominal: there is no standard deviation to state
                if at is not None and np.isfinite(physical.std[at]):
                    found[f'{parameter}.{leg.name}'] = float(physical.std[at])
    return found


def _names_in_overlay(joint: Joint, key: str, friction: str) -> dict[str, str]:
    """Dotted key of each of a joint's parameters that an overlay carries, below those of the joint and its friction."""
    law = joint_friction_law(joint)
    names = {name: f'{friction}.{name}' for name in law.linear_parameter_names}
    names[TRANSVERSE_FRICTION.parameter] = f'{friction}.coulomb_coefficient'
    names[DRIVE_INERTIA.parameter] = f'{key}.rotor_inertia'
    return names


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
    """Derivative (10, 10) of :func:`body_values`, central differences on a map that is at most cubic in 1 / mass."""
    steps = 1e-6 * np.maximum(np.abs(parameters), 1e-3 * np.abs(parameters).max())
    columns = [
        (body_values(parameters + step) - body_values(parameters - step)) / (2.0 * step.sum())
        for step in np.diag(steps)
    ]
    return np.array(columns).T
