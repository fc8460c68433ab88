"""Write a cut mechanism as a machine file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np
import yaml

from pkm_description.arrays import Array
from pkm_description.importing.closing import Loops, null_space
from pkm_description.importing.graph import BASE, Mechanism, Placement
from pkm_description.kernels.dynamics.newton_euler import joint_forces, tree_wrenches
from pkm_description.kinematics.rotation import rpy_from_matrix
from pkm_description.loading.yaml_reader import as_lists
from pkm_description.machine import Closure, Joint, Leg, RigidBody
from pkm_description.machine.parts import INERTIA_ENTRIES

#: a drive gives at least this times what holds the machine at home
_RESERVE = 1.1

#: what a leg's link, or the end of a closure, is called in exported models
_TAKEN, _ENDS = ('base', 'tip', 'ball', 'closure', 'platform', 'end', 'mount'), ('cross', 'axis', 'anchor', 'link')

#: rad or m, by which home may miss a limit, and the room that it then gets for rounding
_ROUNDED, _ROOM = 1e-5, 1e-12

#: what a driven joint is assumed to have where the source is silent: rad/s or m/s, and N m or N
_ASSUMED_VELOCITY, _ASSUMED_EFFORT = {'revolute': 20.0, 'prismatic': 2.0}, 1e4


@dataclass
class _Provenance:
    """Where the numbers come from, and what had to be assumed."""

    holding: dict[str, float]
    entries: dict[str, str] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)


def machine_text(mechanism: Mechanism) -> str:
    """Text of a machine file (YAML), with provenance; what was assumed or lost stands at its head as comments."""
    holding = np.abs(holding_forces(mechanism)).tolist()
    told = _Provenance(dict(zip(mechanism.actuated_joint_names, holding, strict=True)))
    name = plain(mechanism.name).lower()
    content: dict[str, Any] = {
        'schema': 1,
        'name': name,
        'description': f'imported from {mechanism.source}',
        'gravity': _list(mechanism.gravity),
        'platform': {
            'link': platform_link(mechanism),
            'home': _pose(Placement(mechanism.home.position, mechanism.home.rotation_base_platform)),
            **({'freedom': 'planar'} if mechanism.planar else {}),
            'body': _body(mechanism.platform),
        },
    }
    content['leg_chains'] = {leg.name: _chain(leg, mechanism, told) for leg in mechanism.legs}
    at_zero = ('base_point', 'base_rpy', 'platform_point')
    content['legs'] = {leg.name: {'chain': leg.name, **{key: [0.0] * 3 for key in at_zero}} for leg in mechanism.legs}
    printed = f'printed: imported from {mechanism.source}'
    content['provenance'] = told.entries | {
        'platform.body': printed,
        'gravity': printed,
        'platform.home': f'derived: loops of {mechanism.source} closed',
        'leg_chains': printed,
        'legs': 'derived: all frames of the legs are those of base_link and platform',
    }
    head = [f'# {name}: imported by import_machine from {mechanism.source}. SI units.']
    head += [f'# - {note}' for note in (*mechanism.notes, *told.remarks)]
    return (
        '\n'.join(head)
        + '\n'
        + yaml.dump(as_lists(content), sort_keys=False, default_flow_style=None, width=110, allow_unicode=True)
    )


def platform_link(mechanism: Mechanism) -> str:
    """Link name of the platform in the machine file."""
    name = plain(mechanism.platform.name)
    return name if name != BASE else f'{name}_platform'


def names_of_source(mechanism: Mechanism) -> dict[str, str]:
    """Names of joints, bodies and closures in the machine -> those in the source."""
    of_legs = ((leg.name, part) for leg in mechanism.legs for part in _names(leg))
    return {f'{leg}_{name}': source for leg, part in of_legs for source, name in part.items()}


def _names(leg: Leg) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """Names of joints, bodies and closures of a leg -> those in the machine file, less the leg's name."""
    # none of the names of links, joints and frames that exported models have besides
    closures = plain_names((closure.name for closure in leg.closures), _TAKEN)
    taken = [*closures.values(), *(f'{name}_{end}' for name in closures.values() for end in (*_TAKEN, *_ENDS)), *_TAKEN]
    joints = plain_names(dict.fromkeys(joint.part_of or joint.name for joint in leg.joints), taken)
    return joints, plain_names((joint.body.name for joint in leg.joints), taken), closures


def _chain(leg: Leg, mechanism: Mechanism, told: _Provenance) -> dict[str, Any]:
    joints, bodies, closures = _names(leg)
    content: dict[str, Any] = {'joints': {}}
    before = BASE
    for name, group in groupby(leg.joints, lambda joint: joint.part_of or joint.name):
        parts = list(group)  # joints of one degree of freedom that stand for one of the file
        key = f'leg_chains.{leg.name}.joints.{joints[name]}'
        entry = _joint(parts[0], key, mechanism, told) if len(parts) == 1 else _several(parts)
        if parts[0].parent != before:
            entry['parent'] = bodies.get(parts[0].parent, BASE)
        entry['body'] = {'name': bodies[parts[-1].body.name], **_body(parts[-1].body)}
        content['joints'][joints[name]] = entry
        before = parts[-1].body.name
    content['closures'] = {closures[one.name]: _closure(one, bodies, mechanism) for one in leg.closures}
    return content


def _several(parts: list[Joint]) -> dict[str, Any]:
    """Entry of a universal joint, or of a ball, whose last turn is about the axis of its body."""
    axes = [_list(part.axis) for part in parts]
    kind = {'type': 'spherical', 'axis': axes[2]} if len(parts) == 3 else {'type': 'universal', 'axes': axes}
    homes = [_half_turn(part.home) for part in parts]
    return {**kind, 'origin': _pose(parts[0].place), 'home': homes, **_friction(parts[0])}


def _friction(joint: Joint) -> dict[str, Any]:
    friction = joint.friction
    resists = friction.viscous or friction.coulomb
    return {'friction': {'viscous': friction.viscous, 'coulomb': friction.coulomb}} if resists else {}


def _half_turn(angle: float) -> float:
    """Return the same angle [rad] within half a turn; angles there stay as they are, to the last bit."""
    return float(angle) if abs(angle) <= np.pi else float((angle + np.pi) % (2.0 * np.pi) - np.pi)


def _joint(joint: Joint, key: str, mechanism: Mechanism, told: _Provenance) -> dict[str, Any]:
    home = _half_turn(joint.home) if joint.kind == 'revolute' else float(joint.home)
    entry: dict[str, Any] = {'type': joint.kind, 'axis': _list(joint.axis), 'origin': _pose(joint.place)}
    if joint.actuated:
        entry['actuated'] = True
    limits = _limits(joint, home, key, mechanism, told)
    if limits:
        entry['limits'] = limits
    entry |= _friction(joint) | {'home': home}
    if joint.rotor_inertia:
        entry['rotor_inertia'] = joint.rotor_inertia
    return entry


def _limits(joint: Joint, home: float, key: str, mechanism: Mechanism, told: _Provenance) -> dict[str, float]:
    """Limits of a joint; a driven one needs all four."""
    values = joint.limits
    revolute = joint.kind == 'revolute'
    lower, upper = values.lower, values.upper
    widest = 2.0 * np.pi if revolute else np.inf
    if abs(lower) > widest or abs(upper) > widest:  # what exporters write for 'none'
        lower, upper = -np.inf, np.inf
    # at the end of a stroke, but for rounding
    lower = min(lower, home - _ROOM) if home > lower - _ROUNDED else lower
    upper = max(upper, home + _ROOM) if home < upper + _ROUNDED else upper
    if not lower <= home <= upper:
        told.remarks.append(
            f'{joint.name}: home, {home:.4g}, is outside the limits of the source, {lower:.4g} to {upper:.4g}'
        )
        lower, upper = -np.inf, np.inf
    found = {'lower': lower, 'upper': upper, 'velocity': values.velocity, 'effort': values.effort}
    if joint.actuated:
        needed = told.holding[joint.name]
        if values.effort < _RESERVE * needed:
            unit = 'N m' if revolute else 'N'
            told.remarks.append(
                f'{joint.name}: the source lets the drive give {values.effort:.4g} {unit}, but it needs '
                f'{needed:.4g} to hold the machine at home; its effort is assumed'
            )
            found['effort'] = np.inf
        span = np.pi if revolute else mechanism.size
        assumed = {
            'lower': max(home - span, -widest),
            'upper': min(home + span, widest),
            'velocity': _ASSUMED_VELOCITY[joint.kind],
            'effort': max(_ASSUMED_EFFORT, 100.0 * needed),
        }
        for name, value in assumed.items():
            if not np.isfinite(found[name]):
                found[name] = value
                told.entries[f'{key}.limits.{name}'] = f'assumed: {mechanism.source} has no such limit'
    return {name: float(value) for name, value in found.items() if np.isfinite(value)}


def _closure(closure: Closure, bodies: dict[str, str], mechanism: Mechanism) -> dict[str, Any]:
    here, there = _pose(closure.frame), _pose(closure.other_frame)
    others = {BASE: 'base', mechanism.platform.name: 'platform'}
    other = bodies[closure.other] if closure.other in bodies else others[closure.other]
    entry = {'type': closure.kind, 'body': bodies[closure.body], 'xyz': here['xyz'], 'rpy': here['rpy']}
    if other != 'platform':
        entry['to'] = other
    return {**entry, 'to_xyz': there['xyz'], 'to_rpy': there['rpy']}


def _body(body: RigidBody) -> dict[str, Any]:
    return {
        'mass': float(body.mass),
        'center_of_mass': _list(body.center_of_mass),
        'inertia': {key: float(body.inertia[place]) for key, place in INERTIA_ENTRIES.items()},
    }


def _pose(place: Placement) -> dict[str, list[float]]:
    return {'xyz': _list(place.position), 'rpy': _list(rpy_from_matrix(place.rotation))}


def _list(values: Array) -> list[float]:
    return [float(value) + 0.0 for value in values]


def holding_forces(mechanism: Mechanism) -> Array:
    """Forces (A,) N, N m of the drives against gravity at home, by virtual work; least ones where there are several."""
    loops = Loops(mechanism)
    at_home, matrix = loops.at_home, loops.jacobian(loops.home)
    tree_wrenches(at_home.compiled, at_home.scratch)
    joint_forces(at_home.compiled, at_home.scratch)
    memory, platform = at_home.memory, len(mechanism.joints)
    on_platform = np.concatenate([memory.force[platform], memory.moment[platform]])[at_home.model.freedom]
    motions = null_space(matrix)
    needed = motions.T @ np.concatenate([memory.joint_forces, on_platform])
    return np.asarray(np.linalg.lstsq(motions[mechanism.drive_columns].T, needed, rcond=1e-9)[0])


def plain(name: str) -> str:
    """Letters, digits and underscores of a name, a letter first."""
    text = re.sub(r'[^A-Za-z0-9]+', '_', name).strip('_') or 'part'
    return text if text[0].isalpha() else f'n{text}'


def plain_names(names: Iterable[str], taken: Iterable[str] = ()) -> dict[str, str]:
    """Plain names of all, no two alike, and none of ``taken``."""
    found: dict[str, str] = {}
    used = set(taken)
    for name in names:
        text, number = plain(name), 2
        while text in used:
            text, number = f'{plain(name)}_{number}', number + 1
        used.add(text)
        found[name] = text
    return found
