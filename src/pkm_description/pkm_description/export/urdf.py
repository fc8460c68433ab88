"""URDF of a machine file, through xacro."""

from __future__ import annotations

from pathlib import Path

from pkm_description.machine.load import config_directory, machine_file


def urdf_text(machine: str | Path) -> str:
    """Process ``urdf/pkm.urdf.xacro`` for a machine.

    Parameters
    ----------
    machine : name of a machine of the package, or path of a machine file

    Raises
    ------
    MachineFileError
        No such machine.
    ImportError
        xacro is not installed.
    """
    import xacro

    source = config_directory().parent / 'urdf' / 'pkm.urdf.xacro'
    document = xacro.process_file(str(source), mappings={'machine_file': str(machine_file(machine).resolve())})
    text: str = document.toprettyxml(indent='  ')
    return text
