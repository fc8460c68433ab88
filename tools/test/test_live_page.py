"""The live page in headless Chromium: simulator, estimator and viewer as a user starts them."""

from __future__ import annotations

import io
import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest
from pictures.live_page import BrowserError, browser_page
from PIL import Image
from warm_programs import WarmNode

#: ms; the browser renders on the processor
PATIENCE = 100_000


def _start(package: str, executable: str, **parameters: object) -> WarmNode:
    arguments = ['--ros-args', '-r', '__ns:=/left', '-p', 'machine:=srs', '-p', 'frame_prefix:=left/']
    for name, value in parameters.items():
        arguments += ['-p', f'{name}:={value}']
    return WarmNode(package, executable, arguments)


def _free_port() -> int:
    """A port that nobody listens on, neither another run of this test."""
    with socket.socket() as one:
        one.bind(('', 0))
        port: int = one.getsockname()[1]
        return port


class LivePage:
    """The page, and what the browser said and asked for."""

    def __init__(self, page: Any, url: str) -> None:
        self.page, self.url = page, url
        self.complaints: list[str] = []
        self.requests: list[str] = []
        page.on('pageerror', lambda error: self.complaints.append(str(error)))
        page.on('console', self._hear)
        page.on('request', lambda request: self.requests.append(request.url))
        page.set_default_timeout(PATIENCE)
        page.goto(url)

    def _hear(self, message: Any) -> None:
        if message.type == 'error':
            self.complaints.append(message.text)

    def wait_for_text(self, pattern: str) -> None:
        self.page.get_by_text(re.compile(pattern)).first.wait_for()

    def picture(self) -> np.ndarray:
        return np.asarray(Image.open(io.BytesIO(self.page.screenshot(timeout=PATIENCE))).convert('RGB'), dtype=float)


@pytest.fixture(scope='module')
def live() -> Iterator[LivePage]:
    pytest.importorskip('viser', reason="the live page needs viser: pip install 'viser>=1.1,<2'")
    with ExitStack() as running:
        try:
            page = running.enter_context(browser_page(900, 640))
        except BrowserError as missing:
            pytest.skip(str(missing))
        running.enter_context(_start('pkm_bringup', 'simulator'))
        running.enter_context(_start('pkm_estimation', 'estimator', use_sim_time=True))
        viewer = running.enter_context(_start('pkm_bringup', 'viewer', port=_free_port(), rate=4.0))
        viewer.wait_for_output('in a browser')
        found = re.search(r'open (http://\S+) in a browser', viewer.output)
        assert found is not None
        yield LivePage(page, found[1])


def test_page_shows_the_machine_and_the_estimate(live: LivePage) -> None:
    live.wait_for_text('Estimator: estimating')
    live.wait_for_text(r'standard deviations [\d.]+')
    live.wait_for_text('Estimate less truth, position')
    picture = live.picture()
    scene = picture[:, : 900 - 400]
    red, green, blue = np.moveaxis(scene, 2, 0)
    # the platform is blue, with the true one in green before it
    assert ((blue > red + 40.0) & (green > red + 20.0)).mean() > 0.02
    assert scene.std() > 15.0


def test_page_needs_no_internet_and_has_no_errors(live: LivePage) -> None:
    live.wait_for_text('Estimator:')
    foreign = [url for url in live.requests if not url.startswith((live.url, 'data:', 'blob:'))]
    assert foreign == [], foreign
    assert live.complaints == []


def test_click_on_a_fault_shows_the_diagnosis(live: LivePage) -> None:
    page = live.page
    live.wait_for_text('Simulated sensors: no faults')
    page.get_by_role('tab', name='Faults').click()
    page.get_by_label('Leg', exact=True).click()
    page.get_by_role('option', name='leg3').click()
    page.get_by_role('button', name='Leg offset 0.005').click()
    live.wait_for_text('faults on purpose: leg3 offset 0.005')
    live.wait_for_text('Estimator.*: .*leg3: its zero has moved by')
    page.get_by_role('button', name='No faults').click()
    live.wait_for_text('Simulated sensors: no faults')


def test_a_payload_is_dropped_on_the_platform(live: LivePage) -> None:
    page = live.page
    page.get_by_role('tab', name='Payload').click()
    live.wait_for_text('no payload')
    page.get_by_role('button', name='Drop it on the platform').click()
    live.wait_for_text(r'payload of \d')
    page.get_by_role('button', name='Take it off').click()
    live.wait_for_text('no payload')
