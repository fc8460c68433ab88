"""Pictures of the live page: simulator, estimator and viewer in real time, seen by headless Chromium."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from node_processes import NodeProcess
from PIL import Image
from pkm_description.errors import PkmError

#: nothing but the page itself: no screen, no GPU, no connections of the browser's own
_FLAGS = (
    '--headless', '--no-sandbox', '--disable-gpu', '--enable-unsafe-swiftshader', '--disable-quic', '--no-first-run',
    '--disable-background-networking', '--disable-component-update', '--disable-sync',
)  # fmt: skip
_NAMES = ('chromium', 'chromium-browser', 'google-chrome')
_SIZE = (1280, 800)
#: ms that the page may take on a computer without GPU; ms of motion before the picture
_PATIENCE, _WATCHED = 90_000, 12_000
_PORT, _FAULT = 8491, 'offset 0.005'


def live_page(path: Path, path_of_fault: Path) -> list[str]:
    """Look at srs on motion profile 1, then at a fault of leg 3; returns the caption."""
    with ExitStack() as running:
        page = running.enter_context(browser_page(*_SIZE))
        page.set_default_timeout(_PATIENCE)
        running.enter_context(_started('pkm_bringup', 'simulator'))
        running.enter_context(_started('pkm_estimation', 'estimator', use_sim_time=True))
        running.enter_context(_started('pkm_bringup', 'motion_player', profile='mp1', duration=60.0, use_sim_time=True))
        viewer = running.enter_context(_started('pkm_bringup', 'viewer', port=_PORT, rate=5.0))
        viewer.wait_for_output('in a browser', timeout=60.0)
        page.goto(re.findall(r'open (http://\S+) in a browser', viewer.output)[0])
        page.get_by_text('Reference less estimate').wait_for()  # the motion has begun
        _close_notes(page)
        page.wait_for_timeout(_WATCHED)
        page.get_by_text('Estimator: estimating').wait_for()
        _save(page, path)
        page.get_by_role('tab', name='Faults').click()
        page.get_by_label('Leg', exact=True).click()
        page.get_by_role('option', name='leg3').click()
        page.get_by_role('button', name=f'Leg {_FAULT}').click()
        verdict = page.get_by_text(re.compile('Estimator.*: .*leg3: ')).first
        verdict.wait_for()
        told = re.findall(r'Estimator.*?: (.*leg3: .*)', verdict.inner_text())[0]
        _close_notes(page)
        _save(page, path_of_fault)
    return [
        'the live page on srs, motion profile 1, seed 0; errors and covariance are enlarged as the page says',
        f'{path_of_fault.name}: after a click on "Leg {_FAULT}" the estimator says: {told}',
    ]


def _started(package: str, program: str, **parameters: object) -> NodeProcess:
    arguments = ['--ros-args', '-p', 'machine:=srs']
    for name, value in parameters.items():
        arguments += ['-p', f'{name}:={value}']
    return NodeProcess(package, program, arguments)


def _close_notes(page: Any) -> None:
    """Close what lies over the scene: answers to clicks, and that there is no GPU."""
    page.wait_for_timeout(1500)
    for button in page.locator('.mantine-Notification-closeButton').all():
        button.click()
    page.wait_for_timeout(1500)


def _save(page: Any, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=path, timeout=_PATIENCE)
    Image.open(path).convert('RGB').quantize(256).save(path, optimize=True)


class BrowserError(PkmError):
    """There is no browser, or no playwright to drive it."""


@contextmanager
def browser_page(width: int, height: int) -> Iterator[Any]:
    """Page of playwright in the system's Chromium.

    Raises
    ------
    BrowserError
        Says what is not installed.
    """
    chromium = next(filter(None, map(shutil.which, _NAMES)), None)
    if chromium is None:
        raise BrowserError(f'none of {", ".join(_NAMES)} is installed: apt install chromium')
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise BrowserError('playwright is not installed: pip install playwright') from None
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=list(_FLAGS))
        try:
            yield browser.new_page(viewport={'width': width, 'height': height})
        finally:
            browser.close()
