"""The ``metadata.yaml`` beside a recording."""

from __future__ import annotations

from pathlib import Path

import yaml
from pkm_description.bounded_yaml import bounded_yaml


def promised_message_count(path: Path) -> int | None:
    """Count of messages that the bag's metadata names, None without (readable) metadata."""
    try:
        text = (path / 'metadata.yaml').read_text(encoding='utf-8')
        content = bounded_yaml(text)
        return int(content['rosbag2_bagfile_information']['message_count'])
    except (OSError, yaml.YAMLError, KeyError, TypeError, ValueError):
        return None
