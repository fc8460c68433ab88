"""Texts of exported files: numbers, and what the files say beside the model: limits of the format, overlays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import Any
from xml.etree.ElementTree import (
    Comment,
    Element,
    TreeBuilder,
    XMLParser,
    fromstring,
    indent,
    register_namespace,
    tostring,
)

import numpy as np

from pkm_description.arrays import Array
from pkm_description.kinematics.rotation import quaternion_from_matrix
from pkm_description.machine import Machine
from pkm_description.machine.parts import INERTIA_ENTRIES

#: of our own elements in the SDF, which Gazebo hands on without looking at them
PKM_NAMESPACE = 'urn:pkm-suite:sdf:1'
register_namespace('pkm', PKM_NAMESPACE)

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


def quaternion(rotation: Array | None) -> Array | None:
    """Quaternion (4,) x, y, z, w of a rotation (3, 3); none of no turn: exact where roll, pitch and yaw lose digits."""
    if rotation is None or np.array_equal(rotation, np.eye(3)):
        return None
    return quaternion_from_matrix(rotation)


@lru_cache(maxsize=1)
def _templates() -> Any:
    """Our templates, with what all of them use."""
    # by exporters alone
    from jinja2 import Environment, PackageLoader, StrictUndefined

    found = Environment(loader=PackageLoader('pkm_description.export'), autoescape=True, undefined=StrictUndefined)
    found.globals |= {'numbers': numbers, 'quaternion': quaternion, 'inertia_entries': INERTIA_ENTRIES}
    return found


def filled(template: str, **values: object) -> Element:
    """Root of a template of this package, ``templates/<template>``, with these values."""
    text = _templates().get_template(template).render(**values)
    root = fromstring(text, XMLParser(target=TreeBuilder(insert_comments=True)))
    for element in root.iter():
        element.text, element.tail = ((one if one and one.strip() else None) for one in (element.text, element.tail))
    return root


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
