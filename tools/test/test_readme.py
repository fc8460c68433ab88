"""The block of Python in the README runs as it is printed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

README = Path(__file__).parents[2] / 'README.md'


def test_front_door() -> None:
    (block,) = re.findall(r'^```python\n(.*?)^```', README.read_text(), flags=re.DOTALL | re.MULTILINE)
    names: dict[str, Any] = {}
    exec(block, names)
    motion, pose, track = names['motion'], names['pose'], names['track']
    assert np.abs(pose.position - motion.position).max() < 1e-9
    assert names['q'].shape == names['tau'].shape == (len(motion), 6)
    assert names['Y'].shape[:2] == (len(motion), 6)
    assert np.abs(track.motion.position - motion.position[-len(track) :]).max() < 1e-3
    assert names['result'].status
