"""Texts of exported files: numbers, and what the files say beside the model: limits of the format, overlays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from xml.etree.ElementTree import Comment, Element, indent, tostring

import numpy as np

from pkm_description.machine import Machine

#: kg and kg m^2 of bodies without mass: MuJoCo takes none that move and weigh nothing
LEAST_MASS, LEAST_INERTIA = 1e-6, 1e-9
#: kg of the same in SDF, and of links at the base, whose mass no force shows
SMALL_MASS = 1e-4
#: how provenance of values from an overlay begins
_OVERLAY = 'overlay: '
#: kg, of bodies that have no mass in the machine file
_LEAST = {'mjcf': f'{LEAST_MASS:g}', 'sdf': f'{SMALL_MASS:g}', 'gazebo': f'{SMALL_MASS:g}'}


def numbers(*values: Iterable[float]) -> str:
    """Arrays as one line of text that reads back to the same doubles."""
    flat = np.concatenate([np.asarray(value, dtype=float).ravel() for value in values])
    return ' '.join(repr(float(value)) for value in flat)


def xml_text(root: Element, declaration: bool = True) -> str:
    """Indented text of a whole XML file."""
    indent(root)
    return '<?xml version="1.0"?>\n' * declaration + tostring(root, encoding='unicode') + '\n'


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


def add_provenance(root: Element, machine: Machine, format_name: str) -> None:
    """Put a comment first into an XML file of a machine that has values of an overlay; others stay as they are.

    Parameters
    ----------
    root : of the file
    machine : as it was loaded
    format_name : of ``export_machine``
    """
    texts = machine.provenance.values()
    origins = Counter(text.removeprefix(_OVERLAY) for text in texts if text.startswith(_OVERLAY))
    if not origins:
        return
    lines = [f'{count} values of the overlay {origin}' for origin, count in origins.items()]
    lines += [f'not in this file: {text}' for text in not_expressed(machine, format_name)]
    # a comment in XML must not contain two hyphens
    root.insert(0, Comment(' ' + '; '.join(lines).replace('--', '- -') + ' '))
