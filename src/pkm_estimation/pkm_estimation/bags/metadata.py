"""The ``metadata.yaml`` beside a recording."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from pkm_description.bounded_yaml import bounded_file

#: topics whose losses are told one by one
_TOLD = 4


def bag_metadata(folder: Path) -> dict[str, Any] | None:
    """What ``rosbag2`` wrote about the recording in a folder, None without (readable) metadata."""
    try:
        content = bounded_file(folder / 'metadata.yaml')
        return dict(content['rosbag2_bagfile_information'])
    except (OSError, yaml.YAMLError, KeyError, TypeError, ValueError):
        return None


def promised_message_count(path: Path) -> int | None:
    """Count of messages that the metadata name for a bag or for one of its files; None where they name none."""
    information = bag_metadata(path if path.is_dir() else path.parent)
    if information is None:
        return None
    try:
        if path.is_dir() or [Path(name).name for name in information['relative_file_paths']] == [path.name]:
            return int(information['message_count'])
        counts = {Path(part['path']).name: int(part['message_count']) for part in information.get('files') or ()}
        return counts.get(path.name)
    except (KeyError, TypeError, ValueError):
        return None


def lost_messages(path: Path, found: Mapping[str, int]) -> str:
    """Say what of the promised messages was not found; empty if all of them are there.

    Parameters
    ----------
    path : bag directory or one of its files
    found : messages that can be read, by topic
    """
    promised, total = promised_message_count(path), sum(found.values())
    if promised is None or promised <= total:
        return ''
    lost = _lost_by_topic(path, found) if path.is_dir() else []
    told = f' ({", ".join(lost[:_TOLD])}{", ..." if len(lost) > _TOLD else ""})' if lost else ''
    return f'{promised - total} of {promised} messages named in metadata.yaml are lost{told}'


def _lost_by_topic(path: Path, found: Mapping[str, int]) -> list[str]:
    """``topic: lost of promised`` for each that lacks messages, as far as the metadata say."""
    lost = []
    try:
        for entry in (bag_metadata(path) or {})['topics_with_message_count']:
            topic, count = str(entry['topic_metadata']['name']), int(entry['message_count'])
            if count > found.get(topic, 0):
                lost.append(f'{topic}: {count - found.get(topic, 0)} of {count}')
    except (KeyError, TypeError, ValueError):
        return []
    return lost
