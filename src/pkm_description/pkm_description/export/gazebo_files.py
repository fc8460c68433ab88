"""Everything that Gazebo and ros_gz_bridge read about a machine, as files."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

from pkm_description.export.gazebo_bridge import bridge_yaml
from pkm_description.export.sdf import sdf_text
from pkm_description.export.sdf_options import SdfOptions
from pkm_description.machine import Machine
from pkm_description.writing import make_folder, write_text


@dataclass(frozen=True)
class GazeboFiles:
    """Where the files are.

    Attributes
    ----------
    world : world with the machine, for a server of its own
    model : the machine alone, for a world that runs already
    bridge : configuration of ros_gz_bridge
    """

    world: Path
    model: Path
    bridge: Path

    @property
    def all(self) -> tuple[Path, ...]:
        """In the order of the attributes."""
        return self.world, self.model, self.bridge


def write_gazebo_files(
    machine: Machine, options: SdfOptions, directory: Path, clock: bool = True
) -> GazeboFiles:
    """Write world, model and bridge configuration; the directory is made, files in it are replaced.

    Raises
    ------
    KinematicsError, ExportError
        As :func:`pkm_description.export.sdf.sdf_text`.
    """
    make_folder(directory)
    files = GazeboFiles(directory / 'world.sdf', directory / 'model.sdf', directory / 'bridge.yaml')
    texts = (
        sdf_text(machine, dataclasses.replace(options, world=True)),
        sdf_text(machine, dataclasses.replace(options, world=False)),
        bridge_yaml(machine, options, clock),
    )
    for path, text in zip(files.all, texts, strict=True):
        write_text(path, text)
    return files
