"""Keys of the parts of a machine in its file, for error messages."""

from __future__ import annotations

import numpy as np

from pkm_description.errors import MachineFileError
from pkm_description.machine import Closure, Joint, Leg, Machine, RigidBody

MILLIMETRES = 'looks like millimetres; give metres'


def bodies_with_keys(machine: Machine) -> list[tuple[str, RigidBody]]:
    """All bodies with their dotted keys."""
    legs = [(f'{joint_key(machine, joint)}.body', joint.body) for leg in machine.legs for joint in leg.joints]
    return [('platform.body', machine.platform), *legs] if machine.has_platform else legs


def joint_key(machine: Machine, joint: Joint) -> str:
    """Dotted key of a joint, or of what it is part of; its name is leg name, underscore, last part of the key."""
    leg = next(leg for leg in machine.legs if any(joint is own for own in leg.joints))
    key = (joint.part_of or joint.name).removeprefix(leg.name + '_')
    return f'leg_chains.{leg.chain}.joints.{key}' if leg.chain else f'leg_chain.{key}'


def chain_key(leg: Leg) -> str:
    """Dotted key of the joints and closures of a leg."""
    return f'leg_chains.{leg.chain}' if leg.chain else 'leg_chain'


def closures_with_legs(machine: Machine) -> list[tuple[Leg, Closure]]:
    """All closures in order, each with its leg."""
    return [(leg, closure) for leg in machine.legs for closure in leg.closures]


def closure_key(leg: Leg, closure: Closure) -> str:
    """Dotted key of a closure; in files without closures, the one of the closing point."""
    return f'{chain_key(leg)}.closures.{closure.name.removeprefix(leg.name + "_")}' if leg.chain else 'leg_tip'


def machine_error(machine: Machine, key: str, value: object, reason: str) -> MachineFileError:
    """Build the error about a dotted key of the machine's file."""
    shown = np.asarray(value).tolist() if isinstance(value, np.ndarray) else value
    return MachineFileError(machine.path, key, shown, reason)
