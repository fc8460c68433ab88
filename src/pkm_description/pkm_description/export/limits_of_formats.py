"""What a machine file says and a format cannot hold, so that nobody simulates another machine unknowingly."""

from __future__ import annotations

from pkm_description.machine.model import Machine


def not_expressed(machine: Machine, format_name: str) -> list[str]:
    """Properties of this machine that change its motion and are missing in ``'urdf'``, ``'mjcf'`` or ``'sdf'``.

    General limits of the formats (no loops in a URDF, for example) are in the README, not here.
    """
    lost = []
    rotors = [joint for leg in machine.legs for joint in leg.joints if joint.rotor_inertia]
    if rotors and format_name != 'mjcf':
        lost.append(
            f'{format_name.upper()} cannot express rotor_inertia ({rotors[0].name}: {rotors[0].rotor_inertia:g}, '
            f'{len(rotors)} joints in all): readers of this file simulate lighter drives'
        )
    return lost
