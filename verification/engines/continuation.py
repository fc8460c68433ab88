"""Where a machine gets from home while its drives go straight to given positions, by Pinocchio's Jacobians alone."""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array

from verification.engines.closure_equations import position_rows
from verification.engines.pinocchio import PinocchioTree

#: steps of the drives, and Newton's iterations after each
_STEPS, _ITERATIONS = 300, 3
#: singular values of the closures' Jacobian below this part of the largest count as zero
_RANK = 1e-9


def followed_from_home(tree: PinocchioTree, drives: Array) -> Array:
    """Positions (J,) of all joints. Redundant drives are met in the sense of least squares.

    Parameters
    ----------
    tree : of a machine with a platform
    drives : (A,) their positions at the end
    """
    machine = tree.machine
    home = machine.home
    joints: Array = machine.model.home_joints
    configuration = tree.configuration(joints, home.position, home.rotation_base_platform)
    places = [tree.model.joints[joint].idx_q for joint in tree.ids]
    driven = np.array(places)[machine.drive_columns]
    begin = configuration[driven]
    for part in np.linspace(0.0, 1.0, _STEPS + 1)[1:]:
        for _ in range(_ITERATIONS):
            wanted = begin + part * (drives - begin) - configuration[driven]
            configuration = tree.pin.integrate(tree.model, configuration, _correction(tree, configuration, wanted))
    reached: Array = configuration[places]
    return reached


def _correction(tree: PinocchioTree, configuration: Array, wanted: Array) -> Array:
    """Change (nv,) that closes the loops and, along what they leave free, moves the drives by what is wanted (A,)."""
    jacobian = tree.closure_jacobian(configuration)
    jacobian[:, tree.idle] = 0.0
    left, values, right = np.linalg.svd(jacobian)
    rank = int(np.sum(values > _RANK * values[0]))
    closing = -right[:rank].T @ (left[:, :rank].T @ _gaps(tree) / values[:rank])
    free = np.delete(np.eye(tree.model.nv), tree.idle, axis=1)
    free = free @ np.linalg.svd(jacobian @ free)[2][rank:].T
    along: Array = np.linalg.lstsq(free[tree.driven], wanted - closing[tree.driven], rcond=None)[0]
    return np.asarray(closing + free @ along)


def _gaps(tree: PinocchioTree) -> Array:
    """What is left open (C,), row by row of the closures' Jacobian; nothing leaves the plane of a planar machine."""
    planar, rows = tree.machine.planar, []
    for cut in tree.closures:
        tip, anchor = tree.data.oMf[cut.tip], tree.data.oMf[cut.anchor]
        rows += list((tip.translation - anchor.translation)[: position_rows(planar)])
        rows += [tip.rotation[:, first] @ anchor.rotation[:, second] for first, second in cut.pairs]
    return np.array(rows + [0.0] * (3 * planar))
