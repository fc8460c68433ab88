"""Plausibility checks of the drives: speed limits, and force limits against friction."""

from __future__ import annotations

from pkm_description.loading.keys import joint_key, machine_error
from pkm_description.machine import Joint, Machine

#: m/s and rad/s that no drive of a machine reaches
_FASTEST = {'prismatic': 100.0, 'revolute': 1000.0}

#: s to cross the stroke at full speed; the fastest linear motors need ten times as long, mm/s in place of m/s a
#: thousandth of what a usual drive needs
_QUICKEST_STROKE = 5e-3


def check_drives(machine: Machine) -> None:
    """Check speed and dry friction of the driven joints.

    Raises
    ------
    MachineFileError
        Naming the key concerned and what to do.
    """
    for joint in machine.actuated_joints:
        _check_speed(machine, joint)
        _check_dry_friction(machine, joint)


def _check_speed(machine: Machine, joint: Joint) -> None:
    limits = joint.limits
    crossing = (limits.upper - limits.lower) / limits.velocity
    if limits.velocity <= _FASTEST[joint.kind] and crossing >= _QUICKEST_STROKE:
        return
    right, wrong = ('m/s', 'mm/s') if joint.kind == 'prismatic' else ('rad/s', 'degrees/s or rpm')
    raise machine_error(
        machine, f'{joint_key(machine, joint)}.limits.velocity', limits.velocity,
        f'{joint.name} would cross its stroke in {crossing:.3g} s; looks like {wrong}, give {right}',
    )  # fmt: skip


def _check_dry_friction(machine: Machine, joint: Joint) -> None:
    friction = joint.friction
    law, key = friction.law, f'{joint_key(machine, joint)}.friction'
    no_load = 0.0 if law.needs_load else None
    dry = max(friction.coulomb, *(abs(float(law.breakaway_force(way, no_load))) for way in (1.0, -1.0)))
    if dry > joint.limits.effort:
        unit = 'N' if joint.kind == 'prismatic' else 'N m'
        coulomb = f'{key}.coulomb' if hasattr(law, 'coulomb') else key
        raise machine_error(
            machine, coulomb, dry,
            f'{joint.name} could not move: its dry friction of {dry:.6g} {unit} is more than the drive gives '
            f'(limits.effort = {joint.limits.effort:.6g} {unit}); correct one of the two',
        )  # fmt: skip
