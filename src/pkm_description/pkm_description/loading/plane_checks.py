"""Checks that the legs of a planar machine stay in planes across z."""

from __future__ import annotations

import numpy as np

from pkm_description.kernels.pose import CLOSING_TOLERANCE
from pkm_description.loading.keys import closure_key, closures_with_legs, joint_key, machine_error
from pkm_description.machine import Machine
from pkm_description.machine.idle_freedoms import AtHome


def check_plane(machine: Machine) -> None:
    """Every joint must keep its leg in the plane, and every closure must join bodies at the same height.

    Raises
    ------
    MachineFileError
        Naming the key concerned and what to do.
    """
    home = AtHome.of(machine.model)
    for index in range(machine.leg_count):
        home.gap(index)
    for joint, axis in zip(machine.joints, home.memory.axis, strict=True):
        off = float(np.linalg.norm(axis[:2])) if joint.kind == 'revolute' else abs(float(axis[2]))
        if off > CLOSING_TOLERANCE:
            raise machine_error(
                machine, f'{joint_key(machine, joint)}.axis', joint.axis,
                f'of {joint.name} does not keep the leg in the plane (x, y) of a planar machine; revolute '
                'axes must be along z of base_link, prismatic ones across it: change axis, origin.rpy or base_rpy',
            )  # fmt: skip
    for number, (leg, closure) in enumerate(closures_with_legs(machine)):
        ends = []
        for body, point in (
            (machine.model.closure_body[number], closure.point),
            (machine.model.closure_other[number], closure.other_point),
        ):
            ends.append(float(home.memory.origin[body, 2] + home.memory.rotation[body, 2] @ point))
        if abs(ends[0] - ends[1]) <= CLOSING_TOLERANCE:
            continue
        on_platform = closure in leg.platform_closures
        raise machine_error(
            machine, f'legs.{leg.name}.platform_point' if on_platform else closure_key(leg, closure),
            closure.other_point,
            f'is at height {ends[1]:.6g} m at home, but the leg ends at {ends[0]:.6g} m and moves in a '
            'plane (freedom: planar); give z of base_point, of the chain and of platform_point the same height',
        )  # fmt: skip
