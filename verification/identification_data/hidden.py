"""The machine behind a data set: bodies and friction drawn around the nominal ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from pkm_description.arrays import Array
from pkm_description.machine import JointFriction, Machine, RigidBody
from pkm_description.machine.machine import with_friction

from verification.engines.projection import idle_joints
from verification.identification_data.cases import Case
from verification.identification_data.friction import DriveFriction


def hidden_bodies(machine: Machine, case: Case, seed: int) -> Machine:
    """Machine with other bodies: each is deformed and its density changed, so that it stays a possible body.

    Bodies at the same place of legs of the same kind are changed alike, unless the legs are unlike. Rods that can spin
    about themselves keep their shape: where an uneven one would turn to is not what an identification can know.
    """
    random = np.random.default_rng([seed, 0])
    changes: dict[tuple[str, ...], tuple[float, Array]] = {}

    def changed(body: RigidBody, key: tuple[str, ...], may_deform: bool) -> RigidBody:
        if key not in changes:
            density = 1.0 + case.bodies * random.uniform(-1.0, 1.0)
            changes[key] = density, 0.5 * case.bodies * random.uniform(-1.0, 1.0, size=(3, 4))
        density, change = changes[key]
        return deformed(body, density, change if may_deform else 0.0 * change)

    spinning = {machine.joint_names[place] for place in idle_joints(machine)}
    legs = []
    for leg in machine.legs:
        may_deform = not any(joint.name in spinning for joint in leg.joints)
        joints = []
        for place, joint in enumerate(leg.joints):
            key = (leg.name, str(place)) if case.unlike_legs else (leg.chain, str(place))
            rotor = case.rotor if joint.actuated and case.rotor >= 0.0 else joint.rotor_inertia
            joints.append(replace(joint, body=changed(joint.body, key, may_deform), rotor_inertia=rotor))
        legs.append(replace(leg, joints=tuple(joints)))
    return replace(machine, platform=changed(machine.platform, ('platform',), True), legs=tuple(legs))


def deformed(body: RigidBody, density: float, change: Array) -> RigidBody:
    """Body whose points x went to ``(1 + M) x + r t``, with another density.

    Parameters
    ----------
    density : factor on the mass
    change : (3, 4) M, and t in radii of gyration r
    """
    if body.mass == 0.0:
        return body
    moments = 0.5 * np.trace(body.inertia) * np.eye(3) - body.inertia
    radius = np.sqrt(max(np.trace(moments), 0.0) / body.mass)
    stretch = np.eye(3) + change[:, :3]
    moments = density * stretch @ moments @ stretch.T
    # a flat body stays possible under rounding, MuJoCo refuses others
    moments += 1e-9 * np.trace(moments) * np.eye(3)
    inertia = np.trace(moments) * np.eye(3) - moments
    center = stretch @ body.center_of_mass + radius * change[:, 3]
    return RigidBody(body.name, density * body.mass, center, inertia)


def drive_friction(machine: Machine, case: Case, seed: int, inertia: Array, step: float) -> DriveFriction:
    """Friction of the drives, drawn around that of the machine file.

    Parameters
    ----------
    inertia : (A,) kg or kg m^2, what a drive feels: with the step it limits the stiffness of the bristles
    step : s, of the physics
    """
    random = np.random.default_rng([seed, 1])
    joints = machine.actuated_joints
    viscous = np.array([joint.friction.viscous for joint in joints])
    coulomb = np.array([joint.friction.coulomb for joint in joints])
    viscous = case.friction * viscous * random.uniform(0.75, 1.25, size=len(joints))
    coulomb = case.friction * coulomb * random.uniform(0.75, 1.25, size=len(joints))
    lean = case.asymmetry * random.choice([-1.0, 1.0], size=len(joints))
    fastest = np.array([joint.limits.velocity for joint in joints])
    slow = case.stribeck_velocity * np.where(np.isfinite(fastest), fastest, 1.0)
    one = np.ones(len(joints))
    # bristles with a natural frequency of at most 0.6 per step; what grows with the axial force makes them no stiffer
    softest = coulomb / (inertia * (0.6 / step) ** 2)
    presliding = np.maximum(np.maximum(case.presliding * strokes(machine), softest), 1e-9)
    return DriveFriction(
        viscous=viscous,
        coulomb_forward=coulomb * (1.0 + lean),
        coulomb_backward=coulomb * (1.0 - lean),
        breakaway=(1.0 + case.breakaway) * one,
        stribeck_velocity=slow * random.uniform(0.9, 1.1, size=len(joints)),
        stribeck_exponent=2.0 * one,
        axial=case.axial * one,
        presliding=presliding,
    )


def strokes(machine: Machine) -> Array:
    """Strokes (A,) m or rad of the drives; 1 where there is no limit."""
    stroke = (machine.position_upper - machine.position_lower)[machine.drive_columns]
    return np.where(np.isfinite(stroke), stroke, 1.0)


def passive_radius(machine: Machine, case: Case) -> float:
    """Friction of passive hinges per force across their axes, m: coefficient times radius of the bearing."""
    return case.passive * float(strokes(machine).mean())


def mean_coulomb(machine: Machine) -> float:
    """Mean Coulomb friction of the drives in the machine file, N or N m: the unit of biases and ripples."""
    return float(np.mean([joint.friction.coulomb for joint in machine.actuated_joints]))


def with_viscous_coulomb(machine: Machine, friction: DriveFriction | None = None) -> Machine:
    """Machine whose joints have viscous and Coulomb friction only, as today's identification asks for.

    Parameters
    ----------
    friction : of the drives, with the mean Coulomb friction of both directions; default: what comes nearest to the
        machine file's laws
    """
    places = {joint.name: place for place, joint in enumerate(machine.actuated_joints)}

    def pair(name: str, nearest: JointFriction) -> JointFriction:
        if friction is None or name not in places:
            return JointFriction.viscous_coulomb(nearest.viscous, nearest.coulomb)
        drive = places[name]
        coulomb = 0.5 * (friction.coulomb_forward + friction.coulomb_backward)
        return JointFriction.viscous_coulomb(float(friction.viscous[drive]), float(coulomb[drive]))

    return with_friction(machine, lambda joint: replace(pair(joint.name, joint.friction), speed=joint.friction.speed))
