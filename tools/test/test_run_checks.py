"""How the test command spreads the files of tests over processes."""

from __future__ import annotations

from collections import Counter

import pytest
import run_checks
from run_checks import OTHERS, STARTS_NODES, files_with_tests, in_turns, side_by_side


def test_every_file_is_run_once() -> None:
    files = files_with_tests()
    assert len(files) > 250
    assert Counter(in_turns(files)) == Counter(files)
    options = side_by_side(['-q'])
    assert Counter(options[options.index('--no-loadscope-reorder') + 1 :]) == Counter(files)


def test_files_that_start_nodes_take_turns_with_others() -> None:
    nodes = [f'{STARTS_NODES}test/test_{place}.py' for place in range(3)]
    others = [f'test_{place}.py' for place in range(2 * OTHERS + 1)]
    first, second = others[:OTHERS], others[OTHERS:-1]
    assert in_turns([*others, *nodes]) == [nodes[0], *first, nodes[1], *second, nodes[2], others[-1]]


def test_what_the_user_chose_stays() -> None:
    assert side_by_side(['-n', '1']) == side_by_side(['--pdb']) == []
    assert side_by_side([f'{__file__}::test_every_file_is_run_once'])[-1] == '--no-loadscope-reorder'


def test_ctrl_c_does_not_wait_for_the_linters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_checks, 'CHECKS', {'endless': ['-c', 'import time; time.sleep(600)']})
    linters = run_checks.Linters()
    program, _ = linters._running['endless']
    linters.pytest_keyboard_interrupt()
    linters.show()
    assert program.wait(30) != 0
    assert not linters.failed()
