"""Random states of a machine, for ranks, checks and tests."""

from __future__ import annotations

import numpy as np

from pkm_description.kinematics.rotation import rotation_exp
from pkm_description.machine.model import Machine
from pkm_description.motion.platform_motion import PlatformMotion


def random_states(
    machine: Machine, count: int, seed: int = 0, turn: float = 0.25, move: float = 0.12
) -> PlatformMotion:
    """Unrelated random states: ``move`` is a fraction of the mean leg length at home, ``turn`` in rad."""
    random = np.random.default_rng(seed)
    anchors = machine.home.position + machine.platform_points @ machine.home.rotation_base_platform.T
    reach = move * float(np.linalg.norm(anchors - machine.base_points, axis=1).mean())
    uniform = random.uniform
    return PlatformMotion(
        time=np.arange(count, dtype=float),
        position=machine.home.position + uniform(-reach, reach, (count, 3)),
        rotation_base_platform=rotation_exp(uniform(-turn, turn, (count, 3)))
        @ machine.home.rotation_base_platform,
        linear_velocity=uniform(-1.0, 1.0, (count, 3)),
        angular_velocity=uniform(-1.0, 1.0, (count, 3)),
        linear_acceleration=uniform(-5.0, 5.0, (count, 3)),
        angular_acceleration=uniform(-5.0, 5.0, (count, 3)),
    )
