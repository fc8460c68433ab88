"""Arguments of ``export_machine`` for SDF and Gazebo."""

from __future__ import annotations

import argparse

from pkm_description.export.gazebo_versions import VERSIONS
from pkm_description.export.sdf_options import DRIVES, WORLD, SdfOptions
from pkm_description.viewing.coupled_pose import COORDINATES


def add_sdf_arguments(group: argparse._ArgumentGroup) -> None:
    """Declare them."""
    group.add_argument(
        '--loop', choices=['detachable', 'native'], default='detachable',
        help='how loops are closed: by detachable joints at start, or as joints (not supported by Gazebo yet)',
    )  # fmt: skip
    group.add_argument('--gazebo', choices=list(VERSIONS), default='harmonic', help='release of Gazebo')
    group.add_argument('--drive', choices=DRIVES, default='position', help='commands that the driven joints take')
    group.add_argument('--world', action='store_true', help='write a world with physics settings, not only the model')
    group.add_argument('--world-name', default=WORLD, metavar='NAME', help='of the world')
    group.add_argument('--model-name', default='', metavar='NAME', help="of the model; the machine's by default")
    group.add_argument('--time-step', type=_positive, default=0.001, metavar='S', help='of the physics, s')
    for name in COORDINATES:
        unit = 'm' if name in 'xyz' else 'rad'
        group.add_argument(f'--{name}', type=float, default=0.0, help=f'start of the platform, from home, {unit}')
    group.add_argument(
        '--base-pose', type=float, nargs=6, default=(0.0,) * 6, metavar=tuple(name.upper() for name in COORDINATES),
        help='place of base_link in the world, m and rad',
    )  # fmt: skip
    group.add_argument('--frame-prefix', default='', metavar='TEXT', help="goes before the IMU's frame")
    group.add_argument('--namespace', default='', help='of the controller manager, with --drive ros2_control')
    group.add_argument('--controllers', default='', metavar='YAML', help="the controller manager's parameters")


def sdf_options(options: argparse.Namespace) -> SdfOptions:
    """Options of the exporter from those of the command."""
    return SdfOptions(
        loop=options.loop,
        gazebo=options.gazebo,
        drive=options.drive,
        world=options.world,
        world_name=options.world_name,
        time_step=options.time_step,
        model_name=options.model_name,
        start={name: getattr(options, name) for name in COORDINATES},
        base_pose=tuple(options.base_pose),
        frame_prefix=options.frame_prefix,
        namespace=options.namespace,
        controllers=options.controllers,
    )


def _positive(text: str) -> float:
    value = float(text)
    if not 0.0 < value < float('inf'):
        raise argparse.ArgumentTypeError(f'{text}: a positive number is needed')
    return value
