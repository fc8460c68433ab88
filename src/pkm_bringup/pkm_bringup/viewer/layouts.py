"""Layouts for Foxglove (JSON) and PlotJuggler (XML): the suite's topics as panels and curves."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from pkm_description.loading import load_machine
from pkm_description.program import program
from pkm_description.writing import make_folder, write_text
from pkm_estimation.bags.messages import full_topic

#: colours that colour-blind readers can tell apart (Okabe and Ito)
_COLORS = ('#0072B2', '#E69F00', '#009E73', '#CC79A7', '#56B4E9', '#D55E00')

ESTIMATE, TRUTH, BASELINE = 'platform/odometry', 'ground_truth/odometry', 'baseline/odometry'
JOINTS, IMU = 'joint_states', 'imu/data'
#: a number of a message: topic, path of fields to it, and the joint whose entry it is in a list
Curve = tuple[str, str, int | None]


def panels(drive_count: int) -> dict[str, list[Curve]]:
    """Plots of a machine with so many drives: curves by title."""
    drives = range(drive_count)
    found: dict[str, list[Curve]] = {
        f'position {axis} [m]: estimate, truth, baseline': [
            (topic, f'pose.pose.position.{axis}', None) for topic in (ESTIMATE, TRUTH, BASELINE)
        ]
        for axis in 'xyz'
    }
    for title, topic, path in (
        ('velocity [m/s], platform axes', ESTIMATE, 'twist.twist.linear'),
        ('acceleration [m/s^2], IMU axes', 'platform/accel', 'accel.accel.linear'),
        ('angular rate [rad/s]', IMU, 'angular_velocity'),
    ):
        found[title] = [(topic, f'{path}.{axis}', None) for axis in 'xyz']
    for title, path in (('drive positions [m, rad]', 'position'), ('drive forces [N, N m]', 'effort')):
        found[title] = [(JOINTS, path, drive) for drive in drives]
    return found


def foxglove_layout(drive_count: int, namespace: str = '', frame_prefix: str = '') -> str:
    """Layout for Foxglove and Lichtblick: machine, plots, diagnostics."""
    config: dict[str, Any] = {
        '3D!pkm': {
            'cameraState': {'distance': 9, 'perspective': True, 'phi': 70, 'thetaOffset': 45, 'target': [0, 0, 0]},
            'followMode': 'follow-none',
            'followTf': f'{frame_prefix}base_link',
            'layers': {
                'grid': {'layerId': 'foxglove.Grid', 'instanceId': 'grid', 'size': 10, 'divisions': 10},
                'machine': {
                    'layerId': 'foxglove.Urdf',
                    'instanceId': 'machine',
                    'visible': True,
                    'sourceType': 'topic',
                    'topic': full_topic('robot_description', namespace),
                    'framePrefix': frame_prefix,
                },
            },
            'topics': {
                full_topic(topic, namespace): {'visible': True, 'type': 'axis', 'axisScale': scale}
                for topic, scale in ((ESTIMATE, 0.8), (TRUTH, 0.5))
            },
        },
        'DiagnosticSummary!pkm': {'topicToRender': '/diagnostics', 'minLevel': 0, 'sortByLevel': True},
    }
    for number, (title, curves) in enumerate(panels(drive_count).items()):
        config[f'Plot!pkm{number}'] = {
            'title': title,
            'paths': [
                {
                    'value': f'{full_topic(topic, namespace)}.{path}' + ('' if joint is None else f'[{joint}]'),
                    'enabled': True,
                    'timestampMethod': 'headerStamp',
                    'color': _COLORS[place % len(_COLORS)],
                }
                for place, (topic, path, joint) in enumerate(curves)
            ],
            'xAxisVal': 'timestamp',
            'isSynced': True,
            'showLegend': True,
            'followingViewWidth': 30,
        }
    plots = [name for name in config if name.startswith('Plot!')]
    half = len(plots) // 2
    left: dict[str, Any] = {'direction': 'column', 'first': '3D!pkm', 'second': 'DiagnosticSummary!pkm',
                            'splitPercentage': 70}  # fmt: skip
    right = {'direction': 'row', 'first': _stacked(plots[:half]), 'second': _stacked(plots[half:])}
    layout = {'direction': 'row', 'first': left, 'second': right, 'splitPercentage': 40}
    content = {
        'configById': config, 'globalVariables': {}, 'userNodes': {}, 'playbackConfig': {'speed': 1}, 'layout': layout,
    }  # fmt: skip
    return json.dumps(content, indent=2) + '\n'


def _stacked(names: Sequence[str]) -> Any:
    if len(names) == 1:
        return names[0]
    share = round(100 / len(names))
    return {'direction': 'column', 'first': names[0], 'second': _stacked(names[1:]), 'splitPercentage': share}


def plotjuggler_layout(joint_names: Sequence[str], namespace: str = '') -> str:
    """Layout for PlotJuggler 3: the same plots, two columns; joints by the names that the driver publishes."""
    root = Element('root')
    widget = SubElement(root, 'tabbed_widget', {'parent': 'main_window', 'name': 'Main Window'})
    container = SubElement(SubElement(widget, 'Tab', tab_name='PKM', containers='1'), 'Container')
    shown = list(panels(len(joint_names)).items())
    columns = SubElement(container, 'DockSplitter', orientation='|', count='2', sizes='0.5;0.5')
    half = len(shown) // 2
    for part in (shown[:half], shown[half:]):
        sizes = ';'.join([f'{1.0 / len(part):.6g}'] * len(part))
        column = SubElement(columns, 'DockSplitter', orientation='-', count=str(len(part)), sizes=sizes)
        for title, curves in part:
            area = SubElement(column, 'DockArea', name=title)
            plot = SubElement(area, 'plot', mode='TimeSeries', style='Lines', flip_x='false', flip_y='false')
            for place, (topic, path, joint) in enumerate(curves):
                # as PlotJuggler's parsers write it: joint states by the joint, other messages by their fields
                fields = path.split('.') if joint is None else [joint_names[joint], path]
                name = '/'.join([full_topic(topic, namespace), *fields])
                SubElement(plot, 'curve', name=name, color=_COLORS[place % len(_COLORS)])
    SubElement(widget, 'currentTabIndex', index='0')
    ElementTree.indent(root)
    return "<?xml version='1.0' encoding='UTF-8'?>\n" + ElementTree.tostring(root, encoding='unicode') + '\n'


@program
def main(args: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog='write_layouts', description=__doc__)
    parser.add_argument('machine', nargs='?', default='srs', help='name of a machine, or path of a machine file')
    parser.add_argument('-o', '--output', type=Path, required=True, help='folder; layouts there are overwritten')
    parser.add_argument('--driver', type=Path, help="settings file of the robot's driver: names of its joints")
    parser.add_argument('--namespace', default='', help='of the robot')
    parser.add_argument('--frame-prefix', default='', help="of the robot's frames")
    options = parser.parse_args(args)
    machine = load_machine(options.machine, driver=options.driver)
    names = machine.driver.joint_names or machine.actuated_joint_names
    make_folder(options.output)
    for name, content in (
        ('foxglove.json', foxglove_layout(machine.actuated_count, options.namespace, options.frame_prefix)),
        ('plotjuggler.xml', plotjuggler_layout(names, options.namespace)),
    ):
        write_text(options.output / name, content)
        print(options.output / name)


if __name__ == '__main__':
    sys.exit(main())
