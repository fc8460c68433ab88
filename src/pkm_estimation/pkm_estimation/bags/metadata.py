"""The ``metadata.yaml`` beside a recording."""

from __future__ import annotations

from pathlib import Path

import yaml
from pkm_description.loading.yaml_reader import QUICK_LOADER, is_shallow


def promised_message_count(path: Path) -> int | None:
    """Count of messages that the bag's metadata names, None without (readable) metadata."""
    try:
        text = (path / 'metadata.yaml').read_text(encoding='utf-8')
        content = yaml.load(text, QUICK_LOADER if is_shallow(text) else yaml.SafeLoader)
        return int(content['rosbag2_bagfile_information']['message_count'])
    except (OSError, yaml.YAMLError, KeyError, TypeError, ValueError, RecursionError):
        return None
