"""Spread the files of tests over processes: a plugin of pytest-xdist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

#: helpers by which tests start nodes or a browser, and the process that runs such tests
STARTS_NODES, FIRST = re.compile(r'\b(NodeProcess|WarmNode|LaunchedSystem|ros_domain|browser_page)\b'), 'gw0'
#: how much the others yield to it (nice)
YIELD = 10


class FilesForProcesses(LoadFileScheduling):
    """Files whose tests start nodes go to the first process, the rest to the others; at the end each takes any.

    Nodes that run in real time do not get on where they yield to those of other tests: a simulation and a browser that
    yield to three others are ten times as slow as the clock.
    """

    def _assign_work_unit(self, node: WorkerController) -> None:
        first = node.gateway.id == FIRST
        suited = next((file for file in self.workqueue if starts_nodes(self.config.rootpath / file) == first), None)
        if suited is not None:
            self.workqueue.move_to_end(suited, last=False)
        super()._assign_work_unit(node)


def starts_nodes(file: Path) -> bool:
    """Whether the tests of a file start nodes, by the helpers that it names."""
    return STARTS_NODES.search(file.read_text(encoding='utf-8')) is not None


class Processes:
    """Nodes wait much of the time, but not for tests that compute: those use what is left of all cores."""

    def pytest_configure_node(self, node: WorkerController) -> None:
        """Let the processes that compute yield to the one that runs nodes."""
        if node.gateway.id != FIRST:
            node.gateway.remote_exec(f'import os\nos.nice({YIELD})').waitclose()

    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Producer) -> FilesForProcesses:
        """Who gets which file."""
        return FilesForProcesses(config, log)
