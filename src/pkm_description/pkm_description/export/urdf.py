"""URDF of a machine file, through xacro."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import yaml

from pkm_description.loading import load_machine
from pkm_description.loading.load import config_directory, machine_content
from pkm_description.machine import Machine


def urdf_text(machine: str | Path, overlay: str | Path | None = None) -> str:
    """Process ``urdf/pkm.urdf.xacro`` for a machine.

    Parameters
    ----------
    machine : name of a machine of the package, or path of a machine file
    overlay : path of an overlay whose values replace those of the file

    Raises
    ------
    MachineFileError
        No such machine, or its file or the overlay has a mistake.
    ImportError
        xacro is not installed.
    """
    # xacro would complain about a wrong file without naming the key
    read = load_machine(machine, overlay)
    content, _ = machine_content(read.path, overlay)
    if not _replace_laws(content, read) and overlay is None:
        return _processed(read.path.resolve())
    with tempfile.TemporaryDirectory() as folder:
        merged = Path(folder) / 'machine.yaml'
        merged.write_text(yaml.safe_dump(content, sort_keys=False), encoding='utf-8')
        return _processed(merged)


def _replace_laws(content: dict[str, Any], machine: Machine) -> bool:
    """Put the nearest viscous and Coulomb friction in place of laws that a URDF cannot name; True if there was one."""
    found = False
    for place, chain_joint in enumerate(content['leg_chain'].values()):
        if 'law' in chain_joint.get('friction', {}):
            found = True
            losses = [leg.joints[place].friction for leg in machine.legs]
            chain_joint['friction'] = {
                'viscous': [one.viscous for one in losses],
                'coulomb': [one.coulomb for one in losses],
            }
    return found


def _processed(path: Path) -> str:
    import xacro

    source = config_directory().parent / 'urdf' / 'pkm.urdf.xacro'
    document = xacro.process_file(str(source), mappings={'machine_file': str(path)})
    text: str = document.toprettyxml(indent='  ')
    return text
