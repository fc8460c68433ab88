"""Warnings about properties of a machine that an export format cannot represent."""

from __future__ import annotations

from pkm_description.export.mjcf_parts import LEAST_MASS
from pkm_description.export.sdf_parts import SMALL_MASS
from pkm_description.machine import Machine

#: kg, of bodies that have no mass in the machine file
_LEAST = {'mjcf': f'{LEAST_MASS:g}', 'sdf': f'{SMALL_MASS:g}', 'gazebo': f'{SMALL_MASS:g}'}


def not_expressed(machine: Machine, format_name: str) -> list[str]:
    """Properties of this machine that change its motion and are missing in a format of ``export_machine``.

    General limits of the formats (no loops in a URDF, for example) are in docs/reference/exports.md.
    """
    joints = machine.joints
    lost = []
    rotors = [joint for joint in joints if joint.rotor_inertia]
    if rotors and format_name not in ('mjcf', 'c'):
        lost.append(
            f'{format_name.upper()} cannot express rotor_inertia ({rotors[0].name}: {rotors[0].rotor_inertia:g}, '
            f'{len(rotors)} joints in all); its readers simulate lighter drives'
        )
    massless = [joint.body.name for joint in joints if joint.body.mass == 0.0]
    if massless and format_name in ('mjcf', 'sdf', 'gazebo'):
        but = ', crosses of composed joints excepted' if format_name == 'mjcf' else ''
        lost.append(
            f'{format_name.upper()} has no bodies without mass ({massless[0]}, {len(massless)} in all); '
            f'they get {_LEAST[format_name]} kg{but}'
        )
    laws = [joint for joint in joints if not joint.friction.is_viscous_coulomb]
    if laws:
        lost.append(
            f'{format_name.upper()} cannot express friction laws ({laws[0].name}, {len(laws)} joints in all); it has '
            'the viscous and Coulomb friction nearest to each'
        )
    return lost
