"""The demo as a whole, short and fast: verdict, bag, Ctrl-C at any time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pkm_estimation.bags import read_bag

pytest.importorskip('rclpy')

from launched_system import LaunchedSystem

SHORT = [
    'tracking_duration:=4',
    'excitation_duration:=6',
    'validation_duration:=5',
    'payload_duration:=5',
    # no faster: where other tests take the other core, the demo would notice too late that a recording has to begin
    'real_time_factor:=0.6',
    'machine:=srs',
]


def test_short_demo_ends_with_a_verdict_and_reproduces_itself(tmp_path: Path) -> None:
    output = tmp_path / 'run'
    with LaunchedSystem(tmp_path / 'launch.log', 'demo.launch.py', f'output:={output}', *SHORT) as system:
        code = system.wait(300.0)
        text = system.output
        assert not system.survivors()
    assert code == 0, text
    assert 'Traceback' not in text, text
    for expected in (
        'position error, rms',
        'platform mass, error',
        'kg drops on the platform',
        'try next:',
        'PASSED',
        'recomputed bit by bit',
    ):
        assert expected in text, text
    verdict = json.loads((output / 'verdict.json').read_text())
    limits = {item['name']: item for item in verdict['limits']}
    assert verdict['passed'] is True
    assert limits['live estimates that differ offline']['value'] == 0
    assert limits['sensor samples missing in the bag']['verdict'] == 'ok'
    assert any(name.startswith('payload, error of its mass') for name in limits)
    assert limits['position error, rms']['value'] < 1e-4
    assert limits['platform mass, error']['value'] < 0.05
    assert (output / 'identification' / 'report.html').stat().st_size > 10_000
    assert (output / 'identification' / 'overlay.yaml').exists()
    assert 'PASSED' in (output / 'demo.log').read_text()
    data = read_bag(output / 'bag', require=('joint_states', 'imu/data_raw', 'platform/odometry'))
    assert data.warnings == ()


@pytest.mark.campaign  # test_bringup_launch and test_gazebo_launch interrupt other systems
@pytest.mark.parametrize('moment', ['process started', 'recording to', 'the simulation runs'])
def test_ctrl_c_leaves_no_process_and_a_closed_bag(tmp_path: Path, moment: str) -> None:
    output = tmp_path / 'run'
    with LaunchedSystem(tmp_path / 'launch.log', 'demo.launch.py', f'output:={output}', *SHORT) as system:
        system.wait_for_output(moment)
        if 'simulation' in moment:
            system.wait_for_output('tracking')
            assert len(system.survivors(0.0)) >= 7  # the launch itself and six nodes: the check below sees them
        system.interrupt()
        code = system.wait()
        text = system.output
        assert not system.survivors(), text
    assert code in (0, 130), text
    assert 'SIGKILL' not in text, text
    if (output / 'bag').exists():  # the recorder had come so far
        assert (output / 'bag' / 'metadata.yaml').exists(), text
    if 'simulation' in moment:
        assert 'interrupted' in text
        assert read_bag(output / 'bag').warnings == ()
        assert not (output / 'verdict.json').exists()
