"""MuJoCo's compiled model of an MJCF, also where its meshes are missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from pkm_description.arrays import Array
from pkm_description.importing.graph import ImportMachineError
from pkm_description.importing.placement import Placement


def compiled(path: Path) -> Any:
    """Return MuJoCo's model of a file; without shapes where files of meshes or textures are missing.

    Raises
    ------
    ImportMachineError
        MuJoCo is not installed, does not take the file, or a body takes its mass from a mesh that is missing.
    """
    try:
        import mujoco
    except ImportError:
        raise ImportMachineError(
            f'{path}: reading MJCF needs MuJoCo, which is not installed here: pip install mujoco'
        ) from None
    try:
        return mujoco.MjSpec.from_file(str(path)).compile()
    except ValueError as error:
        whole = str(error)
    try:
        return _without_shapes(mujoco, path).compile()
    except ValueError as error:
        raise ImportMachineError(f'{path}: MuJoCo does not take it: {whole}; without shapes: {error}') from None


def _without_shapes(mujoco: Any, path: Path) -> Any:
    """Return the specification without what files beside it hold."""
    spec = mujoco.MjSpec.from_file(str(path))
    for body in spec.bodies[1:]:
        meshes = [geom for geom in body.geoms if geom.type == mujoco.mjtGeom.mjGEOM_MESH]
        if meshes and not body.explicitinertial:
            raise ImportMachineError(
                f'{path}: body {body.name!r} takes its mass from the mesh {meshes[0].meshname!r}, whose file is '
                'missing: put the meshes where the file expects them, or give the body an <inertial>'
            )
        for geom in meshes if body.explicitinertial else []:
            spec.delete(geom)
    for geom in list(spec.geoms):
        if geom.type == mujoco.mjtGeom.mjGEOM_MESH or geom.hfieldname:
            spec.delete(geom)
        else:
            geom.material = ''
    for kind in ('skins', 'meshes', 'hfields', 'materials', 'textures'):
        for element in list(getattr(spec, kind)):
            spec.delete(element)
    return spec


def name_of(model: Any, kind: str, index: int) -> str:
    """Name of an object of MuJoCo's model; an object without one is named by its number."""
    name = getattr(model, kind)(index).name
    return name or f'{kind}{index}'


def placement(position: Array, quaternion: Array) -> Placement:
    """Placement of a position (3,) m and a quaternion (4,), real part first."""
    return Placement(np.array(position), Rotation.from_quat(np.roll(quaternion, -1)).as_matrix())
