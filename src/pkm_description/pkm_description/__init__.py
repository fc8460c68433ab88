"""Parallel kinematic machines: machine files, kinematics, dynamics, motions, exports (URDF, SDF, MJCF, C).

The names below are what a script or a notebook needs; each is imported when it is first used. None of them needs ROS,
xacro or MuJoCo.

Examples
--------
>>> from pkm_description import drive_positions, forward_kinematics, inverse_dynamics, load_machine, profile
>>> srs = load_machine('srs')
>>> motion = profile('mp1', srs, duration=20, rate=100)
>>> q = drive_positions(srs, motion)  # (2001, 6) m
>>> pose = forward_kinematics(srs, q).require()
>>> tau = inverse_dynamics(srs, motion)  # (2001, 6) N
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pkm_description.lazy_names import lazy_names

if TYPE_CHECKING:
    from pkm_description.dynamics import (
        forward_dynamics,
        gravity_forces,
        inverse_dynamics,
        rigid_body_parameters,
        rigid_body_regressor,
    )
    from pkm_description.dynamics.parameter_reduction.machine import base_parameters
    from pkm_description.export.mjcf import mjcf_text
    from pkm_description.export.sdf import sdf_text
    from pkm_description.export.urdf import urdf_text
    from pkm_description.kinematics import drive_jacobian, drive_positions, forward_kinematics, joint_motion
    from pkm_description.loading import load_machine, machine_names
    from pkm_description.machine import Machine, PlatformMotion
    from pkm_description.motion.limits import check_motion
    from pkm_description.motion.profiles import profile

__getattr__, __dir__ = lazy_names(__name__)
