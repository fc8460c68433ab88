"""Headless Chromium that looks at the live page: for its test, and for its picture in the documentation."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pkm_description.errors import PkmError

#: nothing but the page itself: no screen, no GPU, no connections of the browser's own
_FLAGS = (
    '--headless', '--no-sandbox', '--disable-gpu', '--enable-unsafe-swiftshader', '--disable-quic', '--no-first-run',
    '--disable-background-networking', '--disable-component-update', '--disable-sync',
)  # fmt: skip
_NAMES = ('chromium', 'chromium-browser', 'google-chrome')


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
