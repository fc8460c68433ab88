"""Every public function says what is wrong with its arguments: the wrong kind, swapped ones, other shapes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pkm_description.dynamics.inverse import drive_force_terms
from pkm_description.dynamics.open_chain import open_chain_forces
from pkm_description.dynamics.reactions import joint_reactions
from pkm_description.errors import ArgumentError, PkmError, ShapeError
from pkm_description.kinematics.workspace import position_violations, single_axis_limits
from pkm_description.loading import load_machine
from pkm_description.motion import limits

import pkm_description
from pkm_description import dynamics, kinematics

MACHINE = load_machine('palida')
MOTION = pkm_description.profile('hold', MACHINE, 1.0, 10.0)
COUNT = len(MOTION)
POSES = MOTION.position, MOTION.rotation_base_platform
DRIVES = pkm_description.drive_positions(MACHINE, MOTION)
LENGTHS = kinematics.leg_lengths(MACHINE, *POSES)
JOINTS = pkm_description.joint_motion(MACHINE, MOTION)
REST = np.zeros((COUNT, 3))

Call = tuple[Callable[..., Any], tuple[Any, ...]]

#: functions of a machine and a motion
OF_MOTION: tuple[Callable[..., Any], ...] = (
    pkm_description.check_motion, pkm_description.drive_positions, pkm_description.inverse_dynamics,
    pkm_description.joint_motion, pkm_description.rigid_body_regressor, dynamics.friction_forces,
    dynamics.friction_loads, dynamics.inverse_dynamics_derivatives,
    dynamics.regressor_parts, drive_force_terms, joint_reactions,
    limits.limit_use, limits.require_motion, position_violations,
)  # fmt: skip

#: functions of a machine and poses, with what follows the poses
OF_POSES: tuple[tuple[Callable[..., Any], tuple[Any, ...]], ...] = (
    (pkm_description.drive_jacobian, ()), (pkm_description.drive_positions, ()), (pkm_description.gravity_forces, ()),
    (pkm_description.forward_dynamics, (MOTION.twist, DRIVES)),
    (dynamics.kinetic_energy, (MOTION.twist,)),
    (dynamics.mass_matrix, ()), (dynamics.potential_energy, ()), (kinematics.joint_positions, ()),
    (kinematics.joint_rates, (REST, REST)), (kinematics.leg_lengths, ()), (kinematics.length_jacobian, ()),
)  # fmt: skip

#: functions of a machine and drive positions or lengths of N samples or of one
OF_DRIVES: tuple[tuple[Callable[..., Any], Any], ...] = (
    (pkm_description.forward_kinematics, DRIVES),
    (kinematics.assembly_modes, DRIVES[0]),
)  # fmt: skip

#: functions of a machine alone, or with arguments that have their own tests below
OTHERS: tuple[Call, ...] = (
    (kinematics.measured_tolerance, ()),
    (pkm_description.base_parameters, ()), (pkm_description.mjcf_text, ()), (pkm_description.sdf_text, ()),
    (pkm_description.urdf_text, ()), (pkm_description.rigid_body_parameters, ()),
    (dynamics.rigid_body_parameter_names, ()), (dynamics.friction_parameters, ()),
    (dynamics.friction_parameter_names, ()), (dynamics.machine_parameters, ()), (dynamics.sharing_matrix, ({},)),
    (dynamics.friction_regressor, (JOINTS,)), (single_axis_limits, ()),
    (kinematics.motion_from_drives, (MOTION.time, DRIVES, DRIVES, DRIVES)), (dynamics.DriveDynamics, ()),
    (dynamics.DriveRegressor, ()),
)  # fmt: skip

EVERY: tuple[Call, ...] = (
    *((function, (MOTION,)) for function in OF_MOTION),
    *((function, (*POSES, *rest)) for function, rest in OF_POSES),
    *((function, (values,)) for function, values in OF_DRIVES),
    *OTHERS,
)

PENDULUM = load_machine('double_pendulum')
#: of machines without a platform
OF_CHAINS: tuple[Call, ...] = ((open_chain_forces, (np.zeros((2, len(PENDULUM.joints))),) * 3),)

#: names of the front doors that take no machine, or are no functions
WITHOUT_MACHINE = {
    'Machine', 'PlatformMotion', 'load_machine', 'machine_names', 'profile', 'AssemblyModes', 'ForwardKinematicsResult',
    'JointMotion', 'PoseSolver', 'BaseParameters', 'BodyForm', 'ParameterMap', 'body_form_map', 'reduce_parameters',
    'DriveRows', 'InverseDynamicsDerivatives', 'JointReactions',
}  # fmt: skip


def name_of(value: Any) -> str:
    return str(getattr(value, '__name__', ''))


def test_no_function_of_the_front_doors_is_left_out() -> None:
    public = {*pkm_description.__all__, *kinematics.__all__, *dynamics.__all__}
    assert public - WITHOUT_MACHINE == {name_of(function) for function, _ in EVERY + OF_CHAINS} & public


@pytest.mark.parametrize(('function', 'rest'), EVERY, ids=name_of)
def test_right_arguments_are_taken(function: Callable[..., Any], rest: tuple[Any, ...]) -> None:
    function(MACHINE, *rest)


@pytest.mark.parametrize(('function', 'rest'), OF_CHAINS, ids=name_of)
def test_arguments_of_chains(function: Callable[..., Any], rest: tuple[Any, ...]) -> None:
    function(PENDULUM, *rest)
    with pytest.raises(PkmError, match='palida has a platform'):
        function(MACHINE, *rest)
    with pytest.raises(ShapeError, match='positions has shape .*: one column per joint'):
        function(PENDULUM, rest[0][:, 1:], *rest[1:])
    with pytest.raises(ShapeError, match='velocities has shape'):
        function(PENDULUM, rest[0], rest[1][:1], rest[2])


@pytest.mark.parametrize(
    'function', [dynamics.DriveDynamics(MACHINE).forces, dynamics.DriveRegressor(MACHINE).rows], ids=name_of
)
def test_one_sample_of_drives(function: Callable[..., Any]) -> None:
    """Kernels do not look at lengths: fewer values than drives never reach them."""
    one = DRIVES[0], 0.0 * DRIVES[0], 0.0 * DRIVES[0]
    function(*one)
    with pytest.raises(ShapeError, match=r'^positions has shape \(5,\)'):
        function(one[0][:5], *one[1:])
    with pytest.raises(ShapeError, match=r'^velocities has shape \(5,\)'):
        function(one[0], one[1][:5], one[2])
    with pytest.raises(ShapeError, match=r'^accelerations has shape \(7,\)'):
        function(*one[:2], np.zeros(7))


@pytest.mark.parametrize('wrong', ['palida', Path('/palida.yaml'), MOTION, None, np.zeros(6)], ids=type)
@pytest.mark.parametrize(('function', 'rest'), EVERY + OF_CHAINS, ids=name_of)
def test_something_else_in_the_place_of_the_machine(
    function: Callable[..., Any], rest: tuple[Any, ...], wrong: object
) -> None:
    with pytest.raises(ArgumentError, match='the first argument is .*, expected the Machine that load_machine returns'):
        function(wrong, *rest)


@pytest.mark.parametrize('function', OF_MOTION, ids=name_of)
def test_something_else_in_the_place_of_the_motion(function: Callable[..., Any]) -> None:
    with pytest.raises(ArgumentError, match='first argument is a PlatformMotion, expected the Machine'):
        function(MOTION, MACHINE)
    for wrong in ('mp1', MACHINE, POSES[0], None):
        with pytest.raises(ArgumentError, match='PlatformMotion'):
            function(MACHINE, wrong)


@pytest.mark.parametrize(('function', 'rest'), OF_POSES, ids=name_of)
def test_poses_of_other_shapes(function: Callable[..., Any], rest: tuple[Any, ...]) -> None:
    position, rotation = POSES
    with pytest.raises(ShapeError, match=r'position has shape \(2,\), expected \(N, 3\) or \(3,\)'):
        function(MACHINE, position[0, :2], rotation, *rest)
    with pytest.raises(ShapeError, match=rf'has shape \({COUNT}, 2, 3\), expected \({COUNT}, 3, 3\) beside a position'):
        function(MACHINE, position, rotation[:, :2], *rest)
    with pytest.raises(ShapeError, match=r'rotation_base_platform has shape \(3, 3\), expected'):
        function(MACHINE, position, rotation[0], *rest)
    with pytest.raises(ShapeError, match=r'position has shape .*, expected \(N, 3\) or \(3,\)'):
        function(MACHINE, rotation, position, *rest)
    for wrong in (MACHINE, 'home', None):
        with pytest.raises(PkmError, match='expected numbers of shape|takes a PlatformMotion|position has shape'):
            function(MACHINE, wrong, rotation, *rest)


def arrays_of(result: Any) -> list[Any]:
    if dataclasses.is_dataclass(result):
        return [getattr(result, field.name) for field in dataclasses.fields(result)]
    return list(result) if isinstance(result, tuple) else [result]


@pytest.mark.parametrize(('function', 'rest'), OF_POSES, ids=name_of)
def test_single_poses_give_one_result(function: Callable[..., Any], rest: tuple[Any, ...]) -> None:
    one = function(MACHINE, *(values[0] for values in (*POSES, *rest)))
    many = function(MACHINE, *POSES, *rest)
    for first, all_of_them in zip(arrays_of(one), arrays_of(many), strict=True):
        np.testing.assert_allclose(first, all_of_them[0], rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(('function', 'right'), OF_DRIVES, ids=name_of)
def test_drives_of_other_shapes(function: Callable[..., Any], right: Any) -> None:
    for wrong in (right[..., :5], DRIVES[None], np.zeros(7)):
        with pytest.raises(ShapeError, match=r'has shape .*, expected \(.*6'):
            function(MACHINE, wrong)
    for other in (MOTION, MACHINE, 'home'):
        with pytest.raises(ArgumentError, match=r'expected numbers of shape \(.*6'):
            function(MACHINE, other)


NARROW: tuple[tuple[Callable[..., Any], tuple[Any, ...], str], ...] = (
    (kinematics.motion_from_drives, (MOTION.time, DRIVES[0], DRIVES, DRIVES), r'positions .* \(N, 6\): one column per'),
    (kinematics.motion_from_drives, (MOTION.time[:3], DRIVES, DRIVES, DRIVES), rf'time .* \({COUNT},\)'),
    (kinematics.motion_from_drives, (MOTION.time, DRIVES, DRIVES[0], DRIVES), rf'velocities .* \({COUNT}, 6\)'),
    (kinematics.motion_from_drives, (MOTION.time, DRIVES, DRIVES, DRIVES[:, :3]), rf'accelerations .* \({COUNT}, 6\)'),
    (kinematics.motion_from_drives, (MOTION, DRIVES, DRIVES, DRIVES), rf'time is a Pl.* \({COUNT},\)'),
    (kinematics.joint_rates, (*POSES, REST[0], REST), rf'linear_velocity .* \({COUNT}, 3\)'),
    (kinematics.joint_rates, (*POSES, REST, DRIVES), rf'angular_velocity .* \({COUNT}, 3\)'),
    (dynamics.kinetic_energy, (*POSES, REST), rf'twist .* \({COUNT}, 6\)'),
    (dynamics.kinetic_energy, (*POSES, MOTION), rf'twist is a PlatformMotion.* \({COUNT}, 6\)'),
    (pkm_description.forward_dynamics, (*POSES, MOTION.twist, DRIVES[:, :3]), rf'forces .* \({COUNT}, 6\)'),
    (dynamics.friction_regressor, (MOTION,), 'joint_motion is a PlatformMotion, expected the JointMotion'),
    (dynamics.friction_regressor, (DRIVES,), 'joint_motion is a ndarray, expected the JointMotion'),
    (dynamics.friction_regressor, (JOINTS, 'actuated', 0.0, DRIVES), rf'loads .* \({COUNT}, 18\)'),
)


@pytest.mark.parametrize(('function', 'arguments', 'message'), NARROW)
def test_arrays_beside_the_samples(function: Callable[..., Any], arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        function(MACHINE, *arguments)


@pytest.mark.parametrize(
    'function', [pkm_description.inverse_dynamics, dynamics.friction_forces, dynamics.friction_loads, joint_reactions]
)
def test_external_wrenches_of_other_shapes(function: Callable[..., Any]) -> None:
    for wrong in (np.zeros(3), np.zeros((COUNT, 3)), np.zeros((2, 6))):
        with pytest.raises(ShapeError, match=rf'external_wrench has shape .*, expected \({COUNT}, 6\) or \(6,\)'):
            function(MACHINE, MOTION, external_wrench=wrong)


def test_joint_motions_of_other_machines() -> None:
    other = load_machine('valencia_3rps')
    with pytest.raises(ShapeError, match=r'joint_motion.velocities has shape .*, expected \(N, 6\)'):
        dynamics.friction_regressor(other, JOINTS)


def test_profiles() -> None:
    with pytest.raises(ArgumentError, match='first argument is a Machine, expected one of mp1, mp2'):
        pkm_description.profile(MACHINE, 'mp1', 10.0)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="second argument is the name 'palida', expected the Machine"):
        pkm_description.profile('mp1', 'palida', 10.0)  # type: ignore[arg-type]


def test_motions_of_lists_and_of_other_shapes() -> None:
    rows = [array.tolist() for array in (MOTION.time, *POSES, REST, REST, REST, REST)]
    listed = pkm_description.PlatformMotion(*rows)
    np.testing.assert_array_equal(
        pkm_description.inverse_dynamics(MACHINE, listed), pkm_description.inverse_dynamics(MACHINE, MOTION)
    )
    with pytest.raises(ShapeError, match=rf'position has shape \(3,\), expected \({COUNT}, 3\) beside a time'):
        pkm_description.PlatformMotion(MOTION.time, POSES[0][0], POSES[1], REST, REST, REST, REST)
    with pytest.raises(ShapeError, match=r'time has shape \(\), expected \(N,\)'):
        pkm_description.PlatformMotion(0.0, *POSES, REST, REST, REST, REST)  # type: ignore[arg-type]
    with pytest.raises(ShapeError, match=r'position has shape \(1, 2, 3\), expected \(1, 3\)'):
        pkm_description.PlatformMotion.at_rest(np.zeros((2, 3)), np.eye(3))


def called(function: Callable[..., Any], motion: pkm_description.PlatformMotion) -> None:
    """Up to its last result."""
    result = function(MACHINE, motion)
    if isinstance(result, Iterator):
        list(result)


@pytest.mark.parametrize('function', OF_MOTION, ids=name_of)
def test_poses_that_are_not_finite_are_refused(function: Callable[..., Any]) -> None:
    position = POSES[0].copy()
    position[4, 1] = np.nan
    broken = pkm_description.PlatformMotion(MOTION.time, position, POSES[1], REST, REST, REST, REST)
    with pytest.raises(PkmError, match='sample 4'):
        called(function, broken)
