"""How the test command spreads the files of tests over processes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
import run_checks
from processes import FIRST, FilesForProcesses
from run_checks import ROOT, side_by_side


class Process:
    """Of xdist: what its scheduler asks of one."""

    def __init__(self, name: str) -> None:
        self.gateway = SimpleNamespace(id=name)

    def send_runtest_some(self, indices: Sequence[int]) -> None:
        """Nothing is run."""


def test_files_that_start_nodes_go_to_one_process_until_nothing_else_is_left() -> None:
    nodes = [
        'src/pkm_bringup/test/test_simulation_nodes.py', 'tools/test/test_live_page.py',
        'src/pkm_estimation/test/test_estimator_node.py',
    ]  # fmt: skip
    others = [f'src/pkm_bringup/test/test_{name}.py' for name in ('control', 'layouts', 'pacing')]
    first, second = Process(FIRST), Process('gw1')
    scheduler: Any = FilesForProcesses.__new__(FilesForProcesses)
    scheduler.config = SimpleNamespace(rootpath=ROOT)
    scheduler.workqueue = OrderedDict((file, {}) for file in [*others, *nodes])
    scheduler.assigned_work, scheduler.registered_collections = {}, {first: [], second: []}
    for process in (second, first, first, second, second, second):
        scheduler._assign_work_unit(process)
    assert list(scheduler.assigned_work[first]) == nodes[:2]
    assert list(scheduler.assigned_work[second]) == [*others, nodes[2]]


def test_what_the_user_chose_stays() -> None:
    assert side_by_side(['-n', '1']) == side_by_side(['--pdb']) == []
    assert side_by_side([__file__])[-1] == '--no-loadscope-reorder'


def test_ctrl_c_does_not_wait_for_the_linters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_checks, 'CHECKS', {'endless': ['-c', 'import time; time.sleep(600)']})
    linters = run_checks.Linters()
    program, _ = linters._running['endless']
    linters.pytest_keyboard_interrupt()
    linters.show()
    assert program.wait(30) != 0
    assert not linters.failed()
