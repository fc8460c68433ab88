"""Where values of an overlay come from, as a comment in exported files, and what of them the format drops."""

from __future__ import annotations

from xml.etree.ElementTree import Comment, Element

from pkm_description.export.limits_of_formats import not_expressed
from pkm_description.machine import Machine

#: how provenance of values from an overlay begins
_OVERLAY = 'overlay: '


def overlay_origins(machine: Machine) -> dict[str, list[str]]:
    """Dotted keys of the values that overlays replaced, by what the overlay says of their origin."""
    found: dict[str, list[str]] = {}
    for key, text in machine.provenance.items():
        if text.startswith(_OVERLAY):
            found.setdefault(text.removeprefix(_OVERLAY), []).append(key)
    return found


def add_provenance(root: Element, machine: Machine, format_name: str) -> None:
    """Put a comment first into an XML file of a machine that has values of an overlay; others stay as they are.

    Parameters
    ----------
    root : of the file
    machine : as it was loaded
    format_name : of ``export_machine``
    """
    origins = overlay_origins(machine)
    if not origins:
        return
    lines = [f'{len(keys)} values of the overlay {origin}' for origin, keys in origins.items()]
    lines += [f'not in this file: {text}' for text in not_expressed(machine, format_name)]
    # a comment in XML must not contain two hyphens
    root.insert(0, Comment(' ' + '; '.join(lines).replace('--', '- -') + ' '))
