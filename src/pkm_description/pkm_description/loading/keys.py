"""Keys of the parts of a machine in its file, for error messages."""

from __future__ import annotations

import numpy as np

from pkm_description.errors import MachineFileError
from pkm_description.machine import Joint, Machine, RigidBody

MILLIMETRES = 'looks like millimetres; give metres'


def bodies_with_keys(machine: Machine) -> list[tuple[str, RigidBody]]:
    """All bodies with their dotted keys."""
    legs = [(f'{joint_key(machine, joint)}.body', joint.body) for leg in machine.legs for joint in leg.joints]
    return [('platform.body', machine.platform), *legs] if machine.has_platform else legs


def joint_key(machine: Machine, joint: Joint) -> str:
    """Dotted key of a joint, which is called leg name, underscore, last part of the key."""
    leg = next(leg for leg in machine.legs if any(joint is own for own in leg.joints))
    return f'leg_chain.{joint.name.removeprefix(leg.name + "_")}'


def machine_error(machine: Machine, key: str, value: object, reason: str) -> MachineFileError:
    """Build the error about a dotted key of the machine's file."""
    shown = np.asarray(value).tolist() if isinstance(value, np.ndarray) else value
    return MachineFileError(machine.path, key, shown, reason)
