"""Ctrl-C at any time of the demo; its verdict is checked in test_plain_build."""

from __future__ import annotations

from pathlib import Path

import pytest
from pkm_estimation.bags import read_bag

pytest.importorskip('rclpy')

from launched_system import SHORT, LaunchedSystem


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
